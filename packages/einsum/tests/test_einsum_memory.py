"""A plan that cannot end for want of memory is refused before its first step."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core import C64, F32, F64, I64
from tensor_core.errors import OutOfMemoryError
from tensor_core.formatting import readable_bytes
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import einsum, plan
from tensor_einsum.execution import executor, memory
from tensor_runtime.algebras import MAX_PLUS, MIN_PLUS, PLUS_TIMES, Semiring
from tensor_runtime.placement import CPU

LARGE = plan("ij,jk,kl->il", (4000, 2), (2, 3000), (3000, 4000))
"""Peak: 4000 · 3000 + 4000 · 4000 elements or less, more than is never looked at."""


def operands() -> list[tr.Tensor]:
    return [tr.zeros(shape) for shape in LARGE.shapes]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: LARGE(*x),
        lambda x: einsum(LARGE.notation, *x),
        lambda x: einsum(LARGE.notation, *x, optimize=False),
        lambda x: einsum(x[0], (0, 1), x[1], (1, 2), x[2], (2, 3), (0, 3)),
        lambda x: tr.einsum(LARGE.notation, *x),
    ],
    ids=["plan", "einsum", "left to right", "interleaved", "runtime"],
)
def test_no_step_runs_when_the_peak_is_more_than_there_can_be(
    call: Callable[[list[tr.Tensor]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = [64 << 20]
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: limit[0])
    steps: list[Any] = []
    with pytest.raises(
        OutOfMemoryError, match=r"needs .* MiB at its peak .* may use 64.0 MiB in all; .*optimize="
    ) as e:
        call(operands())
    assert e.value.usable == 64 << 20
    assert e.value.needed > e.value.usable
    with pytest.raises(OutOfMemoryError):
        LARGE(*operands(), on_step=lambda done, total: steps.append(done))
    assert not steps

    limit[0] = 1 << 40  # the same bindings serve when there is more
    assert call(operands()).shape == (4000, 4000)


def test_exactly_what_there_is_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: LARGE.intermediate_bytes)
    memory.check_fits(LARGE, LARGE.intermediate_bytes, CPU)
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: LARGE.intermediate_bytes - 1)
    with pytest.raises(OutOfMemoryError):
        memory.check_fits(LARGE, LARGE.intermediate_bytes, CPU)
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: None)
    memory.check_fits(LARGE, LARGE.intermediate_bytes, CPU)


def test_small_plans_never_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> int:
        raise AssertionError("asked")

    monkeypatch.setattr(memory, "recently_usable_bytes", asked)
    x = tr.ones((4, 4))
    assert plan("ij,jk,kl", x, x, x)(x, x, x).shape == (4, 4)
    assert einsum("ij,jk,kl->il", x, x, x).shape == (4, 4)


def test_what_other_places_have_is_not_decided_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: 1)
    assert LARGE(*[tr.zeros(shape, placement="meta") for shape in LARGE.shapes]).shape == (4000, 4000)


def test_a_limit_of_the_process_counts() -> None:
    script = (
        "import json, resource, tensor_runtime as tr\n"
        "from tensor_einsum import plan\n"
        "p = plan('i,j,k->ijk', (900,), (900,), (900,))\n"
        "x = tr.ones((900,))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "steps = []\n"
        "try: p(x, x, x, on_step=lambda *step: steps.append(step))\n"
        "except MemoryError as error: print(json.dumps([type(error).__name__, error.usable, error.needed, steps]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == ["OutOfMemoryError", 4 << 30, 8 * 900**3 + 8 * 900**2, []]


TRACING = """
import json, resource
import tensor_einsum as te
import tensor_runtime as tr
from tensor_core.errors import OutOfMemoryError, UnsupportedOperationError
from tensor_cpu.backend import CpuBackend
from tensor_runtime.backends.workspaces import with_workspace, workspace_of

ran, bind = [], CpuBackend.bind
def tracing(self, name, operands, result, params, /):
    if name == "lean_contract":
        raise UnsupportedOperationError("every product copies here", operation=name)
    kernel = bind(self, name, operands, result, params)
    def called(*arrays):
        ran.append(name)
        return kernel(*arrays)
    return with_workspace(called, workspace_of(kernel))
CpuBackend.bind = tracing

one, many = tr.ones((1, 1)), tr.ones((6000, 1))
x = tr.ones((600, 600))
ran.clear()
te.einsum("ij,jk->ik", x, x)
found = [list(ran)]
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
a = tr.broadcast_to(one, (20_000, 20_000))
b = tr.broadcast_to(one, (20_000, 1))
plan = te.plan("ij,jk->ik", a, a)
steps = te.plan("ij,(jk,lk)->il", a, b, many)
ran.clear()
for call in (
    lambda: te.einsum("ij,jk->ik", a, a),
    lambda: plan(a, a),
    lambda: te.einsum("ij,(jk,lk)->il", a, b, many),
    lambda: steps(a, b, many),
):
    try:
        call()
    except OutOfMemoryError as error:
        found.append([error.needed, error.usable, "workspaces" in str(error), list(ran)])
