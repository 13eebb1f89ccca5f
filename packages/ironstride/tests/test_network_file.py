"""What the reader of network files accepts, and the one line it says about everything else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironstride.program.network_file import (
    Drawn,
    NetworkFileError,
    NotANetworkError,
    Reference,
    Stored,
    Values,
    printable,
    read_network,
)
from tensor_core.dtypes import C64, F64

PRODUCT: dict[str, Any] = {"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "float64"}


def write(folder: Path, content: object) -> Path:
    file = folder / "network.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_the_smallest_file_is_named_after_itself_and_draws_its_operands(tmp_path: Path) -> None:
    network = read_network(write(tmp_path, PRODUCT))

    assert network.name == "network"
    assert network.shapes == ((2, 3), (3, 4))
    assert network.dtype is F64
    assert network.operands == (Drawn(0, "uniform"), Drawn(0, "uniform"))
    assert network.drawn_by_default
    assert network.operand_bytes == 8 * (6 + 12)
    assert not network.paths
    assert network.reference is None


def test_all_members_are_read_and_comments_ignored(tmp_path: Path) -> None:
    content = PRODUCT | {
        "name": "product",
        "intent": "any",
        "format_string_colmajor": "not even an expression",
        "dtype": "C64",
        "num_tensors": 2,
        "operands": [{"npy": "a.npy"}, {"npz": "b.npz", "member": "x"}],
        "paths": {"mine": {"path": [[0, 1]], "log2_size": "3"}},
        "reference": {"value": 1, "divide_by": 2},
    }

    network = read_network(write(tmp_path, content))

    assert network.name == "product"
    assert network.dtype is C64
    assert network.operands == (Stored("a.npy"), Stored("b.npz", "x"))
    assert not network.drawn_by_default
    assert network.paths == {"mine": ((0, 1),)}
    assert network.reference == Reference("ln(result)", 1.0, 0.0, 2.0, 1e-10, "the network file")


def test_operands_are_values_or_drawn_one_by_one(tmp_path: Path) -> None:
    content = PRODUCT | {"operands": [[[1, 2, 3], [4, 5, 6]], {"seed": 7, "distribution": "signed"}]}

    network = read_network(write(tmp_path, content))

    assert network.operands == (Values([[1, 2, 3], [4, 5, 6]]), Drawn(7, "signed"))


def test_a_file_of_the_version_that_is_read_means_what_a_file_without_one_means(tmp_path: Path) -> None:
    plain = read_network(write(tmp_path, PRODUCT))

    assert read_network(write(tmp_path, PRODUCT | {"schema_version": 1})) == plain


@pytest.mark.parametrize("version", [2, 0, "1", 1.0, True, None])
def test_a_file_of_another_version_is_refused_by_that_member(tmp_path: Path, version: object) -> None:
    with pytest.raises(NetworkFileError, match=r"schema_version: found .*; accepted: 1; another version needs"):
        read_network(write(tmp_path, PRODUCT | {"schema_version": version}))


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read_network(write(tmp_path, "\ufeff" + json.dumps(PRODUCT))).shapes == ((2, 3), (3, 4))


def test_an_object_without_format_string_is_another_kind_of_file(tmp_path: Path) -> None:
    with pytest.raises(NotANetworkError, match="the file has no format_string"):
        read_network(write(tmp_path, {"version": 1, "patterns": []}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_string": 3}, "format_string: found 3; accepted: a string"),
        ({"name": None}, "name: found null; accepted: a string"),
        ({"shapes": None}, "shapes: found null; accepted: a list with one list of extents per operand"),
        ({"shapes": [[2, 3], 7]}, r"shapes\[1\]: found 7; accepted: a list of non-negative integers"),
        ({"shapes": [[2, -3], [3, 4]]}, r"shapes\[0\]: found \[2, -3\]; accepted"),
        ({"shapes": [[2, True], [3, 4]]}, r"shapes\[0\]: found \[2, true\]; accepted"),
        ({"shapes": [[1] * 65, [3, 4]]}, r"shapes\[0\]: found 65 axes; accepted: at most 64"),
        ({"num_tensors": 3}, "num_tensors: found 3; accepted: the number of shapes, 2"),
        ({"dtype": None}, 'dtype: found null; accepted: a name such as "float64"'),
        ({"dtype": "float16"}, r"(?<!dtype: )dtype: 'float16' is none of ours"),
        ({"paths": []}, "paths: found \\[\\]; accepted: an object such as"),
        ({"paths": {"p": [[0, 1]]}}, r"paths\.p: found \[\[0, 1\]\]; accepted: an object with a path"),
        (
            {"paths": {"p": {"path": [[0, 1.5]]}}},
            r"paths\.p\.path\[0\]: found \[0, 1\.5\]; accepted: a list of operand",
        ),
        ({"operands": [1]}, "operands: found 1 entries for 2 shapes; give one entry per operand"),
        ({"operands": "x"}, 'operands: found "x"; accepted: a list with one entry per operand, or {"seed": 0}'),
        ({"operands": {"npy": "a.npy"}}, r'operands: found \{"npy": "a.npy"\}; accepted: a list with one entry'),
        ({"operands": {}}, r'operands: found \{\}; accepted: a list with one entry per operand, or \{"seed": 0\}'),
        ({"operands": {"distribution": "signed"}}, r"operands\.seed: found null; accepted: an integer from 0"),
        ({"operands": {"seed": -1}}, r"operands\.seed: found -1; accepted: an integer from 0"),
        ({"operands": {"seed": True}}, r"operands\.seed: found true; accepted: an integer"),
        ({"operands": {"seed": 0, "distribution": "normal"}}, r'operands\.distribution: found "normal"; accepted'),
        ({"operands": {"seed": 0, "sed": 1}}, r'operands: found \["sed"\]; accepted: seed and distribution'),
        ({"operands": [{"npy": 3}, 0]}, r'operands\[0\]: found {"npy": 3}; accepted: nested lists'),
        ({"operands": [{"npz": "a.npz"}, 0]}, r"operands\[0\]: found .*; accepted: nested lists"),
        ({"dtype": "int64"}, "operands: I64 cannot be drawn at random; give values"),
        ({"reference": 3}, "reference: found 3; accepted: an object"),
        ({"reference": {}}, r"reference\.value: found null; accepted: a finite number"),
        ({"reference": {"value": True}}, r"reference\.value: found true; accepted: a finite number"),
        ({"reference": {"value": 10**400}}, r"reference\.value: found 1000.* \.\.\.; accepted: a finite number"),
        ({"reference": {"value": 1, "divide_by": 0}}, "reference: found .*; accepted: divide_by other than zero"),
    ],
)
def test_a_wrong_member_is_named_with_what_was_found(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(NetworkFileError, match=f"^{message}"):
        read_network(write(tmp_path, PRODUCT | change))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is not JSON: .* at line 1, column 1"),
        ("{'a': 1}", "the file is not JSON: .* at line 1, column 2"),
        ("[1, 2]", "the file holds a list; a network file is one JSON object"),
        ("null", "the file holds null; a network file is one JSON object"),
        ("[" * 200_000, "nests its lists or objects too deeply"),
        ('{"a":' * 200_000, "nests its lists or objects too deeply"),
        ("9" * 5000, "an integer with thousands of digits"),
        ('{"format_string": "", "format_string": ""}', 'the name "format_string" occurs twice in one object'),
        ('{"format_string": "", "x": NaN}', "NaN is not a JSON number"),
        ('{"format_string": "", "x": -Infinity}', "-Infinity is not a JSON number"),
    ],
)
def test_text_that_is_no_usable_json_gets_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NetworkFileError, match=message):
        read_network(write(tmp_path, text))


def test_a_file_that_is_no_text_says_where(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_bytes(b"\x93NUMPY\x01\x00")

    with pytest.raises(NetworkFileError, match=r"the file is not UTF-8 text \(byte 0\)"):
        read_network(file)


def test_a_file_that_is_not_there_a_directory_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NetworkFileError, match="cannot be read: No such file"):
        read_network(tmp_path / "missing.json")
    with pytest.raises(NetworkFileError, match=r"^it is a directory"):
        read_network(tmp_path)
    with pytest.raises(NetworkFileError, match="cannot be read"):
        read_network(tmp_path / "a\0b")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NetworkFileError, match=r"^it is not a regular file"):
        read_network(tmp_path / "pipe")


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as target:
        target.truncate(2**40)  # a hole: takes no room on disk

    with pytest.raises(NetworkFileError, match="1,099,511,627,776 bytes, more than 268,435,456"):
        read_network(file)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    member=st.sampled_from(["format_string", "shapes", "dtype", "paths", "operands", "reference", "name"]), value=JSON
)
def test_any_json_in_any_member_is_read_or_refused_in_our_own_words(
    tmp_path_factory: pytest.TempPathFactory, member: str, value: object
) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        read_network(write(folder, PRODUCT | {member: value}))
    except NetworkFileError as error:
        assert str(error)


def test_what_is_shown_is_printable_and_short() -> None:
    assert printable("\x1b]0;title\x07\n") == '"\\u001b]0;title\\u0007\\n"'
    assert len(printable(list(range(10**5)))) <= 60
