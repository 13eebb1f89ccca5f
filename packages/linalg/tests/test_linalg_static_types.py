"""Linear algebra for the type checker: dtypes go through it, mistakes are found, and whole programs pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from static_types import check_marked_errors, run_other_lines, type_checked

LINES = """
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import C32, C64, F32, F64, I64

x32: tr.TypedTensor[F32] = tr.eye(3, dtype=F32)
x64: tr.TypedTensor[F64] = tr.eye(3)
z64: tr.TypedTensor[C64] = tr.eye(3, dtype=C64)
z32: tr.TypedTensor[C32] = tr.eye(3, dtype=C32)
some: tr.Tensor = tr.asarray([[1.0, 2.0], [3.0, 5.0]])
inverse: tr.TypedTensor[F32] = tl.inv(x32)
factor: tr.TypedTensor[C64] = tl.cholesky(z64, check=False)
pseudo: tr.TypedTensor[F64] = tl.pinv(x64, rtol=1e-9)
volume: tr.TypedTensor[C32] = tl.det(z32)
solution: tr.TypedTensor[F64] = tl.solve(x64, x64)
substituted: tr.TypedTensor[F32] = tl.triangular_solve(x32, x32, lower=True)
both: tr.TypedTensor[C64] = tl.cho_solve(z64, z64)
values: tr.TypedTensor[F64] = tl.svdvals(z64)
energies: tr.TypedTensor[F32] = tl.eigvalsh(z32)
product: tr.TypedTensor[F32] = tl.matmul(x32, x32)
adjoint: tr.TypedTensor[C64] = tl.mH(z64)
exponential: tr.TypedTensor[C64] = tl.expm(z64)
length: tr.TypedTensor[F64] = tl.norm(z64)
condition: tr.TypedTensor[F32] = tl.cond(x32)
rank: tr.TypedTensor[I64] = tl.matrix_rank(x32)
power: tr.TypedTensor[F32] = tl.matrix_power(x32, 3)
unknown: tr.Tensor = tl.inv(some)
mixed: tr.Tensor = tl.solve(x64, z64)
into: tr.TypedTensor[C64] = tl.matmul(x64, x64, out=z64)
left: tr.TypedTensor[C64] = tl.svd(z64).u
sizes: tr.TypedTensor[F64] = tl.svd(z64, full=True, gauge="canonical").s
right: tr.TypedTensor[F32] = tl.svd(x32).vh
frame: tr.TypedTensor[C32] = tl.qr(z32, positive=True).q
triangle: tr.TypedTensor[F32] = tl.qr(x32).r
levels: tr.TypedTensor[F64] = tl.eigh(z64).eigenvalues
states: tr.TypedTensor[C64] = tl.eigh(z64, z64, subset_by_index=(0, 1)).eigenvectors
spectrum: tr.TypedTensor[C64] = tl.eig(x64).eigenvalues
rates: tr.TypedTensor[C32] = tl.eigvals(x32)
rotation: tr.TypedTensor[F64] = tl.polar(x64).u
lower: tr.TypedTensor[C64] = tl.lu(z64).l
upper: tr.TypedTensor[F32] = tl.lu(x32, pivoting="complete").u
packed: tr.TypedTensor[F64] = tl.lu_factor(x64).lu
diagonal: tr.TypedTensor[C64] = tl.ldl(z64).d
quasi: tr.TypedTensor[F64] = tl.schur(x64).t
almost: tr.TypedTensor[F32] = tl.hessenberg(x32).h
rows: tr.TypedTensor[F64] = tl.rq(x64).q
columns: tr.TypedTensor[C32] = tl.lq(z32).l
last: tr.TypedTensor[F64] = tl.ql(x64).q
chosen: tr.TypedTensor[C64] = tl.qr_pivoted(z64).r
sign: tr.TypedTensor[C64] = tl.slogdet(z64).sign
logarithm: tr.TypedTensor[F64] = tl.slogdet(z64).logabsdet
factors: tl.SVDResult = tl.svd(x32)
plain: tr.Tensor = tl.svd(some).u
inner, middle, outer = tl.svd(z32)
unpacked: tr.TypedTensor[F32] = middle
masked, status = tl.inv(x64[..., None], check="mask")