print(json.dumps([plan.intermediate_bytes, steps.intermediate_bytes, *found]))
"""
"""The kernels that are called are noted, from the first einsum on."""


def test_copies_that_the_limit_of_the_process_forbids_are_refused_before_a_kernel_runs(leaving_to_blas: str) -> None:
    done = subprocess.run([sys.executable, "-c", leaving_to_blas + TRACING], capture_output=True, text=True, check=True)
    one_step, two_steps, called, *refusals = json.loads(done.stdout)

    matrix, limit = 8 * 20_000**2, 4 << 30
    assert called == ["contract"]
    assert max(one_step, two_steps) < limit  # without the copies both could end
    assert one_step == matrix
    assert refusals == [
        *[[3 * matrix, limit, True, []]] * 2,
        *[[two_steps + matrix, limit, True, []]] * 2,
    ]


@pytest.mark.usefixtures("by_blas")
def test_a_plan_needs_the_copies_of_its_steps_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    monkeypatch.setattr(memory, "_UNCHECKED_ON_DEVICES", 0)
    monkeypatch.setattr(executor, "within_room", lambda *_: {})  # as of a backend that has no kernel without copies
    matrix = 8 * 1500**2
    x, repeated = tr.ones((1500, 1500)), tr.broadcast_to(tr.ones((1500, 1)), (1500, 1500))
    found = plan("ij,(jk,kl)->il", repeated, x, x)
    needed = executor.bind_plan(found, [repeated._form, x._form, x._form])[0].needed_bytes
    copies = needed - found.intermediate_bytes
    assert copies in (matrix, matrix // 2)  # at once, or block by block
    usable = [needed - 1]
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: usable[0])
    calls: list[Callable[[], tr.Tensor]] = [
        lambda: found(repeated, x, x),
        lambda: einsum(found.notation, repeated, x, x),
    ]
    for call in calls:
        usable[0] = needed - 1
        told = rf"beside the operands \({readable_bytes(copies)} of it for workspaces, such as"
        with pytest.raises(OutOfMemoryError, match=told):
            call()
        usable[0] += 1
        assert call().shape == (1500, 1500)

    assert found.intermediate_bytes == 2 * matrix
    usable[0] = found.intermediate_bytes
    assert found(x, x, x).shape == (1500, 1500)  # operands that are read as they lie


@pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels take their arrays elsewhere")
@pytest.mark.parametrize(
    ("subscripts", "shapes", "dtypes", "algebra"),
    [
        ("fac,cf->a", [(160, 320, 160), (160, 160)], (F32, F64), MIN_PLUS),
        ("fac,cf->a", [(160, 320, 160), (160, 160)], (F32, F64), PLUS_TIMES),
        ("ij,jk->ik", [(500, 510), (510, 500)], (I64, I64), PLUS_TIMES),
        ("ij,jk->ik", [(1000, 300), (300, 1000)], (F64, F64), MIN_PLUS),
        ("ij,jk->ik", [(1000, 300), (300, 1000)], (F64, F32), MAX_PLUS),
        ("ij,jk->ik", [(150, 130), (130, 160)], (F64, F64), PLUS_TIMES),
        ("aib,bjc,cka->kij", [(24, 9, 25), (25, 10, 26), (26, 11, 24)], (F64,) * 3, PLUS_TIMES),
        ("aib,bjc,cka->kij", [(24, 9, 25), (25, 10, 26), (26, 11, 24)], (C64,) * 3, PLUS_TIMES),
        ("aib,bjc,cka->kij", [(24, 9, 25), (25, 10, 26), (26, 11, 24)], (F32,) * 3, MIN_PLUS),
    ],
)
def test_the_peak_is_what_is_taken(subscripts: str, shapes: list[Any], dtypes: Any, algebra: Semiring) -> None:
    operands = [tr.ones(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    with tr.set_threads(1):
        found = plan(subscripts, *operands, algebra=algebra)
        found(*operands)
        pool.clear()
        before = pool.stats().used_bytes
        found(*operands)
        seen = pool.stats().peak_bytes - before

        assert 0.9 * found.peak_bytes <= seen <= 1.1 * found.peak_bytes


def test_a_workspace_counts_in_its_own_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    monkeypatch.setattr(memory, "_UNCHECKED_ON_DEVICES", 0)
    repeated = tr.broadcast_to(tr.ones((700, 1)), (700, 700))
    x, wide = tr.ones((700, 1)), tr.ones((1, 7000))
    found = plan("((ij,jk),kl)->il", repeated, x, wide)
    assert found.intermediate_bytes > 8 * 700**2  # the last step's, in which nothing is copied
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: found.intermediate_bytes)
    assert found(repeated, x, wide).shape == (700, 7000)
