"""`relpos_viewer.view`: what it takes, and what it refuses before there is a window."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from pytestqt.qtbot import QtBot

import relpos_viewer as rv
from relpos_viewer.core.errors import ViewerError

Q = np.random.default_rng(1).normal(size=(2, 5, 8)).astype(np.float32)


@pytest.mark.parametrize(
    "labels", [list("abcde"), np.array(list("abcde")), [5, 17, 3, 17, 0], torch.arange(5)], ids=str
)
def test_labels_are_texts_or_numbers_in_any_sequence(qtbot: QtBot, labels) -> None:
    window = rv.view(Q, Q, tokens=labels, block=False)
    try:
        qtbot.waitUntil(lambda: window.frame is not None)
        assert window.frame.inputs.tokens.texts == tuple(map(str, np.asarray(labels).tolist()))
    finally:
        window.close()
        window.deleteLater()


def test_an_encoding_and_one_edit_for_every_head_are_taken_as_attention_takes_them(qtbot: QtBot) -> None:
    t5 = rv.encoding("t5", num_buckets=8)
    edit = np.arange(9.0)
    window = rv.view(Q, Q, encoding=t5, edit=edit, block=False)
    try:
        document = window.session.document
        assert document.encoding.parameters["num_buckets"] == 8
        assert np.array_equal(document.edit.at(2, 5), [edit, edit])
    finally:
        window.close()
        window.deleteLater()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokens": list("ab")}, "2 tokens for 5 keys"),
        ({"tokens": [None] * 5}, r"tokens\[0\] is null"),
        ({"mask": np.ones((3, 5, 5), bool)}, "3 heads"),
        ({"mask": np.ones((4, 5), bool)}, "they must agree"),
        ({"mask": np.ones((5, 5))}, "a mask array must be bool"),
        ({"encoding": 3}, "unknown encoding"),
        ({"encoding": "t5", "table": np.zeros((32, 3))}, "3 heads"),
        ({"edit": np.zeros(8)}, "edit has shape"),
        ({"edit": np.zeros((1, 18))}, "edit has shape"),
        ({"scale": "wide"}, "finite number"),
    ],
)
def test_what_does_not_fit_is_said_before_there_is_a_window(qtbot: QtBot, wrong: dict, message: str) -> None:
    with pytest.raises(ViewerError, match=message):
        rv.view(Q, Q, block=False, **wrong)


def test_another_thread_than_the_main_one_is_refused(qtbot: QtBot) -> None:
    said: list[object] = []

    def open_one() -> None:
        try:
            rv.view(Q, Q, block=False)
        except ViewerError as error:
            said.append(str(error))

    thread = threading.Thread(target=open_one)
    thread.start()
    thread.join(30)
    assert said == ["a window can be opened from the main thread only; call it there."]
