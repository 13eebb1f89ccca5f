"""Rows of what every user types that nobody had listed and that were slow when they were tried: some are mended.

Ours counts axes from the other end, as everywhere in these rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from benchmarks.rows import Operand


class More(NamedTuple):
    """One expression in each library's words; other peers' are NumPy's, where they are left out."""

    name: str
    operands: tuple[Operand, ...]
    ours: str
    numpy: str = ""
    torch: str = ""
    jax: str = ""

    def spelled(self) -> dict[str, str]:
        """The words by library; "" has ours.

        >>> More("x + 1", (), "x + 1").spelled()["torch"]
        'x + 1'
        """
        numpy = self.numpy or self.ours
        return {"": self.ours, "numpy": numpy, "torch": self.torch or numpy, "jax": self.jax or numpy}


def _x(*shape: int, dtype: str = "F64", kind: str = "") -> Operand:
    kinds = {"F64": "uniform", "F32": "uniform", "C64": "signed", "Bool": "truths"}
    return Operand(shape, kind or kinds.get(dtype, "below 1000"), dtype)


_TEN, _LITTLE, _LINE, _LONG = _x(10), _x(1000), _x(100_000), _x(1_000_000)
_MATRIX, _POINTS = _x(1000, 1000), _x(100_000, 3)
_WHOLE: Final = _x(1000, dtype="I64")

SMALL: Final = (
    More("x > 0.5 F64 10", (_TEN,), "x > 0.5"),
    More("x > 0.5 F64 1e3", (_LITTLE,), "x > 0.5"),
    More("isnan(x) F32 1e3", (_x(1000, dtype="F32"),), "isnan(x)"),
    More("floor(x) F64 1e3", (_LITTLE,), "floor(x)"),
    More("x & y I64 1e3", (_WHOLE, _WHOLE), "x & y"),
    More("x | y Bool 1e3", (_x(1000, dtype="Bool"),) * 2, "x | y"),
    More("x * y I64 by F64 1e3", (_WHOLE, _LITTLE), "x * y"),
    More("x / 2 I64 1e3", (_WHOLE,), "x / 2"),
    More("x % 7 I64 1e3", (_WHOLE,), "x % 7"),
    More("count_nonzero(x > 0.5) F64 1e3", (_LITTLE,), "count_nonzero(x > 0.5)"),
    More("zeros(1000) F32", (_TEN,), "zeros(1000, dtype=F32)", "zeros(1000, dtype=float32)"),
    More("zeros((300, 300)) F64", (_TEN,), "zeros((300, 300))", "", "zeros((300, 300), dtype=float64)"),
    More("arange(10)", (_TEN,), "arange(10)"),
    More("linspace(0, 1, 100)", (_TEN,), "linspace(0, 1, 100)", "", "linspace(0, 1, 100, dtype=float64)"),
    More("exp2(x) F64 10", (_TEN,), "exp2(x)"),
    More("x ** y F64 10", (_TEN, _TEN), "x ** y"),
    More("x % y I64 1e3", (_WHOLE, _WHOLE), "x % y"),
    More("x[[1, 3, 5]] F64 1e3", (_LITTLE,), "x[[1, 3, 5]]", "", "", "x[array([1, 3, 5])]"),
    More(
        "x[y] = 0 F64 five of 1e3",
        (_LITTLE, _x(5, dtype="I64", kind="below 500")),
        "(mutable_view(x).__setitem__(y, 0.0), x)[1]",
        "(x.__setitem__(y, 0.0), x)[1]",
        "",
        "x.at[y].set(0.0)",
    ),
    More("x[x > 0.5] F64 10×10", (_x(10, 10),), "x.T[x.T > 0.5]", "x[x > 0.5]"),
    More("swapaxes(x, 0, 1) F64 10×10", (_x(10, 10),), "swapaxes(x, 0, 1)"),
    More("eye(10)", (_TEN,), "eye(10)", "", "eye(10, dtype=float64)"),
)
"""Where the call is most of the time."""

