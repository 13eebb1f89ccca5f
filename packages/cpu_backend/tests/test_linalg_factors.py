"""Routines of LAPACK through ``ctypes``: from whatever library there is, the same results; and batches of any shape."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from tensor_core import C64, F32, F64, I64
from tensor_core.errors import BackendUnavailableError, SizeLimitError
from tensor_cpu.kernels.linalg import elimination, factors
from tensor_cpu.system import lapack
from tensor_runtime.errors import NotConvergedError
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]


def forget() -> None:
    lapack.library.cache_clear()
    factors._work_size.cache_clear()


@pytest.fixture(params=["in use", "numpy", "scipy"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One library after the other."""
    if request.param != "in use":
        monkeypatch.setattr(lapack, "AVAILABLE", False)
    if request.param == "scipy":
        monkeypatch.setattr(lapack, "_opened", lambda path: None)
    forget()
    yield request.param
    forget()


def numbers(*shape: int) -> Array:
    rng = np.random.default_rng(shape)
    return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


@pytest.mark.parametrize("dtype", [F64, C64])
def test_each_library_gives_the_schur_vectors_and_pivots_of_the_matrix(library: str, dtype: Any) -> None:
    assert lapack.library().integer_bits == (32 if library == "scipy" else lapack.library().integer_bits)
    x = numbers(2, 4, 4)
    x = x if dtype is C64 else x.real
    form, order = form_of(dtype, (4, 4, 2), CPU), form_of(I64, (4, 2), CPU)
    t, z = (part.swapaxes(1, 2) for part in factors.bind("schur", (form,), (form, form), True)(x.swapaxes(1, 2)))
    lower, d, rows = factors.bind("ldl", (form,), (form, form, order), True)(x.swapaxes(1, 2))

    assert np.allclose(z @ t @ z.conj().swapaxes(1, 2), x, atol=1e-13)
    for k in range(2):
        below = np.tril(x[k], -1)
        full = below + below.conj().T + np.diag(np.diag(x[k]).real)
        whole = lower[k].T @ d[k].T @ lower[k].conj()
        assert np.allclose(whole, full[rows[k]][:, rows[k]], atol=1e-13)


def test_a_routine_that_the_library_lacks_is_named() -> None:
    with pytest.raises(BackendUnavailableError, match="LAPACK's dnothing is not in the library in use"):
        lapack.call("dnothing", 1)


def test_more_elements_than_the_library_counts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "limit", lambda: 15)
    form = form_of(F64, (4, 4), CPU)
    with pytest.raises(SizeLimitError, match=r"schur: matrices of shape \(4, 4\) need more elements"):
        factors.bind("schur", (form,), (form, form), True)


def test_an_iteration_without_end_names_the_matrix() -> None:
    form = form_of(F32, (1, 1, 2, 3), CPU)
    failing = iter([0, 0, 0, 0, 1])
    kernel = factors.stacked("schur", form, (form, form), True, lambda a, t, z: next(failing))
    with pytest.raises(NotConvergedError, match=r"at batch index \(0, 2\)") as info:
        kernel(np.ones((3, 2, 1, 1), np.float32))
    assert info.value.batch_index == (0, 2)


@pytest.mark.parametrize("complete", [False, True])
def test_elimination_of_many_matrices_is_that_of_each(complete: bool) -> None:
    count = 50
    x = numbers(count, 3, 4)
    form, rows, columns = form_of(C64, (4, 3, count), CPU), form_of(I64, (4, count), CPU), form_of(I64, (3, count), CPU)
    bind = elimination.bind_lu_complete if complete else partial(factors.bind, "lu_factor")
    result = (form, rows, columns) if complete else (form, rows)
    found = bind((form,), result, True)(x)
    one = form_of(C64, (4, 3), CPU)
    singles = (one, form_of(I64, (4,), CPU), form_of(I64, (3,), CPU))[: len(result)]
    for k in range(count):
        alone = bind((one,), singles, True)(x[k])
        assert np.allclose(found[0][k], alone[0], rtol=1e-12, atol=1e-13)
        assert all((part[k] == order).all() for part, order in zip(found[1:], alone[1:], strict=True))
    assert all(part.flags.c_contiguous and part.flags.writeable for part in found)
