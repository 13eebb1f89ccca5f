"""Headers of ``.npy`` files: what is understood, and that everything else is refused before memory is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import DTypeError, FormatError, LoadError, LossyConversionError, TensorError
from tensor_core.files.npy_header import format_header, parse_header

Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    a = np.arange(12.0).reshape(3, 4)
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, a, version=version)
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == a.tolist()


@pytest.mark.parametrize(
    ("a", "found"),
    [
        (np.zeros(2, np.longdouble), "f16"),
        (np.zeros(2, "U3"), "<U3"),
        (np.zeros(2, "S3"), "|S3"),
        (np.zeros(2, "M8[s]"), "<M8[s]"),
    ],
    ids=str,
)
def test_other_dtypes_are_refused_with_both_names_of_those_accepted(a: Array, found: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", a)
    with pytest.raises(DTypeError) as caught:
        tr.load(tmp_path / "x.npy")
    assert found in str(caught.value)
    assert "F64 (float64, '<f8')" in str(caught.value)
    assert "C32 (complex64, '<c8')" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "wanted"), [("f2", "F32"), ("u1", "I32"), ("i1", "I64"), (">i2", "F64"), ("<u4", "I64"), (">u8", "F64")]
)
def test_types_that_are_none_of_ours_are_converted_on_request_only(name: str, wanted: str, tmp_path: Path) -> None:
    a = np.array([0, 1, 200, 3]).astype(name)
    np.save(tmp_path / "x.npy", a)
    with pytest.raises(DTypeError, match=rf"the elements are {a.dtype.name}, which is none of our dtypes; dtype='"):
        tr.load(tmp_path / "x.npy")
    with pytest.raises(LossyConversionError, match=r"Bool \(bool\) does not hold them; accepted: "):
        tr.load(tmp_path / "x.npy", dtype=tr.Bool)
    with pytest.raises(LoadError, match="which are converted when they are read, so they cannot be mapped; load it w"):
        tr.load(tmp_path / "x.npy", mmap=True, dtype=wanted)
    x = tr.load(tmp_path / "x.npy", dtype=wanted)
    assert x.dtype.name == wanted
    assert x.to_numpy().tolist() == a.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", tr.DTYPES, ids=str)
def test_either_byte_order_is_read(dtype: tr.DType, order: Any, tmp_path: Path) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype.numpy_name)
    for byteorder in "<>":
        np.save(tmp_path / "x.npy", np.array(a, a.dtype.newbyteorder(byteorder), order=order))
        x = tr.load(tmp_path / "x.npy")
        assert x.dtype is dtype
        assert x.to_numpy().tolist() == a.tolist()


def test_pickled_objects_and_records_are_refused_unread(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    np.save(tmp_path / "records.npy", np.zeros(2, [("a", "f8")]))
    with pytest.raises(DTypeError, match="'\\|O'"):
        tr.load(tmp_path / "objects.npy")
    with pytest.raises(DTypeError, match=r"are records; accepted: numbers of one type"):
        tr.load(tmp_path / "records.npy")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
        '{"descr":"<f8","fortran_order":False,"shape":(2,)}',
        "{'shape': (2L,), 'fortran_order': False, 'descr': '<f8', }  \n",
    ],
)
def test_the_dictionary_may_be_written_in_any_way_that_python_would(header: str) -> None:
    assert parse_header(header.encode(), "x")[1:] == (False, (2,), "C")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{}",
        "()",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} + {}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}; import os",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (02,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0x2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)\N{NO-BREAK SPACE}}",
        "{'descr': '<f8'\N{NO-BREAK SPACE}, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), \N{NO-BREAK SPACE}}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,\v)}",
        "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (2,)}",
        "{" * 5000,
        "(" * 9000 + "{}",
    ],
)
def test_every_other_header_is_refused(header: str) -> None:
    with pytest.raises(FormatError, match="accepted: a dictionary of 'descr'"):
        parse_header(header.encode("latin-1"), "x")


def test_a_shape_beyond_int64_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    for shape in [(2**62, 4), (2**62, 0, 2**62, 4), (2**60,)]:
        (tmp_path / "x.npy").write_bytes(format_header(tr.F64, shape))
        if 0 in shape:
            with pytest.raises(TensorError):
                tr.load(tmp_path / "x.npy")
        else:
            with pytest.raises(FormatError, match=r"beyond 2\*\*63 - 1 bytes|bytes of elements"):
                tr.load(tmp_path / "x.npy")


def test_a_rank_beyond_64_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(format_header(tr.F64, (1,) * 65) + bytes(8))
    with pytest.raises(FormatError, match="rank 65; accepted: up to 64"):
        tr.load(tmp_path / "x.npy")


def test_a_header_longer_than_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little"))
    with pytest.raises(FormatError, match=r"2147483648 bytes long; accepted: up to 10000"):
        tr.load(tmp_path / "x.npy")


@given(text=st.text(alphabet="{}()[]'\",: \\descrfotan_hpTuF<8L0123456789\n\x00é", max_size=200))
def test_any_text_as_a_header_gives_a_header_or_an_error_of_ours(text: str) -> None:
    try:
        parse_header(text.encode("latin-1"), "x")
    except (DTypeError, FormatError):
        pass


@pytest.mark.parametrize("text", ["|b0", "|b2", "|b12", "<b8", "|b²"])
def test_a_bool_has_one_byte(text: str) -> None:
    with pytest.raises(DTypeError, match=r"the elements of x are '.b"):
        parse_header(f"{{'descr': '{text}', 'fortran_order': False, 'shape': (2,)}}".encode("latin-1"), "x")
