"""The libraries that are compared: how each takes an array, computes, and is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
import opt_einsum

import tensor_linalg as tl
import tensor_runtime as tr
from gpu_reporting import clocks
from gpu_reporting.clocks import Clock
from gpu_reporting.verdicts import in_cell
from tensor_einsum import einsum, plan
from tensor_runtime.placement import as_placement

Run = Callable[..., Any]
DRIVERS: Final = (None, "gesvd", "gesvdj", "gesvda")
"""Of PyTorch's ``svd``."""
FACTORS: Final = ("cholesky", "svd", "eigh", "qr", "solve")
"""Calls on matrices: elsewhere the axes of a batch come first."""


class Library(NamedTuple):
    """How to compute with one library."""

    take: Callable[[Any], Any]  # from a NumPy array
    einsum: Run
    calls: Mapping[str, Run]
    wait: Callable[[Any], object]  # for the result of a call
    give: Callable[[Any], Any] = np.asarray  # to a NumPy array
    leading: bool = True  # whether the axes of a batch come first
    clock: Clock = clocks.host()
    peak: Callable[[Run], int] | None = None  # bytes that a call needs at its most, beside its operands

    def taken(self, call: str, operands: Sequence[Any], /) -> list[Any]:
        """Operands of a call, where and as this library has them."""
        first = self.leading and call.removeprefix("best ") in FACTORS
        return [self.take(np.ascontiguousarray(np.moveaxis(x, (0, 1), (-2, -1))) if first else x) for x in operands]


