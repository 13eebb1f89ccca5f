"""Exchange in memory: what each library takes from a tensor by a protocol, and what a tensor takes from it.

A library that is not installed has no ways. NumPy always has: arrays of the others are looked at through it, without a
copy, so that what is shared can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tensor_runtime as tr
from crossings.samples import Array, Sample, Way
from tensor_core import HostTensorView


class OnlyArray:
    """An object that has `__array__`, and nothing else."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._array


class OnlyInterface:
    """An object that has `__array_interface__`, and nothing else."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__


def ways() -> list[Way]:
    """Every protocol with every library that is installed."""
    found = [
        Way("DLPack", "NumPy", lambda _, x: _numpy(x), _taking(tr.from_dlpack)),
        Way("DLPack, host tensor", "NumPy", lambda one, _: _numpy(_host(one)), _of_host(_borrowed)),
        Way("`asarray`", "NumPy", lambda _, x: np.asarray(x), _taking(tr.asarray)),
        Way("`__array__`", "NumPy", lambda _, x: x.__array__(), _taking(lambda a: tr.asarray(OnlyArray(a)))),
        Way(
            "`__array_interface__`, host tensor",
            "NumPy",
            lambda one, _: np.asarray(_host(one)),
            _taking(lambda a: tr.asarray(OnlyInterface(a))),
        ),
        Way(
            "buffer, host tensor",
            "NumPy",
            lambda one, _: np.asarray(memoryview(_host(one))),  # from Python 3.12 on
            _taking(lambda a: tr.asarray(memoryview(a))),
        ),
    ]
    if find_spec("torch") is not None:
        found += _torch()
    if find_spec("jax") is not None:
        found += _jax()
    return found


def _torch() -> list[Way]:
    torch = import_module("torch")

    def theirs(array: Array) -> Any:
        if any(step < 0 for step in array.strides):  # which PyTorch does not have
            array = array.copy(order="F")
        return torch.from_numpy(array)

    return [
        Way(
            "DLPack",
            "PyTorch",
            lambda _, x: torch.from_dlpack(x).numpy(),
            _taking(tr.from_dlpack, theirs, lambda t: t.numpy()),
        ),
        Way(
            "`asarray`",
            "PyTorch",
            lambda _, x: torch.asarray(x).numpy(),
            _taking(tr.asarray, theirs, lambda t: t.numpy()),
        ),
    ]


def _jax() -> list[Way]:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    numpy = import_module("jax.numpy")
    return [
        Way(
            "DLPack",
            "JAX",
            lambda _, x: np.asarray(jax.dlpack.from_dlpack(x)),
            _taking(tr.from_dlpack, numpy.asarray, np.asarray),
        ),
        Way(
            "`asarray`",
            "JAX",
            lambda _, x: np.asarray(numpy.asarray(x)),
            _taking(tr.asarray, numpy.asarray, np.asarray),
        ),
    ]


def _taking(
    take: Callable[[Any], tr.Tensor],
    make: Callable[[Array], Any] = lambda array: array,
    seen: Callable[[Any], Array] = lambda array: array,
) -> Callable[[Sample], tuple[tr.Tensor, Array]]:
    def of(sample: Sample) -> tuple[tr.Tensor, Array]:
        theirs = make(sample.array)
        return take(theirs), seen(theirs)

    return of


def _borrowed(array: Array) -> tr.Tensor:
    return tr.asarray(HostTensorView.from_dlpack(array))


def _of_host(take: Callable[[Array], tr.Tensor]) -> Callable[[Sample], tuple[tr.Tensor, Array]]:
    return lambda sample: (take(sample.array), sample.array)


def _numpy(lender: Any) -> Array:
    """What NumPy takes by DLPack; its stub wants a type of the capsule that Python has no name for."""
    array: Array = np.from_dlpack(lender)
    return array


def _host(sample: Sample) -> HostTensorView[Any]:
    """The sample as a tensor of the core, which shares its memory."""
    return HostTensorView.borrow(sample.array)
