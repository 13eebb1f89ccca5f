"""Conformance cases of products over trailing batch axes, beside sums in plain Python; exact for whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool
from tensor_core.errors import ShapeError
from tensor_linalg.bridges import batch_first, batch_last
from tensor_linalg.products import matmul, matvec, mH, mT, outer, vecdot
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, broadcast_index, tabulated, whole_numbers

_BATCHES: Final = (((), ()), ((2,), (2,)), ((2, 3), (2, 3)), ((), (2, 3)), ((2, 1), (3,)), ((0,), (1,)))
_ULPS: Final = 1  # exact for whole numbers; the sign of a zero is free
_DTYPES: Final = (F32, F64, C32, C64, I32, I64, Bool)


class Product(NamedTuple):
    """Axes of the operands and of the result, before those of the batch: rows m, inner axis k, columns n."""

    function: Callable[[Tensor, Tensor], Tensor]
    a: str
    b: str
    result: str
    conjugates: bool = False


def cases() -> Iterator[Case]:
    """Every case of a product."""
    for product in PRODUCTS:
        for m, k, n in ((2, 3, 2), (1, 0, 3)):
            for batches in _BATCHES:
                yield _value(product, {"m": m, "k": k, "n": n}, *batches)
        for dtype in _DTYPES:
            a, b = _operands(product, {"m": 2, "k": 3, "n": 2}, (2,), (2,), dtype)
            yield _case(product, str(dtype), a, b)
        a, b = _operands(product, {"m": 2, "k": 3, "n": 2}, (2,), (3,), F64)
        yield refused(_name(product.function), "batches that differ", (a, b), product.function, ShapeError)
        scalar = whole_numbers((), F64)
        yield refused(_name(product.function), "too few axes", (scalar, b), product.function, ShapeError)
        if "k" in product.b:
            a, b = whole_numbers((2, 3)[: len(product.a)], F64), whole_numbers((4, 2)[: len(product.b)], F64)
            yield refused(_name(product.function), "inner extents differ", (a, b), product.function, ShapeError)
    for function, conjugates in ((mT, False), (mH, True)):
        for shape in ((2, 3), (2, 3, 2), (0, 2), (1, 1, 2, 2)):
            for dtype in (F64, C64, I64):
                a = whole_numbers(shape, dtype)
                label = f"{dtype} shape {shape}"
                expected = partial(_exchanged, a, conjugates)
                view = not (conjugates and dtype is C64)
                yield Case(_name(function), label, (a,), function, expected, shares=view)
        yield refused(_name(function), "rank 1", (whole_numbers((3,), F64),), function, ShapeError)
    a = whole_numbers((2, 3, 4, 1), F64)
    for bridge, moved in ((batch_first, (1, 2, 3, 0)), (batch_last, (3, 0, 1, 2))):
        for n, axes in ((0, (0, 1, 2, 3)), (3, moved)):
            call = partial(lambda bridge, n, a: bridge(a, n), bridge, n)
            yield Case(_name(bridge), str(n), (a,), call, partial(_permuted, a, axes), shares=True)
        yield refused(_name(bridge), "too few axes", (a,), partial(lambda bridge, a: bridge(a, 5), bridge), ShapeError)


def _permuted(a: Host, axes: Index) -> Host:
    return tabulated([a.shape[axis] for axis in axes], a.dtype, lambda k: a[tuple(k[axes.index(i)] for i in range(4))])


def _name(function: Callable[..., Any]) -> str:
    return f"linalg.{function.__name__}"


def _operands(
    product: Product, extents: dict[str, int], batch_a: Index, batch_b: Index, dtype: Any
) -> tuple[Host, ...]:
    a = whole_numbers((*(extents[axis] for axis in product.a), *batch_a), dtype)
    b = whole_numbers((*(extents[axis] for axis in product.b), *batch_b), dtype, start=-2, modulus=7)
    return a, b


def _value(product: Product, extents: dict[str, int], batch_a: Index, batch_b: Index) -> Case:
    a, b = _operands(product, extents, batch_a, batch_b, F64)
    return _case(product, f"shapes {a.shape} and {b.shape}", a, b)


def _case(product: Product, label: str, a: Host, b: Host) -> Case:
    return Case(_name(product.function), label, (a, b), product.function, partial(_expected, product, a, b), _ULPS)


def _expected(product: Product, a: Host, b: Host) -> Host:
    extents = {**dict(zip(product.a, a.shape, strict=False)), **dict(zip(product.b, b.shape, strict=False))}
    batch_a, batch_b = a.shape[len(product.a) :], b.shape[len(product.b) :]
    rank = max(len(batch_a), len(batch_b))
    wide = [(1,) * (rank - len(batch)) + batch for batch in (batch_a, batch_b)]
    batch = tuple(n if m == 1 else m for m, n in zip(*wide, strict=True))

    def rule(index: Index) -> Any:
        at = dict(zip(product.result, index, strict=False))
        place = index[len(product.result) :]
        terms = []
        for k in range(extents.get("k", 1)):
            at["k"] = k
            x = a[(*(at[axis] for axis in product.a), *broadcast_index(place, batch_a))]
            y = b[(*(at[axis] for axis in product.b), *broadcast_index(place, batch_b))]
            if product.conjugates and a.dtype.kind == "complex":
                x = x.conjugate()
            terms.append(x and y if a.dtype is Bool else x * y)
        return any(terms) if a.dtype is Bool else sum(terms)

    return tabulated((*(extents[axis] for axis in product.result), *batch), a.dtype, rule)


def _exchanged(a: Host, conjugates: bool) -> Host:
    def rule(index: Index) -> Any:
        element = a[index[1], index[0], *index[2:]]
        return element.conjugate() if conjugates else element

    return tabulated((a.shape[1], a.shape[0], *a.shape[2:]), a.dtype, rule)


PRODUCTS: Final = (
    Product(matmul, "mk", "kn", "mn"),
    Product(matvec, "mk", "k", "m"),
    Product(vecdot, "k", "k", "", conjugates=True),
    Product(outer, "m", "n", "mn"),
)
