"""Cases of ``tensor_runtime.ops.joining``: only places of elements change, so the bits are exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F64, I32, I64, Bool
from tensor_core.errors import ArgumentError, AxisError, ShapeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_core.scalar_conversion import convert_scalar
from tensor_runtime.ops import joining
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

_SHAPES: Final = ((), (3,), (2, 3), (2, 0, 3), (2, 3, 2))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x, y = whole_numbers((2, 3), dtype), whole_numbers((2, 2), dtype, 1)
        yield _joined(str(dtype), (x, y), 1)
        yield _stacked(str(dtype), (x, x), 1)
        yield from _moved(str(dtype), x, 1)
    for shape in _SHAPES:
        x = whole_numbers(shape, F64)
        for axis in (None, *range(-x.rank, x.rank)):
            yield from _moved(f"{shape} axis {axis}", x, axis)
        yield _joined(f"lines of {shape}", (x, x), None)
        for axis in range(-x.rank - 1, x.rank + 1):
            yield _stacked(f"{shape} axis {axis}", (x, x, x), axis)
    yield _joined("one", (whole_numbers((2, 3), F64),), 0)
    yield _joined("some empty", tuple(whole_numbers((n, 2), F64) for n in (2, 0, 1)), -2)
    mixed = (whole_numbers((2,), Bool), whole_numbers((2,), I32), whole_numbers((1,), F64))
    yield _joined("mixed dtypes", mixed, 0)
    yield _stacked("mixed dtypes", mixed[:2], 0)
    yield from _splits()
    yield from _rolls()
    yield from _refusals()


def _joined(label: str, operands: Sequence[Host], axis: int | None) -> Case:
    dtype = promote(*[one.dtype for one in operands])

    def expected() -> Host:
        parts = [_line(one) for one in operands] if axis is None else operands
        place = 0 if axis is None else axis % parts[0].rank
        whole = [(one, position) for one in parts for position in range(one.shape[place])]
        shape = list(parts[0].shape)
        shape[place] = len(whole)

        def rule(index: Index) -> Any:
            one, position = whole[index[place]]
            return convert_scalar(one[(*index[:place], position, *index[place + 1 :])], one.dtype, dtype)

        return tabulated(shape, dtype, rule)

    return Case("concatenate", label, tuple(operands), lambda *t: joining.concatenate(t, axis), expected)


def _stacked(label: str, operands: Sequence[Host], axis: int) -> Case:
    dtype, shape = promote(*[one.dtype for one in operands]), operands[0].shape
    place = axis % (len(shape) + 1)

    def rule(index: Index) -> Any:
        one = operands[index[place]]
        return convert_scalar(one[(*index[:place], *index[place + 1 :])], one.dtype, dtype)

    result = (*shape[:place], len(operands), *shape[place:])
    return Case(
        "stack",
        label,
        tuple(operands),
        lambda *t: joining.stack(t, axis),
        partial(tabulated, result, dtype, rule),
    )


def _line(x: Host) -> Host:
    """All elements in row-major order."""
    return HostTensor.from_flat([x[index] for index in sorted(indices(x.shape))], (x.size,), x.dtype)


def _taken(x: Host, axis: int, positions: Sequence[int]) -> Host:
    """The elements at positions along an axis."""
    shape = (*x.shape[:axis], len(positions), *x.shape[axis + 1 :])
    return tabulated(shape, x.dtype, lambda index: x[(*index[:axis], positions[index[axis]], *index[axis + 1 :])])


def _moved(label: str, x: Host, axis: int | None) -> Iterator[Case]:
    """``repeat``, ``tile`` and ``reverse`` along one axis, or over all of them."""
    line = x.size if axis is None else x.shape[axis]
    for repeats in (2, 0, tuple(position % 3 for position in range(line))):
        counts = repeats if isinstance(repeats, tuple) else (repeats,) * line

        def repeated(counts: Sequence[int] = counts) -> Host:
            positions = [position for position, count in enumerate(counts) for _ in range(count)]
            return _taken(_line(x), 0, positions) if axis is None else _taken(x, axis % x.rank, positions)

        yield Case("repeat", f"{label} {repeats}", (x,), _call(joining.repeat, repeats, axis), repeated)
    for times in ((2,), (0, 2), (2, 1, 2, 1)) if axis is None else ((3,) + (1,) * (-1 - axis % -x.rank),):
        yield Case("tile", f"{label} {times}", (x,), _call(joining.tile, times), partial(_tiled, x, times))

    def turned() -> Host:
        found = x
        for one in range(x.rank) if axis is None else (axis % x.rank,):
            found = _taken(found, one, range(found.shape[one] - 1, -1, -1))
        return found

    yield Case("reverse", label, (x,), _call(joining.reverse, axis), turned, shares=True)


def _call(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    return lambda x: function(x, *arguments)


def _tiled(x: Host, times: Sequence[int]) -> Host:
    rank = max(x.rank, len(times))
    extents = (1,) * (rank - x.rank) + x.shape
    each = (1,) * (rank - len(times)) + tuple(times)

    def rule(index: Index) -> Any:
        place = tuple(i % n for i, n in zip(index, extents, strict=True))
        return x[place[rank - x.rank :]]

    return tabulated([n * k for n, k in zip(extents, each, strict=True)], x.dtype, rule)


def _splits() -> Iterator[Case]:
    x = whole_numbers((4, 6), F64)
    rows: tuple[tuple[str, Any, int, Index], ...] = (  # label, sections, axis, where the parts begin and end
        ("3 parts", 3, 1, (0, 2, 4, 6)),
        ("1 part", 1, 0, (0, 4)),
        ("at indices", (1, 4), -1, (0, 1, 4, 6)),
        ("beyond the end", (2, 9), 0, (0, 2, 4, 4)),
        ("at no index", (), 1, (0, 6)),
    )
    for label, sections, axis, cuts in rows:
        call, expected = _call(joining.split, sections, axis), partial(_parts, x, axis % 2, cuts)
        yield Case("split", label, (x,), call, expected, shares=True)


def _parts(x: Host, axis: int, cuts: Index) -> tuple[Host, ...]:
    return tuple(_taken(x, axis, range(*pair)) for pair in pairwise(cuts))


def _rolls() -> Iterator[Case]:
    for dtype in DTYPES:
        yield _rolled(str(dtype), whole_numbers((2, 3), dtype), (1,), (1,))
    x = whole_numbers((2, 3, 4), F64)
    for shifts, axes in (
        ((-1,), (0,)),
        ((5, -6), (1, 2)),
        ((1, 1, 1), (0, 1, 2)),
        ((3,), (-1,)),
        ((0,), (1,)),
        ((1, 2, 3), (0, -1, 0)),
        ((), ()),
    ):
        yield _rolled(f"{shifts} over {axes}", x, shifts, axes)
    for shape in _SHAPES:
        one = whole_numbers(shape, F64)
        for shift in (2, -7):

            def around(one: Host = one, shift: int = shift) -> Host:
                line = _line(one).to_flat()
                turned = [line[(position - shift) % len(line)] for position in range(len(line))]
                return HostTensor.from_flat(turned, one.shape, one.dtype, order="C")

            yield Case("roll", f"{shape} by {shift} as a line", (one,), _call(joining.roll, shift), around)


def _rolled(label: str, x: Host, shifts: Sequence[int], axes: Sequence[int]) -> Case:
    def rule(index: Index) -> Any:
        place = list(index)
        for shift, axis in zip(shifts, axes, strict=True):
            place[axis] = (place[axis] - shift) % x.shape[axis]
        return x[tuple(place)]

    call = _call(joining.roll, tuple(shifts), tuple(axes))
    return Case("roll", label, (x,), call, partial(tabulated, x.shape, x.dtype, rule))


def _refusals() -> Iterator[Case]:
    x, vector, scalar = whole_numbers((2, 3), F64), whole_numbers((3,), I64), whole_numbers((), I64)
    one: tuple[tuple[str, str, Host, Callable[..., Any], type[TensorError]], ...] = (
        ("concatenate", "nothing", x, lambda t: joining.concatenate([]), ArgumentError),
        ("concatenate", "axis out of range", x, lambda t: joining.concatenate([t], 2), AxisError),
        ("concatenate", "rank 0", scalar, lambda t: joining.concatenate([t, t]), AxisError),
        ("stack", "nothing", x, lambda t: joining.stack([]), ArgumentError),
        ("stack", "axis out of range", x, lambda t: joining.stack([t], 3), AxisError),
        ("split", "unequal parts", x, _call(joining.split, 4), ArgumentError),
        ("split", "rank 0", scalar, _call(joining.split, 1), AxisError),
        ("repeat", "too few numbers", vector, _call(joining.repeat, (1, 2)), ArgumentError),
        ("repeat", "a negative number", vector, _call(joining.repeat, -1), ArgumentError),
        ("tile", "a negative number", vector, _call(joining.tile, -1), ArgumentError),
        ("roll", "too many shifts", x, _call(joining.roll, (1, 2), (0, 1, 0)), ArgumentError),
        ("reverse", "axis out of range", x, _call(joining.reverse, 2), AxisError),
    )
    for name, label, operand, call, error in one:
        yield refused(name, label, (operand,), call, error)
    unequal = (x, whole_numbers((3, 2), F64))
    yield refused("concatenate", "unequal extents", unequal, lambda *t: joining.concatenate(t), ShapeError)
    yield refused("stack", "unequal shapes", unequal, lambda *t: joining.stack(t), ShapeError)
