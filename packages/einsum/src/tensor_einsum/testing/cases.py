"""Conformance cases of einsum: sums of products of small whole numbers, by the definition, exact in every dtype."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import TensorError
from tensor_core.promotion import promote
from tensor_core.scalar_conversion import convert_scalar
from tensor_einsum.api import einsum, plan
from tensor_einsum.errors import ExtentError, PathError, SubscriptsError
from tensor_einsum.execution.room import lean_product
from tensor_runtime.algebras import MAX_PLUS, MIN_PLUS
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import form_of
from tensor_runtime.tensors.tensor import Number, Tensor, wrap
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

Labels = Sequence[Hashable]
_ROWS: Final[tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]] = (
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,jk->ki", ((2, 3), (3, 4))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ba", ((2, 3),)),
    ("i,i->", ((4,), (4,))),
    ("i,j->ij", ((2,), (3,))),
    ("ijb,jkb->ikb", ((2, 3, 4), (3, 2, 4))),
    ("bij,bjk->bik", ((4, 2, 3), (4, 3, 2))),
    ("ij->ji", ((2, 3),)),
    ("ijk->j", ((2, 3, 2),)),
    ("ij->", ((2, 3),)),
    ("ii->", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("iji->ij", ((3, 2, 3),)),
    ("i->ii", ((3,),)),
    ("ij->iji", ((2, 3),)),
    ("ii,i->ii", ((3, 3), (3,))),
    ("ij,ij->ij", ((2, 3), (2, 3))),
    ("i,i,i->i", ((3,), (3,), (3,))),
    ("ai,bi,ci->abc", ((2, 3), (2, 3), (2, 3))),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("ij,(jk,kl)->il", ((2, 3), (3, 4), (4, 2))),
    ("ab,bc,cd,da->", ((2, 3), (3, 2), (2, 3), (3, 2))),
    ("ij,kl->jl", ((2, 3), (4, 2))),
    ("ij,jk->ik", ((2, 1), (3, 4))),
    ("ij,ij->i", ((2, 3), (1, 1))),
    ("->", ((),)),
    (",->", ((), ())),
    (",ij->ij", ((), (2, 3))),
    ("ij,jk->ik", ((2, 0), (0, 3))),
    ("ij,jk->ik", ((0, 2), (2, 3))),
    ("ij->j", ((0, 3),)),
    ("ii->i", ((0, 0),)),
    ("i->ii", ((0,),)),
    ("...ij,...jk->...ik", ((2, 2, 3), (2, 3, 2))),
    ("...ij,jk->...ik", ((2, 1, 2, 3), (3, 2))),
    ("i...->...", ((2, 3, 2),)),
    ("αβ,βγ->αγ", ((2, 3), (3, 2))),
)
_SIGNED_ZEROS: Final = 1
"""Rounding units allowed: whole numbers come out exact, but a zero may have either sign."""
_IN_EVERY_DTYPE: Final = (0, 6, 10, 11, 12, 14, 17, 19)
"""Rows of a product, a batch, a sum, a trace, a diagonal, an embedding, an elementwise product and a hyper-edge."""
_MIXED: Final = ((I32, F32), (F32, C64), (Bool, I64), (F64, F32), (C32, F64))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for notation, shapes in _ROWS:
        yield _case(f"{notation} {shapes}", notation, shapes, [F64] * len(shapes))
    for row in _IN_EVERY_DTYPE:
        notation, shapes = _ROWS[row]
        for dtype in DTYPES:
            yield _case(f"{notation} {dtype}", notation, shapes, [dtype] * len(shapes))
    for dtypes in _MIXED:
        yield _case(f"{dtypes[0]} {dtypes[1]}", *_ROWS[0], dtypes)
    a, b, c = (whole_numbers(shape, F64) for shape in ((2, 3), (3, 4), (4, 2)))
    listed = (("row", 1), (1, (2,)), ("row", (2,)))
    expected = partial(summed, F64, [("i", "j"), ("j", "k")], ("i", "k"), [a, b])
    yield Case(
        "einsum",
        "label lists",
        (a, b),
        lambda x, y: einsum(x, listed[0], y, listed[1], listed[2]),
        expected,
        _SIGNED_ZEROS,
    )
    chain = partial(summed, F64, [("i", "j"), ("j", "k"), ("k", "l")], ("i", "l"), [a, b, c])
    for label, path in (("as written", False), ("a path", [(0, 2), (0, 1)])):
        call = partial(einsum, "ij,jk,kl->il", optimize=path)
        yield Case("einsum", f"ordered {label}", (a, b, c), call, chain, _SIGNED_ZEROS)
    yield from _in_algebras(a, b)
    yield from _conjugated()
    yield from _without_copies()
    matrices = (a, b, c)
    for labels in ("j", "il", "ijkl"):
        yield Case("einsum", f"slices of {labels}", matrices, partial(_in_slices, labels), chain, _SIGNED_ZEROS)
    yield _refused("a label that nobody has", "ij->iz", (a,), SubscriptsError)
    yield _refused("more terms than operands", "ij,jk->ik", (a,), ExtentError)
    yield _refused("more labels than axes", "ijk->i", (a,), ExtentError)
    yield _refused("unequal extents", "ij,ij->", (a, b), ExtentError)
    yield _refused("a diagonal of unequal extents", "ii->i", (a,), ExtentError)
    bad = partial(einsum, "ij,jk->ik", optimize=[(0, 3)])
    yield refused("einsum", "a path to no operand", (a, b), bad, PathError)


def _in_algebras(a: Host, b: Host) -> Iterator[Case]:
    """Largest and smallest sums; whole numbers are exact in every order."""
    for algebra, best in ((MAX_PLUS, max), (MIN_PLUS, min)):
        rows: tuple[tuple[str, tuple[Host, ...], Index, Any], ...] = (
            ("ij,jk->ik", (a, b), (2, 4), partial(_of_pairs, best, a, b)),
            ("ij->i", (a,), (2,), partial(_of_rows, best, a)),
            ("ij->iij", (a,), (2, 2, 3), partial(_on_diagonal, algebra.zero_of(F64), a)),
        )
        for notation, operands, shape, rule in rows:
            call, expected = partial(einsum, notation, algebra=algebra), partial(tabulated, shape, F64, rule)
            yield Case("einsum", f"{notation} {algebra.name}", operands, call, expected, _SIGNED_ZEROS)


def _of_pairs(best: Any, a: Host, b: Host, at: Index) -> Any:
    return best(a[at[0], k] + b[k, at[1]] for k in range(a.shape[1]))


def _of_rows(best: Any, a: Host, at: Index) -> Any:
    return best(a[at[0], k] for k in range(a.shape[1]))


def _on_diagonal(zero: Number, a: Host, at: Index) -> Any:
    return a[at[0], at[2]] if at[0] == at[1] else zero


def _conjugated() -> Iterator[Case]:
    a, b = whole_numbers((2, 3), C64), whole_numbers((3, 4), C64)
    for conj in ((0,), (1,), (0, 1)):
        parts = [_conj(one) if place in conj else one for place, one in enumerate((a, b))]
        expected = partial(summed, C64, ["ij", "jk"], "ik", parts)
        call = partial(einsum, "ij,jk->ik", conj=conj)
        yield Case("einsum", f"conjugated {conj}", (a, b), call, expected, _SIGNED_ZEROS)


def _without_copies() -> Iterator[Case]:
    for dtype in (F64, C32, I64):
        a, b = whole_numbers((2, 3), dtype), whole_numbers((3, 4), dtype, start=2)
        expected = partial(summed, dtype, ["ij", "jk"], "ik", [a, b])
        yield Case("einsum", f"without copies, {dtype.name}", (a, b), _lean, expected, _SIGNED_ZEROS)


def _lean(a: Tensor, b: Tensor) -> Tensor:
    """A product of matrices by a kernel that copies nothing, or by any where the backend has none."""
    read, params = (a._form, b._form), ContractParams((0, 1), (1, 2), (0, 2))
    result = form_of(a.dtype, (a.shape[0], b.shape[1]), a.placement)
    kernel = lean_product(read, result, params) or registry.bind("contract", read, result, params)
    return wrap(result, kernel(a._array, b._array))


def _conj(host: Host) -> Host:
    return tabulated(host.shape, host.dtype, lambda index: host[index].conjugate())


def summed(dtype: DType, inputs: Sequence[Labels], output: Labels, operands: Sequence[Host], /) -> Host:
    """The definition: for each place of the labels a product of elements, added where the output's labels point.

    An axis of extent 1 does not depend on its label; a place that no labels point to is zero.

    >>> x = whole_numbers((2,), I64)
    >>> summed(I64, ["i"], "ii", [x]).to_nested()
    [[-3, 0], [0, 2]]
    """
    extents: dict[Hashable, int] = {}
    for labels, host in zip(inputs, operands, strict=True):
        for label, extent in zip(labels, host.shape, strict=True):
            extents[label] = extent if extents.get(label, 1) == 1 else extents[label]
    totals: dict[Index, Any] = {}
    for place in indices(tuple(extents.values())):
        at = dict(zip(extents, place, strict=True))
        product: Any = 1
        for labels, host in zip(inputs, operands, strict=True):
            index = tuple(0 if n == 1 else at[label] for label, n in zip(labels, host.shape, strict=True))
            product *= convert_scalar(host[index], host.dtype, dtype)
        where = tuple(at[label] for label in output)
        totals[where] = totals.get(where, 0) + product
    return tabulated([extents[label] for label in output], dtype, lambda index: totals.get(index, 0))


def _in_slices(labels: str, *operands: Any) -> Any:
    return plan("ij,jk,kl->il", *operands).with_slices(labels)(*operands)


def _case(label: str, notation: str, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[DType]) -> Case:
    operands = tuple(
        whole_numbers(shape, dtype, start=position - 3)
        for position, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    )
    inputs, output = _written_out(notation, [len(shape) for shape in shapes])
    expected = partial(summed, promote(*dtypes), inputs, output, operands)
    return Case("einsum", label, operands, partial(einsum, notation), expected, _SIGNED_ZEROS)


def _written_out(notation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Labels of every operand and of the output, without parentheses and ellipses."""
    left, arrow, right = notation.replace("(", "").replace(")", "").partition("->")
    terms = left.split(",")
    spans = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    stars = [f"*{axis}" for axis in range(max([0, *spans]))]  # aligned at the last axis, as broadcasting is
    inputs = [_labels(term, stars[len(stars) - span :]) for term, span in zip(terms, spans, strict=True)]
    if arrow:
        return inputs, _labels(right, stars)
    written = [label for labels in inputs for label in labels]
    return inputs, sorted(label for label in set(written) if written.count(label) == 1)


def _labels(term: str, stars: Sequence[str]) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, *(stars if dots else ()), *after]


def _refused(label: str, notation: str, operands: tuple[Host, ...], error: type[TensorError]) -> Case:
    return refused("einsum", label, operands, partial(einsum, notation), error)
