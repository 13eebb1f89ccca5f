"""What the type checker knows of dtypes: mistakes of dtypes are found, correct programs pass, and it tells no lies."""

from __future__ import annotations

import re
from pathlib import Path

import tensor_runtime as tr
from static_types import check_marked_errors, run_other_lines, type_checked
from tensor_core import DTYPES, TensorError

PROGRAM = """
import numpy as np
from tensor_core import C32, C64, F32, F64, I32, I64, Bool
import tensor_runtime as tr

x32: tr.TypedTensor[F32] = tr.zeros((2, 2), dtype=F32)
x64: tr.TypedTensor[F64] = tr.zeros((2, 2))
z64: tr.TypedTensor[C64] = tr.full((2, 2), 1j, dtype=C64)
z32: tr.TypedTensor[C32] = tr.convert(x32, C32)
i64: tr.TypedTensor[I64] = tr.ones(2, dtype=I64)
i32: tr.TypedTensor[I32] = tr.cast(x64, I32)
mask: tr.TypedTensor[Bool] = tr.less(x64, 1.0)
some: tr.Tensor = tr.asarray([[1.0, 2.0], [3.0, 4.0]])
drawn: tr.TypedTensor[F64] = tr.uniform(3, seed=1)
dice: tr.TypedTensor[I64] = tr.integers(3, 1, 7, seed=1)
named: tr.Tensor = tr.zeros(2, dtype="F32")
known: tr.TypedTensor[F64] = tr.typed(some, F64)
total: tr.TypedTensor[F64] = x64 + known
scaled: tr.TypedTensor[F32] = 2.0 * x32 - 1
whole: tr.TypedTensor[I64] = i64 * 2
turned: tr.TypedTensor[C64] = z64 * 1j
ratio: tr.TypedTensor[F64] = i64 / 2
wave: tr.TypedTensor[F32] = tr.sin(tr.exp(x32))
root: tr.TypedTensor[F64] = tr.sqrt(i32)
length: tr.TypedTensor[F32] = tr.abs(z32)
spread: tr.TypedTensor[F64] = tr.std(z64)
count: tr.TypedTensor[I64] = tr.sum(mask)
mean: tr.TypedTensor[F64] = tr.mean(i64)
largest: tr.TypedTensor[I32] = tr.max(i32)
where: tr.TypedTensor[I64] = tr.argmax(x64)
product: tr.TypedTensor[F32] = x32 @ x32
dotted: tr.TypedTensor[C64] = tr.matmul(z64, z64)
joined: tr.TypedTensor[F64] = tr.concatenate([x64, known])
chosen: tr.TypedTensor[F64] = tr.where(mask, x64, 0.0)
row: tr.TypedTensor[F64] = x64[0]
tall: tr.TypedTensor[F32] = x32.reshape(4, 1)
flipped: tr.TypedTensor[F32] = x32.T
traced: tr.TypedTensor[F64] = tr.einsum("ii->", x64)
contracted: tr.TypedTensor[C64] = tr.einsum("ij,jk->ik", z64, z64, optimize="greedy")
mixed: tr.Tensor = x32 + x64
fallen: tr.Tensor = i64 + 0.5
writable: tr.TypedTensorViewMut[F64] = tr.mutable_view(x64)
writable += 1.0
writable *= x64
kept: tr.TypedTensorViewMut[F64] = tr.add(x32, x32, out=writable)
given: tr.TypedTensor[C64] = tr.exp(x64, out=z64)
halves: tuple[tr.TypedTensor[F64], ...] = tr.split(x64, 2)
parts: tr.TypedTensor[F64] = tr.real(z64)

two, half, turn = np.int64(2), np.float32(0.5), np.complex64(1j)
weak: tr.TypedTensor[F64] = x64 * half
reflected: tr.TypedTensor[F32] = half * x32
power: tr.TypedTensor[I64] = i64 ** two
rotated: tr.TypedTensor[C64] = turn * z64
shifted: tr.Tensor = x64 + turn
selected: tr.TypedTensor[F64] = tr.where(mask, x64, half)
largest_of: tr.Tensor = tr.maximum(x64, half)
filled: tr.TypedTensor[F32] = tr.full((2, two), half, F32)
counted: tr.Tensor = tr.arange(two)
spaced: tr.Tensor = tr.linspace(half, two, 3)
square: tr.TypedTensor[F64] = tr.zeros((two, two))
along: tr.TypedTensor[F64] = tr.sum(square, axis=two - 1)
turned_by: tr.TypedTensor[F64] = tr.roll(square, two, axis=two - 1)
stacked: tr.TypedTensor[F64] = tr.stack([square, square], axis=two)
spread_out: tr.TypedTensor[F64] = tr.broadcast_to(square, (two, 2, 2))
reshaped: tr.TypedTensor[F64] = square.reshape(two * 2)

def normalized(v: tr.TypedTensor[F64]) -> tr.TypedTensor[F64]:
    return v / tr.norm(v)

unit: tr.TypedTensor[F64] = normalized(x64 + 1.0)

b01: tr.TypedTensor[F64] = tr.zeros(2, dtype=F32)  # error: another dtype was asked for
b02: tr.TypedTensor[F32] = tr.zeros(2)  # error: the default is F64
b03: tr.TypedTensor[F32] = tr.full(2, 1.0, dtype=F64)  # error: another dtype was asked for
b04: tr.TypedTensor[F64] = tr.convert(x64, F32)  # error: converted to F32
b05: tr.TypedTensor[F64] = tr.cast(x64, I32)  # error: cast to I32
b06: tr.TypedTensor[F32] = tr.typed(some, F64)  # error: F64 is what was checked
b07: tr.TypedTensor[F64] = x32 + x32  # error: F32 stays F32
b08: tr.TypedTensor[F64] = x32 + x64  # error: two dtypes meet
b09: tr.TypedTensor[F32] = x32 * z32  # error: two dtypes meet
b10: tr.TypedTensor[F64] = 2.0 * x32  # error: a number is weak
b11: tr.TypedTensor[I64] = i64 * 0.5  # error: an integer tensor cannot hold the float
b12: tr.TypedTensor[I64] = i64 / i64  # error: a quotient of integers is F64
b13: tr.TypedTensor[F64] = z64 + 1.0  # error: C64 stays C64
b14: tr.TypedTensor[F64] = tr.exp(x32)  # error: F32 stays F32
b15: tr.TypedTensor[I64] = tr.exp(i64)  # error: exp of integers is F64
b16: tr.TypedTensor[C64] = tr.abs(z64)  # error: a magnitude is real
b17: tr.TypedTensor[F64] = tr.abs(z32)  # error: the magnitude of C32 is F32
b18: tr.TypedTensor[F64] = tr.less(x64, x64)  # error: a comparison is Bool
b19: tr.TypedTensor[Bool] = tr.sum(mask)  # error: a sum of Bool is I64
b20: tr.TypedTensor[I32] = tr.sum(i32)  # error: a sum of I32 is I64
b21: tr.TypedTensor[I64] = tr.mean(i64)  # error: a mean of integers is F64
b22: tr.TypedTensor[C64] = tr.norm(z64)  # error: a norm is real
b23: tr.TypedTensor[F64] = tr.argmin(x64)  # error: a position is I64
b24: tr.TypedTensor[F64] = x64 @ x32  # error: two dtypes meet
b25: tr.TypedTensor[F64] = tr.tensordot(x32, x32)  # error: F32 stays F32
b26: tr.TypedTensor[F64] = tr.stack([x32, x32])  # error: F32 stays F32
b27: tr.TypedTensor[F64] = tr.where(mask, x32, 0.0)  # error: F32 beside a number
b28: tr.TypedTensor[F64] = x32[0]  # error: elements of a view have its dtype
b29: tr.TypedTensor[F64] = x32.T  # error: a transpose has its dtype
b30: tr.TypedTensor[F64] = x32.reshape(4)  # error: a reshape has its dtype
b31: tr.TypedTensor[F64] = tr.einsum("ij,jk->ik", x32, x32)  # error: F32 stays F32
b32: tr.TypedTensor[F64] = tr.einsum("ij,jk->ik", x32, x64)  # error: two dtypes meet
b33: tr.TypedTensorViewMut[F32] = tr.mutable_view(x64)  # error: a view of F64
b34: tr.TypedTensor[F32] = tr.add(x32, x32, out=x64)  # error: out is what comes back
b35: tr.TypedTensor[F64] = some  # error: nobody has checked its dtype
b36: tr.TypedTensor[F64] = tr.uniform(3, seed=1, dtype=F32)  # error: another dtype was asked for
b37: tr.TypedTensor[F64] = normalized(x32)  # error: the function takes F64
b38 = tr.zeros(2, dtype=64)  # error: no dtype
b39 = tr.sum(x64, axes=0)  # error: no such parameter
b40 = x64 + "1"  # error: text is no operand
b41 = tr.exp([1.0])  # error: a list is no tensor
b42: tr.TypedTensor[F64] = tr.real(z32)  # error: a part of C32 is F32
b43 = tr.maximum(x64, np.ones(2))  # error: an array is no number, and no tensor
b44: tr.TypedTensor[I64] = i64 * half  # error: an integer tensor cannot hold the float
b45 = tr.zeros((2, half))  # error: an extent is a whole number
"""

