"""Transfers between the host and devices read and fill the host's memory where it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.host.tensor import HostTensor

DTYPES = ("float32", "float64", "int32", "int64", "bool", "complex64", "complex128")


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The CPU backend, which copies nothing by itself."""

    def copies(*given: object) -> None:
        raise AssertionError("the CPU backend copies")

    backend = tr.backend("cpu")
    monkeypatch.setattr(type(backend), "upload", copies)
    monkeypatch.setattr(type(backend), "download", copies)
    return backend


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_a_compact_tensor_goes_and_comes_without_a_copy_by_the_cpu(shape: tuple[int, ...], dtype: str) -> None:
    array = np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3, dtype, order="F")
    expected = array.tolist()
    there = tr.to(tr.asarray(array), "sim")
    array[...] = 1
    again = tr.to(there, "cpu")
    assert (again.dtype.numpy_name, again.shape, again.to_numpy().tolist()) == (dtype, shape, expected)
    tr.mutable_view(again)[...] = again == again  # its memory is its own, and may be written
    assert tr.to(there, "cpu").to_numpy().tolist() == expected


def test_what_has_gaps_goes_as_it_is_seen() -> None:
    array = np.arange(24.0).reshape(4, 6, order="F")
    for seen in (array[::2, ::-1], array.T, np.broadcast_to(array[:, :1], (4, 3))):
        x = tr.asarray(np.asfortranarray(array))
        view = {(2, 6): x[::2, ::-1], (6, 4): x.T, (4, 3): tr.broadcast_to(x[:, :1], (4, 3))}[seen.shape]
        assert tr.to(tr.to(view, "sim"), "cpu").to_numpy().tolist() == seen.tolist()


def test_foreign_bytes_of_bool_arrive_as_0_and_1() -> None:
    x = tr.asarray(np.array([0, 1, 7, 255], np.uint8).view(bool))
    assert bytes(tr.download(tr.to(x, "sim")).raw) == b"\0\1\1\1"


def test_a_host_tensor_shares_the_memory_of_an_array(cpu: Any) -> None:
    x = tr.asarray(np.arange(4.0))
    shared: HostTensor[Any] = cpu.share(x.buffer.array, x._form)
    tr.mutable_view(x)[2] = 9.0
    assert shared.to_nested() == [0.0, 1.0, 9.0, 3.0]
    assert cpu.adopt(shared, x._form)[2] == 9.0