OTHERS: Final = (
    More("rsqrt(x) F64 1e5", (_LINE,), "rsqrt(x)", "1 / sqrt(x)", "rsqrt(x)", "jax.lax.rsqrt(x)"),
    More("log2(x) F64 1e5", (_LINE,), "log2(x)"),
    More("round(x, 2) F64 1e5", (_LINE,), "round(x, 2)", "", "round(x, decimals=2)"),
    More("cast Bool to C64 1e5", (_x(100_000, dtype="Bool"),), "cast(x, C64)", "x.astype(complex128)",
         "x.to(complex128)"),
    More("cast C64 to Bool 1e5", (_x(100_000, dtype="C64"),), "cast(x, Bool)", "x.astype(bool_)", "x.to(bool)"),
    More("x[::2] + y[::2] F64 1e6", (_LONG, _LONG), "x[::2] + y[::2]"),
    More("x.T + 1 F64 1000×1000", (_MATRIX,), "x.T + 1"),
    More("x * y F32 100×100×100 by 1×100×1", (_x(100, 100, 100, dtype="F32"), _x(1, 100, 1, dtype="F32")), "x * y"),
    More("x[:] = 0 F64 1e5", (_LINE,), "(mutable_view(x).__setitem__(slice(None), 0.0), x)[1]",
         "(x.__setitem__(slice(None), 0.0), x)[1]", "", "x.at[:].set(0.0)"),
    More("x[::2] = 1 F64 1e5", (_LINE,), "(mutable_view(x).__setitem__(slice(None, None, 2), 1.0), x)[1]",
         "(x.__setitem__(slice(None, None, 2), 1.0), x)[1]", "", "x.at[::2].set(1.0)"),
    More("x[y] = 0 F64 50 rows of 500×500", (_x(500, 500), _x(50, dtype="I64", kind="below 500")),
         "(mutable_view(x).__setitem__((slice(None), y), 0.0), x)[1]", "(x.__setitem__(y, 0.0), x)[1]", "",
         "x.at[y].set(0.0)"),
    More("isin(x, y) I64 1e5 in 100", (_x(100_000, dtype="I64"), _x(100, dtype="I64")), "isin(x, y)"),
    More("concatenate 100 of 1e3", (_LITTLE,), "concatenate([x] * 100)", "", "cat([x] * 100)"),
    More("tile(x, (10, 10)) F64 30×30", (_x(30, 30),), "tile(x, (10, 10))"),
)  # fmt: skip

FOLDS: Final = (
    More("mean I32 1000×1000, axis 1", (_x(1000, 1000, dtype="I32"),), "mean(x, axis=0)", "mean(x, axis=1)",
         "mean(x.to(float64), dim=1)", "mean(x, axis=1, dtype=float64)"),
    More("mean I64 100×100×100, axis 1", (_x(100, 100, 100, dtype="I64"),), "mean(x, axis=1)", "",
         "mean(x.to(float64), dim=1)"),
    More("mean Bool 1000×1000, axis 1", (_x(1000, 1000, dtype="Bool"),), "mean(x, axis=0)", "mean(x, axis=1)",
         "mean(x.to(float64), dim=1)", "mean(x, axis=1, dtype=float64)"),
    More("std I64 100×100×100, axis 1", (_x(100, 100, 100, dtype="I64"),), "std(x, axis=1)", "",
         "std(x.to(float64), dim=1, correction=0)"),
    More("any F64 100000×3, axis 0", (_POINTS,), "any(x, axis=1)", "any(x, axis=0)"),
    More("argmax F64 100000×3, axis 0", (_POINTS,), "argmax(x, axis=1)", "argmax(x, axis=0)"),
    More("argmax F64 10000×100, axis 1", (_x(10_000, 100),), "argmax(x, axis=0)", "argmax(x, axis=1)"),
    More("argmax F64 of x.T 1000×1000, axis 0", (_MATRIX,), "argmax(x.T, axis=1)", "argmax(x.T, axis=0)"),
    More("sum of every second column 1000×1000", (_MATRIX,), "sum(x[::2], axis=0)", "sum(x[:, ::2], axis=1)"),
    More("sum(x[::2]) F64 1e6", (_LONG,), "sum(x[::2])"),
    More("cumsum F64 100000×3, axis 0", (_POINTS,), "cumsum(x, axis=1)", "cumsum(x, axis=0)"),
    More("cumsum C64 100000×3, axis 1", (_x(100_000, 3, dtype="C64"),), "cumsum(x, axis=0)", "cumsum(x, axis=1)"),
    More("vecdot F32 1000×100", (_x(1000, 100, dtype="F32"),) * 2, "vecdot(x, y, axis=0)", "vecdot(x, y)",
         "linalg.vecdot(x, y)"),
)  # fmt: skip
