"""A document is one immutable value: nothing in it can change, and equality looks inside its arrays."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.document.session import Session
from relpos_viewer.sources.build import inputs_for

FIRST = Document.default()
RNG = np.random.default_rng(0)
Q = RNG.normal(size=(2, 3, 4)).astype(np.float32)


def arrays(**named) -> ArraySource:
    return ArraySource("file.npz", "file", named or {"q": Q, "k": Q})


# --- the first document -------------------------------------------------------------------------------


def test_the_first_document_can_be_built_as_it_is():
    inputs = inputs_for(FIRST.source)
    assert (inputs.heads, inputs.n_key) == (4, 26)
    assert FIRST.encoding.build().name == "t5"
    assert parse_mask(FIRST.mask).kind == "causal"
    assert FIRST.edit.is_zero
    assert FIRST.scale is None


@pytest.mark.parametrize(
    ("source", "kind", "heads"),
    [
        (TextSource("a b", heads=3), "text", 3),
        (arrays(), "arrays", 2),
        (arrays(scores=np.zeros((5, 2, 2))), "arrays", 5),
        (arrays(q=Q, k=Q[:1], bias=np.zeros((1, 3, 3))), "arrays", 2),
        (arrays(visible=np.ones((2, 2), bool)), "arrays", 1),
    ],
)
def test_a_source_says_its_kind_and_how_many_heads_it_has(source, kind, heads):
    assert (source.kind, source.heads) == (kind, heads)


@pytest.mark.parametrize(("asked", "shown"), [(0, 0), (3, 3), (4, 3), (99, 3), (-1, 0)])
def test_the_head_shown_is_one_that_there_is(asked, shown):
    assert replace(FIRST, view=View(head=asked)).head == shown


# --- nothing changes ----------------------------------------------------------------------------------

PARTS = {
    "array": lambda d: d.source.arrays["q"],
    "mask": lambda d: d.mask,
    "edit": lambda d: d.edit.values,
    "parameter": lambda d: d.encoding.parameters["table"],
}


def full_document() -> tuple[Document, dict[str, np.ndarray]]:
    """A document with an array in every place, and the arrays it was made from."""
    made = {
        "array": Q.copy(),
        "mask": np.tri(3, dtype=bool),
        "edit": RNG.normal(size=(2, 5)).astype(np.float32),
        "parameter": RNG.normal(size=(2, 5)).astype(np.float32),
    }
    document = Document(
        source=arrays(q=made["array"], k=Q),
        encoding=EncodingSpec("curve", {"table": made["parameter"]}),
        mask=made["mask"],
        edit=EditCurve(made["edit"]),
    )
    return document, made


@pytest.mark.parametrize("part", PARTS)
def test_an_array_in_a_document_cannot_be_written(part):
    document, _ = full_document()
    with pytest.raises(ValueError, match="read-only"):
        PARTS[part](document)[...] = 0


@pytest.mark.parametrize("part", PARTS)
def test_writing_to_the_array_it_was_made_from_leaves_the_document_as_it_was(part):
    document, made = full_document()
    before = PARTS[part](document).copy()
    made[part][...] = ~made[part] if made[part].dtype == bool else 7
    assert np.array_equal(PARTS[part](document), before)


def test_a_read_only_view_of_a_writable_array_is_copied():
    owner = np.ones((1, 3), np.float32)
    window = owner[:]
    window.setflags(write=False)
    curve = EditCurve(window)
    owner[:] = 5
    assert curve.values.tolist() == [[1, 1, 1]]


def test_a_frozen_array_is_shared_and_not_copied_again():
    document, _ = full_document()
    other = replace(document, source=replace(document.source, label="other"))
    assert other.source.arrays["q"] is document.source.arrays["q"]
    assert EditCurve(document.edit.values).values is document.edit.values


@pytest.mark.parametrize("odd", [np.asfortranarray(Q), Q.astype(">f4")], ids=["columns first", "big-endian"])
def test_an_array_is_kept_in_rows_and_in_the_byte_order_of_the_machine(odd):
    odd.setflags(write=False)
    kept = arrays(q=odd).arrays["q"]
    assert kept.flags.c_contiguous
    assert kept.dtype.isnative
    assert np.array_equal(kept, Q)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: setattr(d, "mask", "none"),
        lambda d: setattr(d.view, "head", 1),
        lambda d: d.encoding.parameters.update(num_buckets=4),
        lambda d: d.source.arrays.update(q=Q),
        lambda d: d.encoding.parameters.__setitem__("num_buckets", 4),
    ],
)
def test_a_field_cannot_be_set(change):
    document, _ = full_document()
    with pytest.raises((AttributeError, TypeError)):
        change(document)


def test_the_mapping_it_was_made_from_may_change():
    parameters = {"num_buckets": 8}
    spec = EncodingSpec("t5", parameters)
    parameters["num_buckets"] = 16
    assert spec.parameters["num_buckets"] == 8


# --- equality -----------------------------------------------------------------------------------------


def test_documents_with_equal_arrays_are_equal_and_not_hashable():
    one, other = full_document()[0], full_document()[0]
    other = replace(
        other,
        edit=EditCurve(one.edit.values.copy()),
        encoding=EncodingSpec("curve", dict(one.encoding.parameters)),
    )
    assert one == other
    with pytest.raises(TypeError):
        hash(one)


NAN = np.full((1, 3), np.nan, np.float32)

DIFFERENT = {
    "an array value": (EditCurve(np.zeros((1, 3))), EditCurve(np.eye(1, 3))),
    "a shape": (EditCurve(np.zeros((1, 3))), EditCurve(np.zeros((1, 5)))),
    "the sign of zero": (EditCurve(np.zeros((1, 3))), EditCurve(-np.zeros((1, 3)))),
    "a type of number": (arrays(q=np.zeros(3, np.int32)), arrays(q=np.zeros(3, np.float32))),
    "a shape with the same numbers": (arrays(q=np.zeros((2, 3))), arrays(q=np.zeros((3, 2)))),
    "a name of an array": (arrays(q=Q), arrays(k=Q)),
    "one array more": (arrays(q=Q), arrays(q=Q, k=Q)),
    "a label": (arrays(q=Q), replace(arrays(q=Q), label="other")),
    "a token": (arrays(q=Q), replace(arrays(q=Q), tokens=("a",))),
    "a kind of source": (TextSource("file"), arrays(q=Q)),
    "a parameter": (EncodingSpec("t5", {"num_buckets": 8}), EncodingSpec("t5", {"num_buckets": 9})),
    "a parameter left out": (EncodingSpec("t5", {"num_buckets": 8}), EncodingSpec("t5")),
    "true and one": (EncodingSpec("t5", {"x": True}), EncodingSpec("t5", {"x": 1})),
    "a mask and a mask array": (FIRST, replace(FIRST, mask=np.tri(3, dtype=bool))),
    "mask arrays": (
        replace(FIRST, mask=np.eye(3, dtype=bool)),
        replace(FIRST, mask=np.tri(3, dtype=bool)),
    ),
    "a view": (FIRST, replace(FIRST, view=View(head=1))),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_difference_is_seen(one, other):
    assert one != other
    assert not one == other  # noqa: SIM201  the two operators are answered apart


EQUAL = {
    "NaN": (EditCurve(NAN), EditCurve(NAN.copy())),
    "numpy and Python numbers": (
        EncodingSpec("t5", {"num_buckets": np.int64(8)}),
        EncodingSpec("t5", {"num_buckets": 8}),
    ),
    "a tensor and an array": (
        EncodingSpec("curve", {"table": torch.ones(1, 3)}),
        EncodingSpec("curve", {"table": np.ones((1, 3), np.float32)}),
    ),
    "orders in memory": (arrays(q=np.asfortranarray(Q)), arrays(q=Q)),
    "orders of bytes": (arrays(q=Q.astype(">f4")), arrays(q=Q)),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL.keys())
def test_the_same_is_equal(one, other):
    assert one == other


def test_a_document_is_not_equal_to_something_else():
    assert FIRST != "a document"
    assert TextSource("x") != EncodingSpec("x")


def test_two_ways_to_show_one_document_are_the_same_but_for_the_view():
    assert FIRST.same_but_view(replace(FIRST, view=View(head=2, layout="grid")))
    assert not FIRST.same_but_view(replace(FIRST, mask="none"))


# --- bad parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: arrays(queries=Q), "queries"),
        (lambda: arrays(q=np.array(["a"])), "q holds"),
        (lambda: arrays(q=np.array([object()])), "q holds object"),
        (lambda: arrays(q=np.ones(2, complex)), "q holds complex"),
        (lambda: EditCurve(np.zeros(3)), r"\[head, 2m−1\]"),
        (lambda: EditCurve(np.zeros((1, 4))), r"\[head, 2m−1\]"),
        (lambda: EditCurve(np.zeros((0, 3))), r"\[head, 2m−1\]"),
        (lambda: EditCurve([[1, 2], [3]]), "not an array of numbers"),
        (lambda: EditCurve([["a"]]), "edit curve holds <U1"),
        (lambda: EditCurve(np.ones((1, 3), complex)), "edit curve holds complex"),
        (lambda: replace(FIRST, mask=np.ones((2, 2))), "mask array must be bool"),
        (lambda: replace(FIRST, mask=np.ones(2, bool)), "mask array must be bool"),
        (lambda: EncodingSpec("t6").build(), "did you mean t5"),
        (lambda: EncodingSpec("t5", {"num_bucket": 3}).build(), "num_bucket"),
    ],
)
def test_a_bad_part_is_refused_by_name(make, words):
    with pytest.raises(ViewerError, match=words):
        make()


# --- the edit -----------------------------------------------------------------------------------------

CURVE = EditCurve(np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]))  # δ = −2 … 2


@pytest.mark.parametrize(
    ("heads", "n", "expected"),
    [
        (2, 3, [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]),
        (2, 2, [[2, 3, 4], [7, 8, 9]]),
        (2, 1, [[3], [8]]),
        (2, 4, [[0, 1, 2, 3, 4, 5, 0], [0, 6, 7, 8, 9, 10, 0]]),
        (1, 2, [[2, 3, 4]]),
        (3, 2, [[2, 3, 4], [7, 8, 9], [0, 0, 0]]),
    ],
)
def test_an_edit_is_read_at_any_length_and_number_of_heads(heads, n, expected):
    values = CURVE.at(heads, n)
    assert values.tolist() == expected
    assert values.dtype == np.float32
    values[...] = 99  # the answer is the caller's own
    assert CURVE.values[0, 0] == 1


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([[20, 30, 40]], [[1, 20, 30, 40, 5], [6, 7, 8, 9, 10]]),
        ([[0, 0, 0], [0, 0, 0]], [[1, 0, 0, 0, 5], [6, 0, 0, 0, 10]]),
        ([[9] * 7], [[9] * 7, [0, 6, 7, 8, 9, 10, 0]]),
        ([[0], [1], [2]], [[1, 2, 0, 4, 5], [6, 7, 1, 9, 10], [0, 0, 2, 0, 0]]),
    ],
)
def test_an_edit_keeps_what_a_new_one_does_not_reach(new, expected):
    assert CURVE.updated(np.array(new)).values.tolist() == expected


def test_no_edit_is_zero_everywhere_and_any_edit_is_not():
    assert EditCurve.none().is_zero
    assert not EditCurve.none().at(3, 4).any()
    assert EditCurve.none().at(3, 4).shape == (3, 7)
    assert not EditCurve(np.eye(1, 3)).is_zero


# --- limits of the colours ----------------------------------------------------------------------------


def test_a_stage_finds_its_own_limits():
    view = View(low=-2, high=3, weights_low=0.1, weights_high=0.5, locked=(("scores", -9.0, 9.0),))
    assert view.locked_limits("scores") == (-9.0, 9.0)
    assert view.locked_limits("weights") is None
    assert View().locked_limits("scores") is None
    assert view.typed_limits("content") == (-2, 3)
    assert view.typed_limits("weights") == (0.1, 0.5)


# --- the session --------------------------------------------------------------------------------------


class Heard:
    def __init__(self, session: Session) -> None:
        self.changes: list[tuple[Document, Document]] = []
        session.changed.connect(self.on_changed)

    def on_changed(self, new: Document, old: Document) -> None:
        self.changes.append((new, old))


def test_a_change_is_said_once_with_the_new_and_the_old_document():
    session = Session(FIRST)
    heard = Heard(session)
    other = replace(FIRST, mask="none")
    session.apply(other)
    assert session.document is other
    assert heard.changes == [(other, FIRST)]


def test_an_equal_document_is_no_change():
    session = Session(FIRST)
    heard = Heard(session)
    session.apply(Document.default())
    assert heard.changes == []
    assert session.document is FIRST


def test_all_listeners_see_changes_in_one_order_even_when_one_of_them_changes_more():
    session = Session(FIRST)
    second, third = replace(FIRST, mask="none"), replace(FIRST, mask="window:2")

    def answers(new: Document, old: Document) -> None:
        if new == second:
            session.apply(third)

    session.changed.connect(answers)
    later = Heard(session)
    session.apply(second)
    assert [new.mask for new, _ in later.changes] == ["none", "window:2"]
    assert session.document == third


def test_a_listener_that_is_gone_is_not_called():
    session = Session(FIRST)
    heard = Heard(session)
    changes = heard.changes
    del heard
    session.apply(replace(FIRST, mask="none"))
    assert changes == []


def test_sessions_do_not_hear_one_another():
    one, other = Session(FIRST), Session(FIRST)
    heard = Heard(other)
    one.apply(replace(FIRST, mask="none"))
    assert heard.changes == []


def test_another_thread_cannot_change_the_document():
    session = Session(FIRST)
    errors: list[BaseException] = []

    def intrude() -> None:
        try:
            session.apply(replace(FIRST, mask="none"))
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert session.document is FIRST
