"""What every user types: operators, functions, reductions, scans, sorts and indexing, of small and large operands.

A row is written once, as NumPy's and our users write it, and once more for each library that calls it otherwise.
``axis`` stands for the axis that is named in row-major words.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final

from benchmarks import everyday_more
from benchmarks.rows import BEST, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "numexpr", "torch", "jax")
BOUND: Final = 1.1
TARGET: Final = Target(BEST, {1: BOUND, 2: BOUND})
ELEMENTS, REDUCTIONS, SCANS, ORDER, OTHERS = "elements", "reductions", "scans", "order and indexing", "others"
SIZES: Final = {"1e3": 1_000, "1e4": 10_000, "1e5": 100_000, "1e6": 1_000_000, "1e7": 10_000_000}
KINDS: Final = {"F64": "uniform", "F32": "uniform", "C64": "signed", "I64": "integers"}

_ARITHMETIC: Final = {"add": "x + y", "multiply": "x * y", "divide": "x / y"}
_FUNCTIONS: Final = ("exp", "log", "sin", "tanh", "sqrt")
_CONTEXT: Final = {
    "numpy": {
        "softmax": "(e := exp(x - max(x, axis=axis, keepdims=True))) / sum(e, axis=axis, keepdims=True)",
        "log_softmax": "(d := x - max(x, axis=axis, keepdims=True)) - log(sum(exp(d), axis=axis, keepdims=True))",
        "norm": "linalg.vector_norm(x, axis=axis)",
        "layer norm": "(x - mean(x, axis=axis, keepdims=True)) / sqrt(var(x, axis=axis, keepdims=True) + 1e-5)",
    },
    "torch": {
        "var": "var(x, dim=axis, correction=0)",
        "std": "std(x, dim=axis, correction=0)",
        "norm": "linalg.vector_norm(x, dim=axis)",
        "max": "amax(x, dim=axis)",
        "softmax": "softmax(x, dim=axis)",
        "log_softmax": "log_softmax(x, dim=axis)",
        "layer norm": "nn.functional.layer_norm(x, x.shape[-1:])",
    },
    "jax": {
        "norm": "linalg.vector_norm(x, axis=axis)",
        "softmax": "jax.nn.softmax(x, axis=axis)",
        "log_softmax": "jax.nn.log_softmax(x, axis=axis)",
        "layer norm": "(x - mean(x, axis=axis, keepdims=True)) / sqrt(var(x, axis=axis, keepdims=True) + 1e-5)",
    },
}
"""What a function is in another library, where it is not called by its name with ``x`` and ``axis``."""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    yield from _operators()
    yield from _functions()
    yield from _conversions()
    yield from _reductions()
    yield from _scans()
    yield from _order()
    yield from _others()
    yield from _further()
    for group, more in (
        (ELEMENTS, everyday_more.SMALL),
        (OTHERS, everyday_more.OTHERS),
        (REDUCTIONS, everyday_more.FOLDS),
    ):
        for one in more:
            yield _row(one.name, group, one.ours, one.operands, False, one.spelled())


def _operators() -> Iterator[Row]:
    for name, expression in _ARITHMETIC.items():
        for dtype in ("F64", "F32", "C64"):
            for size, count in SIZES.items():
                if dtype == "F64" or size in ("1e3", "1e5", "1e6"):
                    yield _row(f"{name} {dtype} {size}", ELEMENTS, expression, _same(2, count, dtype), True)
    chained = {"1e3": 1_000, "1e5": 100_000, "4e5": 400_000, "7e5": 700_000, "8e5": 800_000}
    for size, count in {**chained, "1e6": 1_000_000, "2e6": 2_000_000, "3e7": 30_000_000}.items():
        yield _row(f"2.5*x + 1.5*y F64 {size}", ELEMENTS, "2.5*x + 1.5*y", _same(2, count), True)
    yield _row("2.5*x + 1.5*y F32 1e6", ELEMENTS, "2.5*x + 1.5*y", _same(2, 1_000_000, "F32"), True)
    for size in ("1e3", "1e6"):
        expression = "exp(-x*x)*sin(y) + z"
        yield _row(f"{expression} F64 {size}", ELEMENTS, expression, _same(3, SIZES[size]), True)
    for size in ("1e3", "1e5", "1e6"):
        for expression in ("x + 2.0", "x < y", "maximum(x, y)", "where(x > 0.5, x, y)", "clip(x, 0.2, 0.7)"):
            count = 1 if "y" not in expression else 2
            given = {"torch": {"clip(x, 0.2, 0.7)": "clamp(x, 0.2, 0.7)"}.get(expression, expression)}
            known = "clip" not in expression and "max" not in expression
            yield _row(f"{expression} F64 {size}", ELEMENTS, expression, _same(count, SIZES[size]), known, given)
    for shape, other in (((300, 300), (1, 300)), ((2000, 2000), (1, 2000)), ((1000, 1000), (1000, 1))):
        yield _row(f"x * y F64 {_of(shape)} by {_of(other)}", ELEMENTS, "x * y", (Operand(shape), Operand(other)))


def _functions() -> Iterator[Row]:
    for name in _FUNCTIONS:
        for dtype in ("F64", "F32", "C64"):
            for size in ("1e3", "1e5", "1e6"):
                if dtype != "C64" or name != "log":
                    operands = _same(1, SIZES[size], dtype)
                    yield _row(f"{name} {dtype} {size}", ELEMENTS, f"{name}(x)", operands, dtype != "F32")
    for size in ("1e3", "1e6"):
        numpy = "0.5*x*(1 + tanh(0.7978845608028654*(x + 0.044715*x*x*x)))"
        given = {"": "gelu(x, approximate='tanh')", "numpy": numpy}
        given["torch"] = "nn.functional.gelu(x, approximate='tanh')"
        given["jax"] = "jax.nn.gelu(x, approximate=True)"
        yield _row(f"gelu F32 {size}", ELEMENTS, "", _same(1, SIZES[size], "F32"), False, given)


def _conversions() -> Iterator[Row]:
    for source in ("F64", "F32"):
        for target, names in (("I32", "int32"), ("I64", "int64")):
            for size in ("1e3", "1e5", "1e6"):
                given = {"": f"cast(x, {target})", "numpy": f"x.astype({names})", "torch": f"x.to({names})"}
                given["jax"] = f"x.astype({names})"
                operands = (Operand((SIZES[size],), "hundreds", source),)
                yield _row(f"cast {source} to {target} {size}", ELEMENTS, "", operands, False, given)
    for size in ("1e3", "1e6"):
        given = {"": "real(x) + imag(x)", "torch": "x.real + x.imag"}
        yield _row(f"real(x) + imag(x) C64 {size}", ELEMENTS, "", _same(1, SIZES[size], "C64"), False, given)


def _reductions() -> Iterator[Row]:
    shapes: tuple[tuple[int, ...], ...] = ((100_000, 10), (10, 100_000), (1000, 1000), (200, 150, 100))
    for name in ("sum", "mean", "max", "var", "norm", "argmax"):
        for shape in shapes:
            for axis in range(len(shape)):
                yield _along(name, shape, axis)
        for shape, axis in (((1000,), 0), ((3000, 3000), 0), ((3000, 3000), 1)):
            yield _along(name, shape, axis)
        yield _along(name, (1000, 1000), 1, "F32")
        # All axes; places are counted in another order here than in row-major libraries, but in a line.
        yield _along(name, (9_000_000,) if name == "argmax" else (3000, 3000), None)
    for name in ("sum", "norm"):
        for axis in (0, 1):
            yield _along(name, (1000, 1000), axis, "C64")
    for name, dtype in (("softmax", "F32"), ("softmax", "F64"), ("log_softmax", "F32"), ("layer norm", "F32")):
        for shape in ((64, 64), (4096, 1024), (100_000, 10)):
            yield _along(name, shape, 1, dtype)


def _scans() -> Iterator[Row]:
    lines: tuple[tuple[tuple[int, ...], int], ...] = (
        ((1000,), 0),
        ((1_000_000,), 0),
        ((100_000, 10), 1),
        ((10, 100_000), 0),
    )
    for shape, axis in lines:
        yield _along("cumsum", shape, axis)
    others: tuple[tuple[tuple[int, ...], int, str], ...] = (
        ((3000, 3000), 0, "F64"),
        ((3000, 3000), 1, "F64"),
        ((200, 150, 100), 1, "F64"),
        ((1000, 1000), 0, "C64"),
        ((1000, 1000), 1, "C64"),
        ((3000, 3000), 0, "F32"),
        ((1000, 1000), 1, "I64"),
    )
    for shape, axis, dtype in others:
        yield _along("cumsum", shape, axis, dtype)
    yield _along("cumprod", (1000, 1000), 1)


def _order() -> Iterator[Row]:
    for dtype in ("F64", "F32", "I64"):
        for size in ("1e3", "1e6"):
            operands = _same(1, SIZES[size], dtype)
            yield _row(f"sort {dtype} {size}", ORDER, "sort(x)", operands, False, {"torch": "sort(x)[0]"})
            given = {"numpy": "argsort(x, stable=True)", "torch": "argsort(x, stable=True)"}
            yield _row(f"argsort {dtype} {size}", ORDER, "argsort(x)", operands, False, given)
    for name in ("sort", "argsort"):
        for axis in (0, 1):
            yield _along(name, (1000, 1000), axis)
    many, wide = Operand((1_000_000,)), Operand((1000, 1000))
    taken = {"torch": "x[y]"}
    yield _row(
        "take 1e6 of 1e6", ORDER, "take(x, y, axis=0)", (many, Operand((10**6,), "below 1000000", "I64")), False, taken
    )
    pairs = (wide, Operand((1000,), "below 1000", "I64"))
    for axis in (0, 1):
        given = {"torch": f"index_select(x, {axis}, y)"}
        yield _row(
            f"take 1000 of 1000×1000, axis {1 - axis}", ORDER, "take(x, y, axis=axis)", pairs, False, given, axis
        )
        both = (wide, Operand((1000, 1000), "below 1000", "I64"))
        along = {"torch": "take_along_dim(x, y, dim=axis)"}
        name = f"take_along_axis 1000×1000, axis {1 - axis}"
        yield _row(name, ORDER, "take_along_axis(x, y, axis=axis)", both, False, along, axis)

    yield from _indexing()


def _indexing() -> Iterator[Row]:
    """Indexing by tensors, sums at indices, distinct elements: rows and columns change places in our words."""
    for size in ("1e3", "1e5", "1e6"):
        count = SIZES[size]
        line, places = Operand((count,)), Operand((count,), f"below {count}", "I64")
        yield _row(f"x[y] {size}", ORDER, "x[y]", (line, places))
        yield _row(f"x[x > 0.5] {size}", ORDER, "x[x > 0.5]", (line,))
        yield _row(f"searchsorted {size}", ORDER, "searchsorted(sort(x), x)", (line,), False, {"torch": _SEARCHED})
        for dtype in ("I64", "F64"):
            distinct = {"": "unique_values(x)"} | dict.fromkeys(("numpy", "torch", "jax"), "unique(x)")  # sorted
            yield _row(f"unique {dtype} {size}", ORDER, "", (Operand((count,), KINDS[dtype], dtype),), False, distinct)
        added = {"": 'scatter(x, y, z, mode="add")', "numpy": "bincount(y, weights=z, minlength=x.size) + x"}
        added |= {"torch": "x.index_add(0, y, z)", "jax": "x.at[y].add(z)"}
        yield _row(f"scatter add {size}", ORDER, "", (line, places, line), False, added)
    wide, many = Operand((1000, 1000)), Operand((500_000,), "below 1000", "I64")
    both = {"": "x[z, y]", "numpy": "x[y, z]", "torch": "x[y, z]", "jax": "x[y, z]"}
    yield _row("x[y, z] 5e5 of 1000×1000", ORDER, "", (wide, many, many), False, both)


_SEARCHED: Final = "searchsorted(sort(x)[0], x)"


def _others() -> Iterator[Row]:
    scaled = (Operand((1000, 1000)), Operand((1000, 1)))
    yield _row("x / sum along rows 1000×1000", OTHERS, "x / sum(x, axis=axis, keepdims=True)", (scaled[0],), axis=1)
    yield _row("scale rows 1000×1000", OTHERS, "x * y", scaled)
    yield _row("conj(x) * y C64 1e6", OTHERS, "conj(x) * y", _same(2, 1_000_000, "C64"))
    yield _row("sum(conj(x) * y) C64 1e6", OTHERS, "sum(conj(x) * y)", _same(2, 1_000_000, "C64"))
    yield _row("outer 2000×2000", OTHERS, "x * y", (Operand((2000, 1)), Operand((1, 2000))))
    yield _row("x.T + x 2000×2000", OTHERS, "x.T + x", (Operand((2000, 2000)),))
    yield _row("kron 40×40 by 40×40", OTHERS, "kron(x, y)", (Operand((40, 40)), Operand((40, 40))))


_FURTHER: Final[dict[str, dict[str, str]]] = {
    "abs(x) C64": {},
    "hypot(x, y) F64": {},
    "logaddexp(x, y) F64": {},
    "x // y F64": {},
    "x % y F64": {},
    "x % y F32": {},
    "x**0.5 F64": {},
    "x**3 F64": {},
    "relu(x) F64": {"numpy": "maximum(x, 0)", "jax": "jax.nn.relu(x)"},
    "mean(x) C64": {},
    "reversed copy F64": {"": "copy(x[::-1])", "numpy": "x[::-1].copy()", "torch": "flip(x, (0,))", "jax": "x[::-1]"},
    "every second F64": {"": "copy(x[::2])", "numpy": "x[::2].copy()", "torch": "x[::2].clone()", "jax": "x[::2]"},
    "repeat(x, 2) F64": {"torch": "repeat_interleave(x, 2)"},
    "pad(x, 1) F64": {"torch": "nn.functional.pad(x, (1, 1))"},
    "concatenate((x, y)) F64": {"torch": "cat((x, y))"},
    "diff(x) F64": {},
    "isclose(x, y) F64": {},
    "any(x < 0) F64": {},
}
"""What is seldom thought of, and how other libraries call it; ours is the name without its last word, unless given."""


def _further() -> Iterator[Row]:
    for name, spelled in _FURTHER.items():
        expression, dtype = name.rsplit(" ", 1)
        for size in ("1e3", "1e6"):
            given = {"": expression} | spelled
            operands = _same(1 + ("y" in given[""].replace("copy", "")), SIZES[size], dtype)
            yield _row(f"{name} {size}", OTHERS, expression, operands, False, given)


def _same(operands: int, count: int, dtype: str = "F64") -> tuple[Operand, ...]:
    return (Operand((count,), KINDS[dtype], dtype),) * operands


def _of(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _along(name: str, shape: tuple[int, ...], axis: int | None, dtype: str = "F64") -> Row:
    """A function along an axis."""
    called = {library: calls.get(name, f"{name}(x, axis=axis)") for library, calls in _CONTEXT.items()}
    ours = f"{name}(x, axis=axis)"
    if name == "layer norm":
        ours = "layer_norm(x, axis=axis)"
    if name == "sort":
        called["torch"] = "sort(x, dim=axis)[0]"
    if name == "argsort":
        called["numpy"], called["torch"] = "argsort(x, axis=axis, stable=True)", "argsort(x, dim=axis, stable=True)"
    if axis is None:
        ours = ours.replace("axis=axis", "axis=None")
        called = {library: call.replace("axis=axis", "axis=None") for library, call in called.items()}
    group = SCANS if name in ("cumsum", "cumprod") else ORDER if "sort" in name else REDUCTIONS
    where = "all axes" if axis is None else f"axis {len(shape) - 1 - axis}"
    words = f"{name} {dtype} {_of(shape)}, {where}"
    kept = 1.0 if group in (SCANS, ORDER) or name in ("softmax", "log_softmax", "layer norm") else 0.0
    kind = "signed" if name == "layer norm" else KINDS[dtype]  # what is near the mean cancels
    return _row(words, group, ours, (Operand(shape, kind, dtype),), False, called, axis, kept)


def _row(
    name: str,
    group: str,
    expression: str,
    operands: tuple[Operand, ...],
    numexpr: bool = False,
    spelled: dict[str, str] | None = None,
    axis: int | None = None,
    written: float = 1.0,
) -> Row:
    """A row; ``written`` is the size of the result beside that of the largest operand."""
    given: dict[str, Any] = {"spelled": {"": expression, **(spelled or {})}, "axis": axis}
    if numexpr:
        given["spelled"]["numexpr"] = expression
    largest = max(operand.bytes for operand in operands)
    if "outer" in name:
        largest = prod(max(extents) for extents in zip(*[operand.shape for operand in operands], strict=True)) * 8
    moved = sum(operand.bytes for operand in operands) + int(written * largest)
    single, exact = any(operand.dtype == "F32" for operand in operands), any(word in name for word in ("arg", "cast"))
    tolerance = 0.0 if exact else 2e-5 if single else 1e-11
    return Row(name, group, "everyday", operands, given, (TARGET,), Limit(moved=moved), tolerance)
