"""Measures which driver decomposes which matrices fastest on a device, and makes the table that says so.

``python -m tensor_gpu.sweep cuda:0 -o drivers.json`` writes one; ``tr.backend("cuda").use_drivers("drivers.json")``
takes it. A driver that is not accurate on awkward matrices, of zeros or of rank 1, wins nothing, nor does one that
raises, which is named. Simulated devices are swept, too: that shows that it runs, and nothing about speed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby, pairwise, product
from math import inf, isqrt
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, I64, DType
from tensor_core.errors import ArgumentError
from tensor_core.files.atomic_write import write_atomically
from tensor_core.host.tensor import HostTensor
from tensor_gpu.kernels.linalg.drivers import takes
from tensor_gpu.tables.drivers import DRIVERS, Bounds, DriverTable, Rule
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.protocols import Backend

Array = np.ndarray[Any, Any]
Again = tuple[Array, list[Array]]
SIZES: Final = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
COUNTS: Final = (1, 4, 32, 256, 4096)
DTYPES: Final = (F32, F64, C32, C64)
MOST_BYTES: Final = 1 << 28
"""Of a stack; larger ones are left out, and count as the largest one that is measured."""
MOST_UNITS: Final = 40.0
"""Rounding units times extent by which residuals and orthogonality may be off."""
CALLS: Final = 3


@runtime_checkable
class SweptBackend(Backend[Any], Protocol):
    """Whose devices are swept: a backend that takes tables of drivers."""

    def use_drivers(self, table: DriverTable, placement: Placement, /) -> AbstractContextManager[object]:
        """Decompose by a table inside a ``with`` block; kernels are bound anew."""
        ...

    def wait_for(self, placement: Placement, /) -> None:
        """Wait for every stream of one device."""
        ...


class Case(NamedTuple):
    """Square matrices of one kind."""

    operation: str
    dtype: DType
    extent: int
    matrices: int


def sweep(
    place: str | Placement,
    /,
    *,
    operations: Sequence[str] = tuple(DRIVERS),
    dtypes: Sequence[DType] = DTYPES,
    sizes: Sequence[int] = SIZES,
    counts: Sequence[int] = COUNTS,
    seconds: float = inf,
    on_case: Callable[[int, int], object] | None = None,
    on_failure: Callable[[str], object] | None = None,
) -> DriverTable:
    """The table of the fastest drivers of a device that are accurate.

    Args:
        place: the device, such as "cuda:0".
        operations: which to measure: "svd", "eigh", "qr", "cholesky", "lu".
        dtypes: of which types.
        sizes: rows and columns, ascending.
        counts: matrices of a stack, ascending.
        seconds: after which no further case is begun; small matrices come first, and what is left out has no rule.
        on_case: called as ``on_case(done, total)`` after each case.
        on_failure: called with a line for each driver that raised, which then is not for that case.

    Returns:
        Rules whose bounds are the geometric means of the measured extents and counts; the last ones have no end.

    Raises:
        ArgumentError: a device of another backend, or nothing to measure.

    >>> sweep("sim:0", operations=["qr"], dtypes=[F64], sizes=[4], counts=[1, 3]).rules[0].operation
    'qr'
    """
    where = as_placement(place)
    backend: Any = registry.backend_for(where)
    cases = [
        Case(operation, dtype, extent, count)
        for extent, count, operation, dtype in product(sizes, counts, operations, dtypes)
    ]
    if not isinstance(backend, SweptBackend) or not cases or not {*operations} <= DRIVERS.keys():
        raise ArgumentError(
            f"sweep: found {place} and {len(cases)} cases of {', '.join(operations)}; accepted: a device of this "
            f"package, and sizes, counts and dtypes of {', '.join(DRIVERS)}",
            operation="sweep",
        )
    fastest: dict[Case, str | None] = {}
    accurate: dict[tuple[str, DType, int, bool, str], bool] = {}
    tell = on_failure or (lambda line: None)
    end = perf_counter() + seconds
    for done, case in enumerate(cases, 1):
        if done > 1 and perf_counter() > end:
            break
        fastest[case] = _fastest(backend, where, case, accurate, tell)
        if on_case is not None:
            on_case(done, len(cases))
    rules = [
        rule
        for operation, dtype in product(operations, dtypes)
        for rule in _rules(operation, dtype, sizes, counts, fastest)
    ]
    return DriverTable(rules, backend.describe()[f"{backend.name}:{where.device.ordinal if where.device else 0}"])


def _fastest(
    backend: SweptBackend,
    where: Placement,
    case: Case,
    accurate: dict[tuple[str, DType, int, bool, str], bool],
    tell: Callable[[str], object],
) -> str | None:
    """The driver of a case; None where the stack is too large, or no driver is accurate and runs."""
    operation, dtype, extent, count = case
    if extent * extent * count * dtype.itemsize > MOST_BYTES:
        return None
    best: tuple[float, str] | None = None
    for driver in DRIVERS[operation]:
        if not takes(extent, extent, count, driver):
            continue
        key = operation, dtype, extent, count > 1, driver
        try:
            if key not in accurate:
                accurate[key] = False  # if it raises, too
                accurate[key] = _is_accurate(backend, where, case, driver)
            seconds = _seconds(backend, where, case, driver) if accurate[key] else float("inf")
        except Exception as error:  # of whatever library: what the other drivers and cases give is kept
            tell(f"{_named(case)}: not by {driver}: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        if accurate[key] and (best is None or seconds < best[0]):
            best = seconds, driver
    return None if best is None else best[1]


def _named(case: Case) -> str:
    """A case in words.

    >>> _named(Case("qr", F64, 4, 3))
    'qr of 3 matrices of F64, 4 by 4'
    """
    operation, dtype, extent, count = case
    return f"{operation} of {count} matrices of {dtype.name}, {extent} by {extent}"


def matrices(operation: str, dtype: DType, extent: int, count: int, /) -> Array:
    """Drawn matrices [extent, extent, count]; the first is zero, the second of rank 1.

    Hermitian ones for "eigh", for "cholesky" their squares and as many times the identity as they have rows.

    >>> x = matrices("eigh", C64, 3, 4)
    >>> bool(np.all(x == x.conj().swapaxes(0, 1))), bool(x[:, :, 0].any())
    (True, False)
    """
    draw = np.random.default_rng(extent * 10007 + count)
    x = draw.standard_normal((extent, extent, count))
    if dtype.kind == "complex":
        x = x + 1j * draw.standard_normal(x.shape)
    if count > 1:
        x[:, :, 0] = 0
        column = x[:, :1, 1]
        x[:, :, 1] = column * (column.conj().T if operation == "eigh" else x[:1, :, 1])
    if operation == "eigh":
        x = x + x.conj().swapaxes(0, 1)
    elif operation == "cholesky":
        x = np.einsum("ijb,kjb->ikb", x, x.conj()) + extent * np.eye(extent)[:, :, None]
    return x.astype(dtype.numpy_name)


def _bound(
    backend: SweptBackend, where: Placement, case: Case, driver: str
) -> tuple[Callable[[Any], Any], Form, tuple[Form, ...]]:
    """The kernel by one driver, and the forms that it takes and makes."""
    operation, dtype, extent, count = case
    square, values = form_of(dtype, (extent, extent, count), where), form_of(dtype.component, (extent, count), where)
    forms: tuple[Form, ...] = {
        "svd": (square, values, square),
        "eigh": (values, square),
        "qr": (square, square),
        "cholesky": (square,),
        "lu": (square, form_of(I64, (extent, count), where)),
    }[operation]
    params = (False, "auto") if operation in ("svd", "eigh") else (False,)
    name, result = "lu_factor" if operation == "lu" else operation, forms if len(forms) > 1 else forms[0]
    with backend.use_drivers(DriverTable([Rule(operation, driver)]), where):
        return backend.bind(name, (square,), result, params), square, forms


def _up(backend: SweptBackend, given: Array, form: Form) -> Any:
    return backend.upload(HostTensor.wrap_bytes(bytearray(given.tobytes(order="F")), form.shape, form.dtype), form)


def _seconds(backend: SweptBackend, where: Placement, case: Case, driver: str) -> float:
    """The shortest of some calls, waited for; the first one, which compiles, is not counted."""
    kernel, form, _ = _bound(backend, where, case, driver)
    x = _up(backend, matrices(*case), form)
    best = float("inf")
    for call in range(CALLS + 1):
        begun = perf_counter()
        kernel(x)
        backend.wait_for(where)
        if call:
            best = min(best, perf_counter() - begun)
    return best


def _is_accurate(backend: SweptBackend, where: Placement, case: Case, driver: str) -> bool:
    """Whether awkward matrices are decomposed to a few rounding units: one after the other where stacks are of one."""
    given = matrices(case.operation, case.dtype, case.extent, 3)
    stacks = [given] if case.matrices > 1 else [given[:, :, place : place + 1] for place in range(3)]
    return all(_is_right(backend, where, case._replace(matrices=one.shape[2]), driver, one) for one in stacks)


def _is_right(backend: SweptBackend, where: Placement, case: Case, driver: str, given: Array) -> bool:
    kernel, form, forms = _bound(backend, where, case, driver)
    made = kernel(_up(backend, given, form))
    arrays = made if isinstance(made, tuple) else (made,)
    parts = [_down(backend, one, kind) for one, kind in zip(arrays, forms, strict=True)]
    x = _first(given)
    again, bases = _AGAIN[case.operation](*parts)
    most = MOST_UNITS * case.extent * float(np.finfo(case.dtype.numpy_name).eps)
    off = [np.abs(again - x).max() / (np.abs(x).max() or 1.0)]
    off += [np.abs(one.conj().swapaxes(1, 2) @ one - np.eye(case.extent)).max() for one in bases]
    return all(one <= most for one in off)  # of NaN it is not


def _of_svd(u: Array, s: Array, vh: Array) -> Again:
    return (u * s[:, None, :]) @ vh, [u, vh.conj().swapaxes(1, 2)]


def _of_eigh(w: Array, v: Array) -> Again:
    return (v * w[:, None, :]) @ v.conj().swapaxes(1, 2), [v]


def _of_lu(factors: Array, order: Array) -> Again:
    lower = np.tril(factors, -1) + np.eye(factors.shape[1])
    rows = np.argsort(order, axis=1)[:, :, None]
    return np.take_along_axis(lower @ np.triu(factors), rows, 1), []


_AGAIN: Final[Mapping[str, Callable[..., Again]]] = {
    "svd": _of_svd,
    "eigh": _of_eigh,
    "qr": lambda q, r: (q @ r, [q]),
    "cholesky": lambda lower: (lower @ lower.conj().swapaxes(1, 2), []),
    "lu": _of_lu,
}
"""The matrices, from what was made of them, and what of that has orthonormal columns."""


def _down(backend: SweptBackend, array: Any, form: Form) -> Array:
    raw = np.frombuffer(bytes(backend.download(array, form).raw), form.dtype.numpy_name)
    return _first(raw.reshape(form.shape, order="F"))


def _first(x: Array) -> Array:
    """With its batch axis first, in double precision."""
    return np.moveaxis(x.astype(np.result_type(x, np.float64)), -1, 0)


def _rules(
    operation: str, dtype: DType, sizes: Sequence[int], counts: Sequence[int], fastest: dict[Case, str | None]
) -> Iterator[Rule]:
    """Rules for one type: for each extent, counts of the same driver joined."""
    for extent, extents in zip(sizes, _bounds(sizes, 0), strict=True):
        cells: list[tuple[str, Bounds]] = []
        for count, bounds in zip(counts, _bounds(counts, 1), strict=True):
            driver = fastest.get(Case(operation, dtype, extent, count))
            if driver is not None:
                cells.append((driver, bounds))
            elif cells:
                cells.append((cells[-1][0], bounds))
        for driver, group in groupby(cells, key=lambda cell: cell[0]):
            joined = [bounds for _, bounds in group]
            yield Rule(operation, driver, (dtype.name,), extents, (joined[0][0], joined[-1][1]))


def _bounds(points: Sequence[int], least: int) -> list[Bounds]:
    """What belongs to each of some ascending numbers: up to the geometric mean of it and the next one.

    >>> _bounds((8, 32, 128), 0)
    [(0, 16), (17, 64), (65, None)]
    """
    ends = [isqrt(one * other) for one, other in pairwise(points)]
    return list(zip([least, *(end + 1 for end in ends)], [*ends, None], strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep one device, and write its table."""
    parser = argparse.ArgumentParser(prog="python -m tensor_gpu.sweep", description=__doc__)
    parser.add_argument("device", help="such as cuda:0")
    parser.add_argument("-o", "--output", type=Path, default=Path("drivers.json"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS)
    options = parser.parse_args(arguments)
    tell = partial(print, end="\r", flush=True)
    table = sweep(
        options.device,
        sizes=sorted(options.sizes),
        counts=sorted(options.counts),
        on_case=lambda done, total: tell(f"{done} of {total}"),
        on_failure=print,
    )
    write_atomically(str(options.output), [table.to_json().encode()])
    print(f"saved {options.output}, {len(table.rules)} rules, digest {table.digest}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
