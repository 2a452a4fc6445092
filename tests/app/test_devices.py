"""The CPU is always there, and every device has a title."""

from __future__ import annotations

import pytest
import torch

from relpos_viewer.app import devices


def test_the_cpu_comes_first_and_every_device_has_a_title():
    found = devices.available()
    assert found[0][0] == "cpu"
    assert "threads" in found[0][1]
    assert len({device for device, title in found}) == len(found)
    assert all(title for device, title in found)


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
