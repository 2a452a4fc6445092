"""Arrays in files: what they are, which axis is which, what their values say, what is asked."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from relpos_viewer.core.attention import attend
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import ArraySource
from relpos_viewer.sources import arrange as arrange_module
from relpos_viewer.sources.build import inputs_for
from relpos_viewer.sources.contents import Question
from relpos_viewer.sources.files import Loaded, load


def shown(loaded: Loaded):
    """The stages of a file drawn with no encoding and no mask but its own."""
    tokens = loaded.tokens.texts if loaded.tokens else ()
    source = ArraySource(str(loaded.path), loaded.path.name, loaded.arrays, tokens, notes=loaded.notes)
    inputs = inputs_for(source)
    assert inputs.heads == source.heads
    return attend(
        inputs, encoding("none"), scale=1.0 if inputs.q is not None else None, mask=parse_mask("none")
    )


Q = np.arange(1.0, 9.0).reshape(1, 2, 2, 2)
K = np.array([[[1.0, 0], [0, 1]], [[1, 1], [2, 0]]])
READINGS = {
    "bshd": [[[1, 3], [5, 11]], [[4, 6], [8, 14]]],
    "bhsd": [[[1, 2], [3, 4]], [[11, 10], [15, 14]]],
}


@pytest.mark.parametrize(("order", "scores"), READINGS.items())
def test_axes_that_could_be_either_are_asked_about(write, order: str, scores: list) -> None:
    path = write("a.npz", {"q": Q, "k": K})
    with pytest.raises(Question) as asked:
        load(path)
    assert asked.value.option_name == "order"
    assert [value for value, _ in asked.value.options] == ["bhsd", "bshd"]
    assert shown(load(path, order=order)).content.tolist() == scores
    assert shown(load(path, order=order[1:])).content.tolist() == scores  # without the batch in its name


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


SETTLED = {
    "one head without an axis": ({"q": random(5, 4), "k": random(5, 4)}, (1, 5, 4), (1, 5, 4)),
    "a batch of one": ({"q": random(1, 1, 5, 4), "k": random(1, 1, 5, 4)}, (1, 5, 4), (1, 5, 4)),
    "one head last but one": ({"q": random(5, 1, 4), "k": random(5, 1, 4)}, (1, 5, 4), (1, 5, 4)),
    "lengths differ: heads first": ({"q": random(2, 3, 4), "k": random(2, 7, 4)}, (2, 3, 4), (2, 7, 4)),
    "lengths differ: heads second": ({"q": random(3, 2, 4), "k": random(7, 2, 4)}, (2, 3, 4), (2, 7, 4)),
    "the matrix says": (
        {"q": random(5, 3, 4), "k": random(5, 3, 4), "bias": random(3, 5, 5)},
        (3, 5, 4),
        (3, 5, 4),
    ),
    "the tokens say": (
        {"q": random(5, 3, 4), "k": random(5, 3, 4), "tokens": np.array(list("abcde"))},
        (3, 5, 4),
        (3, 5, 4),
    ),
    "the tokens say, without start and end": (
        {"q": random(7, 3, 4), "k": random(7, 3, 4), "tokens": np.array(list("abcde"))},
        (3, 7, 4),
        (3, 7, 4),
    ),
    "grouped queries": (
        {"q": random(4, 5, 8), "k": random(2, 5, 8), "v": random(2, 5, 3)},
        (4, 5, 8),
        (2, 5, 8),
    ),
    "names of any case": ({"Query": random(5, 4), "KEYS": random(6, 4)}, (1, 5, 4), (1, 6, 4)),
}


@pytest.mark.parametrize(("arrays", "q", "k"), SETTLED.values(), ids=SETTLED)
def test_axes_that_the_shapes_settle_are_not_asked_about(write, arrays, q, k) -> None:
    loaded = load(write("a.npz", arrays), labels="cls+eos" if "without start" in str(q) else "numbers")
    assert (loaded.arrays["q"].shape, loaded.arrays["k"].shape) == (q, k)
    shown(loaded)


CONVENTION = {
    "q and k": (
        {"q": random(2, 5, 8), "k": random(2, 5, 8)},
        (2, 5, 8),
        "for [position, head, d] choose the order bshd",
    ),
    "and v": (
        {"q": random(2, 5, 8), "k": random(2, 5, 8), "v": random(2, 5, 3)},
        (2, 5, 8),
        "for [position, head, d] choose the order bshd",
    ),
    "as many heads as positions": ({"q": random(4, 4, 2), "k": random(4, 4, 2)}, (4, 4, 2), "the order bshd"),
    "the tokens contradict it": (
        {"q": random(5, 3, 4), "k": random(5, 3, 4), "tokens": np.array(list("abcde"))},
        (3, 5, 4),
        "[position, head, d]; for [head, position, d] choose the order bhsd",
    ),
    "a matrix contradicts it": (
        {"q": random(5, 3, 4), "k": random(5, 3, 4), "bias": random(3, 5, 5)},
        (3, 5, 4),
        "[position, head, d], which alone fits",
    ),
}


@pytest.mark.parametrize(("arrays", "shape", "note"), CONVENTION.values(), ids=CONVENTION)
def test_three_axes_are_heads_positions_and_width_unless_the_file_contradicts_it(
    write, arrays: dict, shape: tuple, note: str
) -> None:
    path = write("a.npz", arrays)
    loaded = load(path)
    assert loaded.arrays["q"].shape == shape
    assert any("Axes read as" in each and note in each for each in loaded.notes), loaded.notes
    assert not any(
        "Axes" in each for each in load(path, order="bhsd" if shape == (2, 5, 8) else "bshd").notes
    )


def test_a_question_about_axes_names_the_shapes_as_they_are_in_the_file(write) -> None:
    with pytest.raises(Question, match=r"q \[1, 2, 2, 2\]"):
        load(write("a.npz", {"q": Q, "k": Q}))


def test_a_batch_is_asked_about_once_and_for_all_arrays(write) -> None:
    arrays = {"q": random(3, 1, 5, 4), "k": random(3, 1, 5, 4), "bias": random(1, 1, 5, 5)}
    path = write("a.npz", arrays)
    with pytest.raises(Question) as asked:
        load(path)
    assert (asked.value.option_name, len(asked.value.options)) == ("batch", 3)
    loaded = load(path, batch=2)
    assert np.array_equal(loaded.arrays["q"], arrays["q"][2])
    assert np.array_equal(loaded.arrays["bias"], arrays["bias"][0])


def test_three_axes_can_be_a_batch_of_one_head(write) -> None:
    arrays = {"q": random(3, 5, 4), "k": random(3, 5, 4)}
    loaded = load(write("a.npz", arrays), order="bsd", batch="1")
    assert np.array_equal(loaded.arrays["q"], arrays["q"][1:2])


MISFITS = {
    "head size": ({"q": random(5, 4), "k": random(5, 3)}, r"q \[1, 5, 4\] and k \[1, 5, 3\]"),
    "key heads": ({"q": random(4, 5, 8), "k": random(3, 5, 8)}, r"q \[4, 5, 8\] and k \[3, 5, 8\]"),
    "more queries": ({"q": random(6, 4), "k": random(5, 4)}, "more queries than keys"),
    "values": ({"q": random(5, 4), "k": random(5, 4), "v": random(6, 4)}, r"v \[1, 6, 4\]"),
    "bias": ({"q": random(5, 4), "k": random(5, 4), "bias": random(4, 4)}, r"bias \[1, 4, 4\]"),
    "two batches": ({"q": random(2, 1, 5, 4), "k": random(3, 1, 5, 4)}, "differ in their first axis"),
    "no k": ({"q": random(5, 4)}, "holds q and no k"),
    "v alone": ({"v": random(5, 4)}, "v alone"),
    "twice": ({"q": random(5, 4), "query": random(5, 4), "k": random(5, 4)}, "q twice"),
    "nothing": ({"q": np.zeros((0, 4)), "k": np.zeros((0, 4))}, "holds nothing"),
    "too few axes": ({"q": np.zeros(4), "k": np.zeros(4)}, "too few axes"),
    "too many axes": ({"scores": np.zeros((2, 3, 2, 4, 4))}, "too many axes"),
    "tall matrix": ({"scores": random(5, 3)}, "more queries than keys"),
    "matrices of two sizes": ({"scores": random(4, 4), "bias": random(5, 5)}, r"bias \[1, 5, 5\] and scores"),
    "complex": ({"q": np.zeros((2, 2), complex), "k": np.zeros((2, 2))}, "complex128, not real numbers"),
}


@pytest.mark.parametrize(("arrays", "message"), MISFITS.values(), ids=MISFITS)
def test_arrays_that_do_not_fit_are_named_with_their_shapes(write, arrays, message) -> None:
    with pytest.raises(ViewerError, match=message) as error:
        load(write("a.npz", arrays))
    assert not isinstance(error.value, Question)


def test_an_answer_that_is_no_option_is_refused(write) -> None:
    with pytest.raises(ViewerError, match="order cannot be “hbsd”"):
        load(write("a.npz", {"q": Q, "k": K}), order="hbsd")


# --- a single array -----------------------------------------------------------------------------------


def test_a_lone_matrix_of_numbers_is_asked_about(write) -> None:
    path = write("a.npy", random(4, 4))
    with pytest.raises(Question) as asked:
        load(path)
    assert asked.value.option_name == "role"
    assert [value for value, _ in asked.value.options] == ["weights", "scores", "bias", "mask"]
    for role in ("scores", "bias"):
        assert np.array_equal(load(path, role=role).arrays[role][0], random(4, 4))


@pytest.mark.parametrize(
    "rows", [[[0.9, 0.05, 0.05]], [[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]], [[0, 0], [0.5, 0.5]]]
)
def test_probabilities_are_recognised_and_come_out_of_the_softmax_as_they_went_in(write, rows) -> None:
    loaded = load(write("a.npy", np.array(rows)))
    assert any("Recognised as weights" in note for note in loaded.notes)
    assert shown(loaded).weights[0].numpy() == pytest.approx(np.array(rows), abs=1e-7)


DROPPED = np.array([[0, 0.25, 0.25, 0, 0.25], [0.25] * 5])


def test_weights_under_dropout_stay_untouched_and_say_so(write) -> None:
    loaded = load(write("a.npz", {"weights": DROPPED}))
    assert "row sums 0.75 and 1.25: dropout or not probabilities" in loaded.notes
    assert shown(loaded).weights[0].numpy() == pytest.approx(DROPPED, abs=1e-7)


def test_more_than_two_row_sums_are_a_range(write) -> None:
    loaded = load(write("a.npz", {"attention": np.vstack((DROPPED, [0.2] * 5))}))
    assert "row sums 0.75 to 1.25: dropout or not probabilities" in loaded.notes


def test_negative_weights_are_scores(write) -> None:
    with pytest.raises(ViewerError, match=r"down to −0\.5"):
        load(write("a.npz", {"weights": [[1.5, -0.5]]}))


TRIANGLE = np.triu(np.ones((3, 3), bool), 1)
POLARITIES = {
    "masked": [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]],
    "attend": [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]],  # row 2 has no key: zeros, not NaN and not uniform
}


@pytest.mark.parametrize("dtype", [bool, np.int64])
@pytest.mark.parametrize(("answer", "weights"), POLARITIES.items())
def test_a_boolean_mask_is_asked_what_true_means(write, answer, weights, dtype) -> None:
    path = write("a.npz", {"mask": TRIANGLE.astype(dtype)})
    with pytest.raises(Question) as asked:
        load(path)
    assert asked.value.option_name == "mask_true"
    assert [value for value, _ in asked.value.options] == ["masked", "attend"]
    assert shown(load(path, mask_true=answer)).weights[0].numpy() == pytest.approx(np.array(weights))


def test_a_lone_boolean_array_needs_no_role(write) -> None:
    with pytest.raises(Question) as asked:
        load(write("a.npy", TRIANGLE))
    assert asked.value.option_name == "mask_true"


def test_a_padding_mask_of_a_tokenizer_is_known(write) -> None:
    loaded = load(
        write("a.npz", {"q": random(3, 4), "k": random(3, 4), "attention_mask": np.array([[1, 1, 0]])})
    )
    assert loaded.arrays["visible"].tolist() == [[True, True, False]] * 3


@pytest.mark.parametrize("low", [-np.inf, -1e4, -65504, np.finfo(np.float32).min])
def test_an_additive_mask_is_recognised(write, low: float) -> None:
    loaded = load(write("a.npy", np.where(TRIANGLE, low, 0).astype(np.float32)))
    assert np.array_equal(loaded.arrays["visible"], ~TRIANGLE)


def test_a_finite_mask_is_parted_from_the_bias_it_was_added_to(write) -> None:
    bias = random(2, 3, 3)
    loaded = load(write("a.npz", {"bias": np.where(TRIANGLE, np.float32(-1e9), bias)}))
    assert np.array_equal(loaded.arrays["visible"], ~TRIANGLE)
    assert np.array_equal(loaded.arrays["bias"], np.where(TRIANGLE, np.float32(0), bias))
    assert "6 cells of bias at −1e9 or less read as a mask." in loaded.notes
    result = shown(loaded)
    assert not result.content.any()
    assert (result.weights[:, torch.from_numpy(TRIANGLE)] == 0).all()


def test_a_finite_mask_in_scores_is_recognised_and_infinity_stays_a_score(write) -> None:
    loaded = load(write("a.npz", {"scores": np.array([[1, -65504], [-np.inf, 2]], np.float16)}))
    assert loaded.arrays["visible"].tolist() == [[True, False], [True, True]]
    assert loaded.arrays["scores"][0, 1, 0] == -np.inf


def test_what_is_no_number_is_allowed_and_counted(write) -> None:
    q = random(4, 2)
    q[0, 0] = q[1, 1] = q[2, 0] = np.nan
    q[3, 0] = -np.inf
    assert "3 NaN and 1 −inf in q." in load(write("a.npz", {"q": q, "k": random(4, 2)})).notes
    text = '{"q": [[1, NaN], [Infinity, -Infinity]], "k": [[1, null], [3, 4]]}'
    notes = load(write("a.json", text)).notes
    assert notes == ("1 NaN, 1 +inf and 1 −inf in q.", "1 NaN in k.")


def test_what_is_computed_from_other_arrays_of_the_file_is_left_out(write) -> None:
    arrays = {"q": random(3, 4), "k": random(3, 4), "weights": np.eye(3)}
    loaded = load(write("a.npz", arrays))
    assert set(loaded.arrays) == {"q", "k"}
    assert any("weights" in note for note in loaded.notes)


def test_an_exported_file_shows_its_two_parts_again(write) -> None:
    content, positional = random(2, 3, 3), random(2, 3, 3) * 2
    arrays = {"content": content, "positional": positional, "scores": content + positional}
    arrays |= {"tokens": np.array(list("abc")), "offsets": np.arange(-2, 3), "curve": random(2, 5)}
    loaded = load(write("a.npz", arrays))
    assert loaded.tokens.texts == ("a", "b", "c")
    assert np.array_equal(shown(loaded).scores.numpy(), content + positional)


def test_a_bias_of_one_row_stands_for_every_query(write) -> None:
    loaded = load(write("a.npz", {"q": random(2, 3, 4), "k": random(2, 5, 4), "bias": random(2, 1, 5)}))
    assert np.array_equal(loaded.arrays["bias"], np.repeat(random(2, 1, 5), 3, axis=1))


def test_a_list_of_whole_numbers_is_token_ids(write) -> None:
    assert load(write("a.npy", np.array([5, 17, 3]))).tokens.ids == (5, 17, 3)
    assert load(write("b.npy", np.array(["the", "cat"]))).tokens.texts == ("the", "cat")


# --- formats ------------------------------------------------------------------------------------------


def objects() -> np.ndarray:
    array = np.empty(2, object)
    array[0], array[1] = np.zeros((2, 3, 3)), np.zeros((2, 5, 5))
    return array


@pytest.mark.parametrize(("name", "content"), [("a.npy", objects()), ("a.npz", {"x": objects()})])
def test_object_arrays_are_refused_with_the_way_out(write, name, content) -> None:
    sentence = "object array needs pickle, which can run code; save as .npz with one name per array"
    with pytest.raises(ViewerError, match=sentence):
        load(write(name, content))


def test_two_sizes_in_one_npz_are_two_entries_to_choose_from(write) -> None:
    path = write("a.npz", {"small": np.zeros((2, 3, 3)), "large": np.zeros((2, 5, 5))})
    with pytest.raises(Question) as asked:
        load(path)
    assert asked.value.option_name == "array"
    assert [value for value, _ in asked.value.options] == ["small", "large"]
    assert load(path, array="large", role="scores").arrays["scores"].shape == (2, 5, 5)


def test_bfloat16_is_exact_and_named(tmp_path) -> None:
    bits = torch.tensor([0x3F80, 0x4049, 0x7F80, 0x8000, 0xFF80, 0x7FC0, 0x3B80], dtype=torch.int32)
    path = tmp_path / "a.safetensors"
    save_file({"scores": bits.to(torch.int16).view(torch.bfloat16)}, path)
    loaded = load(path)
    wanted = np.array([1, 3.140625, np.inf, -0.0, -np.inf, np.nan, 0.00390625], np.float32)
    assert loaded.arrays["scores"].view(np.uint32).ravel().tolist() == wanted.view(np.uint32).tolist()
    assert "scores is stored as bf16." in loaded.notes
    assert "1 NaN, 1 +inf and 1 −inf in scores." in loaded.notes


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32])
def test_safetensors_of_every_type_open(tmp_path, dtype) -> None:
    path = tmp_path / "a.safetensors"
    numbers = torch.arange(6).reshape(3, 2)
    save_file({"query": numbers.to(dtype), "key": numbers.to(dtype)}, path)
    assert load(path).arrays["q"][0].tolist() == numbers.tolist()


def test_values_beyond_float32_are_counted(write) -> None:
    loaded = load(write("a.npz", {"scores": np.array([[1e300, 1.0]])}))
    assert "1 values of scores are beyond float32 and became infinite." in loaded.notes


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_truncated_arrays_say_how_much_is_missing(write, tmp_path) -> None:
    with pytest.raises(ViewerError, match=r"\[40, 40\] needs 12,800 bytes and 12,799 are there"):
        load(write("a.npy", npy(np.zeros((40, 40)))[:-1]))
    path = tmp_path / "a.safetensors"
    save_file({"q": torch.zeros(8, 8)}, path)
    data = path.read_bytes()
    for cut, message in (
        (4, "4 bytes are no safetensors"),
        (40, "its header needs"),
        (-1, "its tensors need 256 bytes"),
    ):
        with pytest.raises(ViewerError, match=message):
            load(write("b.safetensors", data[:cut]))
    archive = write("c.npz", {"q": random(9, 9), "k": random(9, 9)}).read_bytes()
    with pytest.raises(ViewerError, match="damaged or truncated"):
        load(write("d.npz", archive[:-30]))


def test_a_huge_shape_in_a_small_file_takes_no_memory(write) -> None:
    data = npy(np.zeros((2, 2))).replace(b"(2, 2), }      ", b"(99999, 99999),}")
    with pytest.raises(ViewerError, match="truncated"):
        load(write("a.npy", data))


def test_arrays_beyond_the_limit_are_refused_before_they_are_read(write, monkeypatch) -> None:
    monkeypatch.setattr(arrange_module, "MAX_ARRAY_BYTES", 1000)
    with pytest.raises(ViewerError, match="GiB of memory"):
        load(write("a.npz", {"q": random(40, 4), "k": random(40, 4)}))


def test_a_zip_that_inflates_beyond_the_limit_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(arrange_module, "MAX_ARRAY_BYTES", 10**6)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, weights=np.zeros((1000, 1000), np.float32))
    assert path.stat().st_size < 10_000
    with pytest.raises(ViewerError, match="GiB of memory"):
        load(path)


def test_a_zip_that_lies_about_its_sizes_is_damaged(tmp_path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, scores=np.zeros((100, 100), np.float32))
    data = bytearray(path.read_bytes())
    # The size in the central directory, which zipfile trusts: half of what is there.
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 128 + 20_000)
    path.write_bytes(data)
    with pytest.raises(ViewerError, match=r"truncated|damaged"):
        load(path)


def test_a_zip_without_arrays_is_no_npz(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ViewerError, match="zip archive without arrays"):
        load(tmp_path / "a.npz")


def test_the_first_bytes_win_over_the_name(write) -> None:
    assert load(write("a.txt", npy(np.eye(3)))).arrays["weights"].shape == (1, 3, 3)