UNARY = """abs any all argmax argmin argsort ceil conj copy cos cumprod cumsum erf exp expand_dims(_,0) floor imag isnan
log logical_not max mean min negative norm permute_axes(_,(1,0)) prod real relu repeat(_,2) reshape_view(_,(4,)) reverse
roll(_,1) round sigmoid sign sin softmax sort sqrt squeeze std sum take(_,tr.tensor([0]),0) tanh tile(_,2) trace
transpose tril trunc unique_values var bitwise_invert pad(_,1) broadcast_to(_,(3,2,2)) mutable_view"""
BINARY = """add subtract multiply divide floor_divide remainder pow maximum minimum equal less logical_and bitwise_and
atan2 bitwise_left_shift matmul tensordot outer kron fmod"""
OPERATORS = """_ + _|_ - _|_ * _|_ / _|_ // _|_ % _|_ ** _|_ @ _|_ & _|_ == _|_ < _|-_|abs(_)|_.T|_[0]|_ + 1|1 + _
_ / 2|_ * 1.5"""


def calls() -> list[str]:
    """Expressions in which ``_`` stands for a tensor of some dtype."""
    unary = [f"tr.{name}" if "(" in name else f"tr.{name}(_)" for name in UNARY.split()]
    binary = [f"tr.{name}(_, _)" for name in BINARY.split()] + [f"tr.{name}(_, 1)" for name in BINARY.split()[:9]]
    joined = ["tr.concatenate([_, _])", "tr.stack([_, _])", "tr.where(True, _, _)", "tr.where(True, _, 1)"]
    contracted = ["tr.einsum('ij,jk->ik', _, _)", "tr.einsum('ij->', _)"]
    return unary + binary + joined + contracted + OPERATORS.replace("\n", "|").split("|")