@cache
def order(equation: str, *shapes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The order of a contraction, the same for every library."""
    return list(plan(equation, *shapes).path)


def ours(place: str, /) -> Library:
    """Our own, at a placement."""

    def contract(equation: str, *operands: tr.Tensor) -> tr.Tensor:
        if len(operands) < 3:
            return einsum(equation, *operands)
        return einsum(equation, *operands, optimize=order(equation, *(x.shape for x in operands)))

    calls: dict[str, Run] = {
        "copy": tr.copy,
        "add": tr.add,
        "cast": lambda x: tr.cast(x, tr.F32),
        "sum": lambda x: tr.sum(x, axis=0),
        "max": tr.max,
        **{name: getattr(tl, name) for name in FACTORS},
        "best svd": tl.svd,
    }
    return Library(
        lambda x: tr.to(tr.asarray(x), place),
        contract,
        calls,
        lambda y: tr.synchronize(place),
        lambda y: tr.to(y, "cpu").to_numpy(),
        leading=False,
        clock=_our_clock(place),
        peak=partial(_our_peak, place),
    )


def _our_clock(place: str) -> Clock:
    """Events on our stream, where CuPy gives it to us; a simulated device has none."""
    if not _installed("cupy") or not hasattr(tr.backend(place), "cupy"):
        return clocks.host()
    backend: Any = tr.backend(place)
    stream = backend.executor(as_placement(place)).stream()
    return clocks.of_cupy(import_module("cupy"), backend.api.handle(stream))


def _our_peak(place: str, call: Run) -> int:
    pool: Any = tr.backend(place).pool(as_placement(place))  # type: ignore[attr-defined]
    pool.reset_peak()
    before = pool.stats().used
    result = call()
    tr.synchronize(place)
    del result
    return int(pool.stats().peak - before)


def torch() -> Library | None:
    """PyTorch on its first GPU, in full precision."""
    if not _installed("torch"):
        return None
    xp: Any = import_module("torch")
    if not xp.cuda.is_available():
        return None
    xp.backends.cuda.matmul.allow_tf32 = False
    calls: dict[str, Run] = {
        "copy": xp.clone,
        "add": xp.add,
        "cast": lambda x: x.float(),
        "sum": lambda x: xp.sum(x, 0),
        "max": xp.max,
        **_factors(xp),
        "best svd": _BestDriver(xp),
    }
    return Library(
        lambda x: xp.from_numpy(x).cuda(),
        lambda equation, *x: _contracted(xp, equation, *x).contiguous(),
        calls,
        lambda y: xp.cuda.synchronize(),
        lambda y: y.cpu().numpy(),
        clock=clocks.of_torch(xp),
        peak=partial(_torch_peak, xp),
    )


def _torch_peak(xp: Any, call: Run) -> int:
    xp.cuda.synchronize()
    before = xp.cuda.memory_allocated()
    xp.cuda.reset_peak_memory_stats()
    result = call()
    xp.cuda.synchronize()
    del result
    return int(xp.cuda.max_memory_allocated() - before)


class _BestDriver:
    """PyTorch's singular values by whichever of its drivers was the fastest of the second calls.

    >>> from types import SimpleNamespace as Space
    >>> asked = []
    >>> linalg = Space(svd=lambda x, full_matrices, driver: asked.append(driver))
    >>> best = _BestDriver(Space(linalg=linalg, cuda=Space(synchronize=lambda: None)))
    >>> best(None)
    >>> len(asked), set(asked) == set(DRIVERS)
    (9, True)
    """

    def __init__(self, xp: Any) -> None:
        self._xp = xp
        self._driver: str | None = None
        self._chosen = False

    def __call__(self, x: Any) -> Any:
        """As ``svd``; the first call tries the drivers."""
        if not self._chosen:
            times: dict[str | None, float] = {}
            for driver in DRIVERS:
                for _ in range(2):
                    begin = perf_counter()
                    self._xp.linalg.svd(x, full_matrices=False, driver=driver)
                    self._xp.cuda.synchronize()
                    times[driver] = perf_counter() - begin
            self._driver, self._chosen = min(times, key=times.__getitem__), True
        return self._xp.linalg.svd(x, full_matrices=False, driver=self._driver)


def jax() -> Library | None:
    """JAX, compiled, where its first device is a GPU."""
    if not _installed("jax"):
        return None
    xla: Any = import_module("jax")
    xla.config.update("jax_enable_x64", True)
    xla.config.update("jax_default_matmul_precision", "highest")
    if xla.default_backend() != "gpu":
        return None
    xp: Any = import_module("jax.numpy")
    calls: dict[str, Run] = {
        "copy": xla.jit(xp.copy),
        "add": xla.jit(xp.add),
        "cast": xla.jit(lambda x: x.astype("float32")),
        "sum": xla.jit(lambda x: x.sum(0)),
        "max": xla.jit(xp.max),
        **{name: xla.jit(call) for name, call in _factors(xp).items()},
    }
    return Library(xla.device_put, xla.jit(partial(_contracted, xp), static_argnums=0), calls, xla.block_until_ready)


def cupy() -> Library | None:
    """CuPy by itself."""
    if not _installed("cupy"):
        return None
    xp: Any = import_module("cupy")
    if not xp.cuda.is_available():
        return None
    calls: dict[str, Run] = {
        "copy": lambda x: x.copy(),
        "add": xp.add,
        "cast": lambda x: x.astype("float32"),
        "sum": lambda x: x.sum(0),
        "max": xp.max,
        **_factors(xp),
    }
    return Library(
        xp.asarray,
        lambda equation, *x: xp.ascontiguousarray(_contracted(xp, equation, *x)),
        calls,
        lambda y: xp.cuda.get_current_stream().synchronize(),
        xp.asnumpy,
        clock=clocks.of_cupy(xp),
    )


def cutensor() -> Library | None:
    """cuTENSOR by CuPy's binding: permutations, and contractions of pairs, into memory that is there already."""
    if not _installed("cupy") or not _installed("cupyx.cutensor"):
        return None
    xp: Any = import_module("cupy")
    if not xp.cuda.is_available():
        return None
    return Library(
        xp.asarray,
        _TensorLibrary(xp, import_module("cupyx.cutensor")),
        {},
        lambda y: xp.cuda.get_current_stream().synchronize(),
        xp.asnumpy,
        clock=clocks.of_cupy(xp),
    )


class _TensorLibrary:
    """Einsums of one operand or two by cuTENSOR.

    >>> from types import SimpleNamespace as Space
    >>> permute = lambda alpha, a, mode_a, gamma, c, mode_c, out: (a.shape, mode_a, c.shape, mode_c)
    >>> library = _TensorLibrary(np, Space(elementwise_binary=permute))
    >>> library("ij->ji", np.zeros((2, 3)))
    ((2, 3), 'ij', (3, 2), 'ji')
    """

    def __init__(self, xp: Any, library: Any) -> None:
        self._xp, self._library = xp, library
        self._made: dict[tuple[Any, ...], Any] = {}

    def __call__(self, equation: str, *operands: Any) -> Any:
        """What the equation says."""
        terms, output = equation.split("->")
        inputs = terms.split(",")
        target = self._target(inputs, output, operands)
        if len(operands) == 1:
            return self._library.elementwise_binary(1.0, operands[0], terms, 0.0, target, output, out=target)
        if len(operands) > 2:
            raise NotImplementedError(equation)
        a, b = operands
        return self._library.contraction(1.0, a, inputs[0], b, inputs[1], 0.0, target, output)

    def _target(self, inputs: Sequence[str], output: str, operands: Sequence[Any]) -> Any:
        extents = {
            label: extent
            for term, x in zip(inputs, operands, strict=True)
            for label, extent in zip(term, x.shape, strict=True)
        }
        key = (*inputs, output, *extents.values(), str(operands[0].dtype))
        if key not in self._made:
            self._made[key] = self._xp.zeros([extents[label] for label in output], operands[0].dtype)
        return self._made[key]


PEERS: Final[Mapping[str, Callable[[], Library | None]]] = {
    "PyTorch": torch,
    "JAX": jax,
    "CuPy": cupy,
    "cuTENSOR": cutensor,
}


def _contracted(xp: Any, equation: str, *operands: Any) -> Any:
    if len(operands) < 3:
        return xp.einsum(equation, *operands)
    path = order(equation, *(tuple(x.shape) for x in operands))
    return opt_einsum.contract(equation, *operands, optimize=path)


def _factors(xp: Any) -> dict[str, Run]:
    found: dict[str, Run] = {name: getattr(xp.linalg, name) for name in FACTORS}
    thin: Run = lambda x: xp.linalg.svd(x, full_matrices=False)  # noqa: E731
    return {**found, "svd": thin, "best svd": thin}


def _installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def built(make: Callable[[], Library | None], /) -> tuple[Library | None, str]:
    """A library, or None where it is not here or cannot be used; and what it said in the latter case, or "".

    >>> built(lambda: None), built(lambda: [][0])
    ((None, ''), (None, 'IndexError: list index out of range'))
    """
    try:
        return make(), ""
    except Exception as problem:  # of a library that is not ours: it is left out, and the others are compared
        return None, in_cell(f"{type(problem).__name__}: {problem}")
