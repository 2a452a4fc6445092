"""Where the numbers can be computed: the devices that torch finds on this machine."""

from __future__ import annotations

import platform

import torch

from relpos_viewer.core.errors import ViewerError

CPU = "cpu"


def available() -> list[tuple[str, str]]:
    """(id, title) of every device there is, the CPU first. Ids are torch's: "cuda:0", "mps", "xpu:0"."""
    found = [(CPU, describe(CPU))]
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            ids = [f"{kind}:{index}" for index in range(module.device_count())]
            found += [(device, describe(device)) for device in ids]
    if torch.backends.mps.is_available():
        found.append(("mps", describe("mps")))
    return found


def describe(device: str) -> str:
    """The device in words: its model and the way it is reached. Falls back to the id itself."""
    kind, _, index = device.partition(":")
    if kind == CPU:
        return f"Processor ({platform.machine() or 'CPU'}, {torch.get_num_threads()} threads)"
    if kind == "mps":
        return "Apple GPU (Metal)"
    way = {"cuda": "ROCm" if torch.version.hip else "CUDA", "xpu": "Intel XPU"}.get(kind)
    try:
        return f"{getattr(torch, kind).get_device_name(int(index or 0))} ({way})"
    except Exception:  # whatever a driver that is broken or absent raises
        return device


def arithmetic_device(device: str) -> tuple[str, str]:
    """(device to use, sentence for the user): the CPU, with the reason, when `device` does not work.

    The sentence is empty when all is well. A device is tried with a small product, since a driver
    may list a device that it cannot use. Takes up to seconds the first time (the driver starts):
    call it from the worker thread.
    """
    if device == CPU:
        return CPU, ""
    try:
        check_device(device)
    except ViewerError as error:
        return CPU, f"{error} Computing on the CPU instead."
    return device, ""


def check_device(device: str) -> None:
    """Raise ViewerError, saying why, when a small product on `device` does not come out right."""
    try:
        ones = torch.ones(4, 4, device=device)
        total = float((ones @ ones).sum())
    except Exception as error:  # RuntimeError, AssertionError, NotImplementedError: drivers differ
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ViewerError(f"The device {device} cannot be used ({reason.rstrip('.')}).") from error
    if total != 64.0:
        raise ViewerError(f"The device {device} computes wrong numbers (4·4·4 came out as {total:g}).")