def filled(call: str, name: str) -> str:
    """A call with the tensor of a dtype in each place."""
    return re.sub(r"\b_\b", f"x{name}", call)


def test_mypy_finds_mistakes_of_dtypes_and_passes_correct_programs(tmp_path: Path) -> None:
    lines = PROGRAM.splitlines()
    assert sum("# error: " in line for line in lines) >= 40
    assert sum(": tr." in line and "# error" not in line for line in lines) >= 40
    check_marked_errors(PROGRAM, tmp_path)


def test_correct_programs_run_and_have_the_dtypes_that_they_state() -> None:
    names = run_other_lines(PROGRAM)
    stated = [line.partition("=")[0].strip() for line in PROGRAM.splitlines() if ": tr.Typed" in line]
    for name, _, kind in (line.partition(": ") for line in stated if not line.startswith(("def", "b"))):
        dtype = kind.partition("[")[2].rstrip("]")
        assert names[name].dtype.name == dtype, name


def test_what_mypy_reveals_of_a_call_is_the_dtype_that_it_returns(tmp_path: Path) -> None:
    header = ["import tensor_runtime as tr", "from tensor_core import *"]
    header += [f"x{d.name}: tr.TypedTensor[{d.name}] = tr.ones((2, 2), dtype={d.name})" for d in DTYPES]
    cases = [(call, dtype) for call in calls() for dtype in DTYPES]
    lines = [f"reveal_type({filled(call, dtype.name)})" for call, dtype in cases]
    program = tmp_path / "probe.py"
    program.write_text("\n".join(header + lines))
    report, _ = type_checked(tmp_path, program)
    revealed = {}
    for line in report.splitlines():
        if "Revealed type is" in line:
            _, number, rest = line.split(":", 2)
            revealed[int(number) - len(header) - 1] = rest.partition('"')[2].rstrip('"')
    names = {f"x{d.name}": tr.ones((2, 2), dtype=d) for d in DTYPES}
    untold = 0
    for k, (call, dtype) in enumerate(cases):
        try:
            found = eval(filled(call, dtype.name), {"tr": tr, **names})
        except TensorError:
            continue  # this dtype has no such operation
        told = revealed[k].rpartition(".")[2].rstrip("]") if "[" in revealed[k] else None
        if told is None:  # a number of a kind that the tensor's dtype cannot hold
            assert re.search(r"\b1(\.5)?\b", call), (call, dtype)
            assert found.dtype is not dtype, (call, dtype)
            untold += 1
        else:
            assert told == found.dtype.name, (call, dtype, revealed[k])
    assert untold < 20
