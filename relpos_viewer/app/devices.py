"""Where the numbers can be computed: the devices that torch finds on this machine."""

from __future__ import annotations

import platform

import torch

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
