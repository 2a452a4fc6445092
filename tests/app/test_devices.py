"""The CPU is always there, and a device that does not work gives way to it with a word."""

from __future__ import annotations

import pytest
import torch

from relpos_viewer.app import devices
from relpos_viewer.core.errors import ViewerError


def test_the_cpu_comes_first_and_every_device_has_a_title():
    found = devices.available()
    assert found[0][0] == "cpu"
    assert "threads" in found[0][1]
    assert len({device for device, title in found}) == len(found)
    assert all(title for device, title in found)


def test_every_device_found_can_be_used_or_says_why_not():
    for device, _ in devices.available():
        chosen, sentence = devices.arithmetic_device(device)
        assert (chosen == device) == (sentence == "")


@pytest.mark.parametrize("device", ["cuda:99", "xpu:7", "no such device", "cuda:x", ""])
def test_a_device_that_is_not_there_gives_way_to_the_cpu_with_one_line(device):
    chosen, sentence = devices.arithmetic_device(device)
    assert chosen == "cpu"
    assert sentence.endswith("Computing on the CPU instead.")
    assert "\n" not in sentence
    assert device in sentence


def test_a_device_that_computes_wrong_numbers_is_found_out(monkeypatch):
    monkeypatch.setattr(torch, "ones", lambda *shape, device: torch.zeros(*shape))
    with pytest.raises(ViewerError, match="wrong numbers"):
        devices.check_device("cuda:0")


@pytest.mark.parametrize("device", ["cuda:99", "xpu:7", "unheard", "cuda:x"])
def test_a_device_that_cannot_be_described_is_called_by_its_id(device):
    assert devices.describe(device) == device


def test_devices_of_every_kind_are_listed(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"Card {index}")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.available()[1:] == [
        ("cuda:0", "Card 0 (CUDA)"),
        ("cuda:1", "Card 1 (CUDA)"),
        ("mps", "Apple GPU (Metal)"),
    ]