b1: tr.TypedTensor[F64] = tl.inv(x32)  # error: F32 stays F32
b2: tr.TypedTensor[C64] = tl.svdvals(z64)  # error: singular values are real
b3: tr.TypedTensor[F64] = tl.solve(x64, x32)  # error: two dtypes meet
b4: tr.TypedTensor[F64] = tl.inv(some)  # error: nobody knows
b5: tr.TypedTensor[F32] = tl.matmul(x32, x64)  # error: two dtypes meet
b6: tr.TypedTensor[C32] = tl.norm(z32)  # error: a norm is real
b7: tr.TypedTensor[F64] = tl.matrix_rank(x64)  # error: a rank is an integer
b8: tr.TypedTensor[F64] = tl.inv(x64[..., None], check="mask")  # error: a result and a status
b10: tr.TypedTensor[C64] = tl.svd(z64).s  # error: singular values are real
b11: tr.TypedTensor[F64] = tl.qr(x32).q  # error: F32 stays F32
b12: tr.TypedTensor[F64] = tl.qr(some).q  # error: nobody knows
b13: tr.TypedTensor[F64] = tl.eig(x64).eigenvalues  # error: eigenvalues of any matrix are complex
b14: tr.TypedTensor[F64] = tl.eigh(z64).eigenvectors  # error: C64 stays C64
b15: tr.TypedTensor[F64] = factors.u  # error: the annotation says nothing of dtypes
b9 = tl.inv("x")  # error: no tensor
"""

KALMAN = '''"""Kalman filter over a batch in F64, with annotated helpers and an accumulator."""
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import F64

Matrix = tr.TypedTensor[F64]


def predict(f: Matrix, p: Matrix, q: Matrix) -> Matrix:
    return tl.matmul(tl.matmul(f, p), tl.mT(f)) + q


def gain(p: Matrix, h: Matrix, r: Matrix) -> Matrix:
    s = tl.matmul(tl.matmul(h, p), tl.mT(h)) + r
    return tl.mT(tl.solve(s, tl.matmul(h, p)))


def update(p: Matrix, k: Matrix, h: Matrix) -> Matrix:
    return p - tl.matmul(k, tl.matmul(h, p))


def log_likelihood(s: Matrix, e: Matrix) -> Matrix:
    factor = tl.cholesky(s)
    white = tl.triangular_solve(factor, e, lower=True)
    return tr.sum(white * white, axis=0) * -0.5


f = tr.eye(4)
p = tr.eye(4) * 10.0
q = tr.eye(4) * 0.01
h = tr.eye(2, 4)
r = tr.eye(2)
total = tr.zeros(())
for step in range(5):
    p = predict(f, p, q)
    k = gain(p, h, r)
    p = update(p, k, h)
    e = tr.normal((2, 1), seed=step)
    total = total + tr.sum(log_likelihood(tl.matmul(tl.matmul(h, p), tl.mT(h)) + r, e))
trace: Matrix = tl.trace(p)
score: float = float(total + trace)
print(score, tl.det(p).item(), tl.norm(p).item())
'''

PHASES = '''"""Power iteration and a phase in C64; real numbers beside complex ones."""
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import C64, F64

State = tr.TypedTensor[C64]


def normalized(v: State) -> State:
    return v / tl.vector_norm(v).item()


def overlap(a: State, b: State) -> complex:
    return complex(tl.vecdot(a, b))


def hamiltonian(n: int, field: float) -> State:
    x = tr.zeros((n, n), dtype=C64)
    shift = tr.eye(n, n, 1, dtype=C64)
    hopping = (shift + tl.mH(shift)) * -1.0
    return x + hopping + tr.eye(n, dtype=C64) * (0.5j * field * -1j)


h = hamiltonian(6, 0.3)
v = normalized(tr.convert(tr.uniform(6, seed=1), C64))
energies: list[float] = []
for _ in range(20):
    v = normalized(tl.matvec(h, v))
    energies.append(overlap(v, tl.matvec(h, v)).real)
values: tr.TypedTensor[F64] = tl.eigvalsh(h)
u = tl.expm(h * -0.1j)
unitary = tl.matmul(u, tl.mH(u)) - tr.eye(6, dtype=C64)
error: tr.TypedTensor[F64] = tr.max(tr.abs(unitary))
density: tr.TypedTensor[F64] = tr.real(tr.conj(v) * v)
phases = [tr.exp(tr.full((2,), 1j * k, dtype=C64)) for k in range(3)]
stacked: State = tr.stack(phases)
part: tr.TypedTensor[F64] = tr.imag(stacked)
print(energies[-1], values[0].item(), float(error), tr.sum(density).item(), part.shape)
'''

REGRESSION = '''"""A regression in F32 that is checked in F64, and a variable whose dtype comes from a file."""
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import F32, F64, Bool


def design(x: tr.TypedTensor[F32], degree: int) -> tr.TypedTensor[F32]:
    columns = [x**power for power in range(degree + 1)]
    return tr.stack(columns, 1)


def residual(a: tr.TypedTensor[F32], w: tr.TypedTensor[F32], y: tr.TypedTensor[F32]) -> tr.TypedTensor[F32]:
    return y - a @ w


x = tr.linspace(0.0, 1.0, 20, dtype=F32)
y = tr.sin(x * 3.0)
a = design(x, 3)
w = tr.reshape_view(tl.solve(a.T @ a, tr.expand_dims(a.T @ y, 1)), 4)
best = tr.max(tr.abs(residual(a, w, y)))
for rate in (0.1, 0.01):
    step = a.T @ residual(a, w, y)
    w = w + step * rate
    best = tr.minimum(best, tr.max(tr.abs(residual(a, w, y))))
exact = tl.inv(tr.convert(a.T @ a, F64))
check: tr.TypedTensor[F64] = tl.matmul(exact, tr.convert(a.T @ a, F64))
mask: tr.TypedTensor[Bool] = tr.abs(residual(a, w, y)) < 0.1
data: tr.Tensor = tr.asarray([[1.0, 2.0], [3.0, 4.0]])
data = tl.inv(data)
data = tr.zeros((2, 2), dtype=F32)
known = tr.typed(tr.asarray([1.0, 2.0]), F64)
rank: int = int(tl.matrix_rank(exact))
largest: tr.TypedTensor[F32] = tl.svdvals(a)[0]
values = tr.zeros(3)
values = tr.concatenate([values, known])
out = tr.zeros((4, 4))
same = tl.matmul(check, check, out=out)
print(best.item(), tr.count_nonzero(mask).item(), rank, largest.item(), same is out, data.dtype)
'''

PROGRAMS = {"kalman.py": KALMAN, "phases.py": PHASES, "regression.py": REGRESSION}


def test_wrong_dtypes_of_linear_algebra_are_found_and_right_ones_pass(tmp_path: Path) -> None:
    check_marked_errors(LINES, tmp_path)


def test_the_checker_names_the_dtypes_that_calls_return() -> None:
    found = run_other_lines(LINES)
    said = [
        line.split(": tr.TypedTensor[")
        for line in LINES.splitlines()
        if "TypedTensor[" in line and "# error" not in line
    ]
    assert len(said) > 20
    for name, rest in said:
        assert found[name].dtype.name == rest.partition("]")[0], name


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_loops_helpers_and_accumulators_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(PROGRAMS[name], {"__name__": name})
    assert len(capsys.readouterr().out.split()) >= 3


def test_programs_of_loops_helpers_and_accumulators_pass_the_checker(tmp_path: Path) -> None:
    for name, source in PROGRAMS.items():
        (tmp_path / name).write_text(source)
    report, status = type_checked(tmp_path, *(tmp_path / name for name in PROGRAMS))
    assert status == 0, report
