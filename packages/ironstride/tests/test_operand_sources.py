"""Operands from values, from files beside the network file, and from seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironstride.program.network_file import NetworkFileError, read_network
from ironstride.program.operands import make_operands


def operands(folder: Path, shapes: list[list[int]], entries: Any, dtype: str = "float64") -> list[np.ndarray]:
    labels = iter("abcdefghijklmnopqrstuvwxyz")
    text = ",".join("".join(next(labels) for _ in shape) for shape in shapes) + "->"
    content = {"format_string": text, "shapes": shapes, "dtype": dtype}
    if entries is not None:
        content["operands"] = entries
    file = folder / "network.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return [operand.to_numpy() for operand in make_operands(read_network(file))]


def test_nested_lists_go_along_the_first_axis_outermost(tmp_path: Path) -> None:
    nested = [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12.5]]]

    (array,) = operands(tmp_path, [[2, 3, 2]], [nested])

    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.array(nested))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", 0.1, np.float32(0.1)),
        ("float32", 3.4028235677973362e38, np.finfo(np.float32).max),  # below the middle to the next power of two
        ("float64", 3, 3.0),
        ("int32", -(2**31), -(2**31)),
        ("int64", 2**63 - 1, 2**63 - 1),
        ("bool", True, True),
        ("complex128", [1.5, -2], 1.5 - 2j),
        ("complex64", 4, 4.0),
    ],
)
def test_a_rank_0_operand_is_a_bare_element(tmp_path: Path, dtype: str, value: object, expected: object) -> None:
    (array,) = operands(tmp_path, [[]], [value], dtype)

    assert array.dtype == dtype
    assert array == expected


def test_complex_pairs_and_reals_may_be_mixed(tmp_path: Path) -> None:
    (array,) = operands(tmp_path, [[3]], [[[0, 1], 2, [3, -4]]], "C64")

    np.testing.assert_array_equal(array, [1j, 2, 3 - 4j])


def test_an_empty_operand_keeps_its_extents(tmp_path: Path) -> None:
    first, second = operands(tmp_path, [[0, 3], [2, 0]], [[], [[], []]])

    assert first.shape == (0, 3)
    assert second.shape == (2, 0)


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("float64", [1, 2], r"operands\[0\]: found a list of 2; the shape asks for a list of 3"),
        ("float64", 7, r"operands\[0\]: found 7; the shape asks for a list of 3"),
        ("float64", [1, "x", 3], r'operands\[0\]\[1\]: found "x"; an element of F64 is expected'),
        ("float64", [1, True, 3], r"operands\[0\]\[1\]: found true; an element of F64 is expected"),
        ("float64", [1, 2, 10**400], r"operands\[0\]\[2\]: found 1000.*, beyond the range of floating point"),
        ("float32", [1, 2, -1e39], r"operands\[0\]\[2\]: found -1e\+39, beyond the range of F32"),
        ("float32", [1, 10**39, 3], r"operands\[0\]\[1\]: found 1000.*, beyond the range of F32"),
        ("complex64", [1, [0, 1e39], 3], r"operands\[0\]\[1\]: found \[0, 1e\+39\], beyond the range of C32"),
        ("complex64", [1e39, 2, 3], r"operands\[0\]\[0\]: found 1e\+39, beyond the range of C32"),
        ("int64", [1, 2, 3.0], r"operands\[0\]\[2\]: found 3\.0; an element of I64 is expected"),
        ("int32", [1, 2, 2**31], r"operands\[0\]\[2\]: .*2147483648"),
        ("bool", [True, False, 1], r"operands\[0\]\[2\]: found 1; an element of Bool is expected"),
        ("complex128", [1, [1, 2, 3], 3], r"operands\[0\]\[1\]: found \[1, 2, 3\]; a complex number is a pair"),
        ("complex128", [1, [1, "i"], 3], r"operands\[0\]\[1\]: found \[1, \"i\"\]; a complex number is a pair"),
    ],
)
def test_a_wrong_value_is_named_with_its_index(tmp_path: Path, dtype: str, value: object, message: str) -> None:
    with pytest.raises(NetworkFileError, match=message):
        operands(tmp_path, [[3]], [value], dtype)


def test_stored_operands_are_read_in_both_orders_and_from_archives(tmp_path: Path) -> None:
    a, b, c = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(12.0).reshape(3, 4)), np.arange(5.0)
    np.save(tmp_path / "a.npy", a)
    (tmp_path / "below").mkdir()
    np.save(tmp_path / "below" / "b.npy", b)
    np.savez(tmp_path / "plain.npz", c=c)
    np.savez_compressed(tmp_path / "packed.npz", c=c[::-1])
    entries = [
        {"npy": "a.npy"},
        {"npy": "below/b.npy"},
        {"npz": "plain.npz", "member": "c"},
        {"npz": "packed.npz", "member": "c"},
    ]

    read = operands(tmp_path, [[2, 3], [3, 4], [5], [5]], entries)

    for found, expected in zip(read, [a, b, c, c[::-1]], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_stored_operand_must_have_the_shape_and_dtype_of_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3), np.float32))

    with pytest.raises(NetworkFileError, match=r'"a.npy" holds F32 \[2, 3\]; the network file says F64 \[3, 2\]'):
        operands(tmp_path, [[3, 2]], [{"npy": "a.npy"}])


def test_a_file_outside_the_folder_is_refused_through_dots_roots_and_links(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    np.save(tmp_path / "a.npy", np.zeros(3))
    (folder / "link.npy").symlink_to(tmp_path / "a.npy")

    for name in ("../a.npy", str(tmp_path / "a.npy"), "link.npy"):
        with pytest.raises(NetworkFileError, match="lies outside the folder of the network file"):
            operands(folder, [[3]], [{"npy": name}])


def test_missing_and_unusable_files_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    (tmp_path / "text.npy").write_text("no array", encoding="utf-8")
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    np.save(tmp_path / "objects.npy", np.array([{}, [], ()], dtype=object), allow_pickle=True)
    for entry, message in (
        ({"npy": "none.npy"}, 'there is no file "none.npy" beside the network file'),
        ({"npy": "."}, 'there is no file "." beside the network file'),
        ({"npy": "a\0.npy"}, r"operands\[0\]: "),
        ({"npz": "a.npz", "member": "y"}, r'"a.npz:y" does not exist; members: \["x"\]'),
        ({"npy": "text.npy"}, 'operands\\[0\\]: .*"text.npy"'),
        ({"npz": "text.npz", "member": "x"}, '"text.npz:x" cannot be read'),
        ({"npy": "objects.npy"}, 'operands\\[0\\]: .*"objects.npy"'),
    ):
        with pytest.raises(NetworkFileError, match=message):
            operands(tmp_path, [[3]], [entry])


def test_a_file_far_larger_than_its_shape_is_refused_unread(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(20_000))
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(10**6))

    for entry in ({"npy": "a.npy"}, {"npz": "bomb.npz", "member": "x"}):
        with pytest.raises(NetworkFileError, match="accepted: up to 24"):
            operands(tmp_path, [[3]], [entry])


def test_a_damaged_archive_member_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(1000.0))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for position in range(60, len(content) - 30, 97):
        content[position] ^= 0xFF
    (tmp_path / "a.npz").write_bytes(content)

    with pytest.raises(NetworkFileError, match=r"a\.npz:x"):
        operands(tmp_path, [[1000]], [{"npz": "a.npz", "member": "x"}])


def test_operands_of_one_seed_differ_and_repeat(tmp_path: Path) -> None:
    first, second = operands(tmp_path, [[50], [50]], None)
    again, _ = operands(tmp_path, [[50], [50]], {"seed": 0})
    other, _ = operands(tmp_path, [[50], [50]], {"seed": 1})

    np.testing.assert_array_equal(first, again)
    assert not np.intersect1d(first, second).size
    assert not np.intersect1d(first, other).size


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_drawn_elements_lie_strictly_inside_their_interval(tmp_path: Path, dtype: str) -> None:
    entries = [{"seed": 3}, {"seed": 3, "distribution": "signed"}]

    uniform, signed = operands(tmp_path, [[1000], [1000]], entries, dtype)

    for parts, low in ((uniform, 0.0), (signed, -1.0)):
        assert parts.dtype == dtype
        for part in (parts.real, parts.imag) if dtype.startswith("complex") else (parts,):
            assert low < part.min() < low + 0.1
            assert 0.9 < part.max() < 1
