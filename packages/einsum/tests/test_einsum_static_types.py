"""What the type checker knows of a call: a result, the tensor given as out, or mantissa and exponent."""

from __future__ import annotations

from pathlib import Path

from static_types import check_marked_errors, run_other_lines

SOURCE = """
import tensor_runtime as tr
from tensor_core import C64, F64
from tensor_einsum import Plan, Progress, einsum, plan
from tensor_runtime.algebras import MAX_PLUS

a: tr.Tensor = tr.ones((2, 2), dtype=F64)
view: tr.TypedTensorViewMut[F64] = tr.mutable_view(tr.zeros((2, 2), dtype=F64))

product: tr.Tensor = einsum("ij,jk->ik", a, a)
best: tr.Tensor = einsum("ij,jk->ik", a, a, algebra=MAX_PLUS, optimize="greedy")
scaled: tr.Tensor = einsum(a, ("i", "j"), ("j",), alpha=2.0, conj=0)
mantissa, exponent = einsum("ij,jk->ik", a, a, strip_exponent=True)
shifted: float = exponent + 1.0
same: tr.Tensor = einsum("ij,jk->ik", a, a, out=a, beta=1)
written: tr.TypedTensorViewMut[F64] = einsum("ij,jk->ik", a, a, out=view)

found: Plan = plan("ij,jk->ik", (2, 2), (2, 2), dtype=F64, algebra=MAX_PLUS, conj=(0, 1))
again: tr.Tensor = found(a, a, on_step=lambda done, total: None)
into: tr.TypedTensorViewMut[F64] = plan("ij->ij", (2, 2))(a, out=view, alpha=2)
pair: tuple[tr.Tensor, float] = plan("ij->ij", (2, 2))(a, strip_exponent=True)
summed: Plan = plan("ij->", (2, 2))
around: tuple[tr.Tensor, ...] = summed.environments(a, which=0)
pairs: tuple[tuple[tr.Tensor, float], ...] = summed.environments(a, which=0, strip_exponent=True)
of_label: tr.Tensor = summed.marginals(a, labels="i", normalize=True)["i"]
stripped: tuple[tr.Tensor, float] = summed.marginals(a, labels="i", strip_exponent=True)["i"]

real: tr.TypedTensor[F64] = tr.ones((2, 2))
other: tr.TypedTensor[C64] = tr.ones((2, 2), dtype=C64)
known: tr.TypedTensor[F64] = einsum("ij,jk->ik", real, real)
squared: tr.TypedTensor[F64] = einsum("ij,ij->", real, real, optimize="greedy", progress=False)
twice: tr.TypedTensor[C64] = plan("ij,jk->ik", (2, 2), (2, 2), dtype=C64)(other, other)
mixed: tr.Tensor = einsum("ij,jk->ik", real, other)
turned: tr.Tensor = einsum("ij->ji", real, alpha=1j)

def report(now: Progress) -> None:
    print(now.share, now.seconds_left)

shown: tr.Tensor = found(a, a, progress=report)
barred: tr.Tensor = einsum("ij->", a, progress=False)

no_double: tr.TypedTensor[C64] = einsum("ij,jk->ik", real, real)  # error
no_join: tr.TypedTensor[F64] = einsum("ij,jk->ik", real, other)  # error
no_sure: tr.TypedTensor[F64] = einsum("ij->ij", a)  # error
no_plan: tr.TypedTensor[F64] = plan("ij->ij", (2, 2), dtype=C64)(other)  # error
not_a_pair: tr.Tensor = einsum("ij->", a, strip_exponent=True)  # error
not_a_tensor: tuple[tr.Tensor, float] = einsum("ij->", a)  # error
no_name = einsum("ij->", a, algebra="max_plus")  # error
no_option = einsum("ij->", a, output=view)  # error
no_factor = found(a, a, alpha="2")  # error
no_position = plan("ij->", (2, 2), conj="0")  # error
no_out = found(a, a, beta=1)  # error
both = found(a, a, out=view, strip_exponent=True)  # error
no_listener = found(a, a, progress="yes")  # error
"""


def test_mypy_tells_what_a_call_returns(tmp_path: Path) -> None:
    check_marked_errors(SOURCE, tmp_path)


def test_the_lines_without_an_error_run() -> None:
    names = run_other_lines(SOURCE)
    assert names["written"] is names["view"]
    assert names["same"] is names["a"]
