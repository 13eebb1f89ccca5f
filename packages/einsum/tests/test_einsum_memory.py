"""A plan that cannot end for want of memory is refused before its first step."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import OutOfMemoryError
from tensor_einsum import einsum, fitting, plan

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
    monkeypatch.setattr(fitting, "recently_usable_bytes", lambda: limit[0])
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
    monkeypatch.setattr(fitting, "recently_usable_bytes", lambda: LARGE.peak_bytes)
    fitting.check_fits(LARGE)
    monkeypatch.setattr(fitting, "recently_usable_bytes", lambda: LARGE.peak_bytes - 1)
    with pytest.raises(OutOfMemoryError):
        fitting.check_fits(LARGE)
    monkeypatch.setattr(fitting, "recently_usable_bytes", lambda: None)
    fitting.check_fits(LARGE)


def test_small_plans_never_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> int:
        raise AssertionError("asked")

    monkeypatch.setattr(fitting, "recently_usable_bytes", asked)
    x = tr.ones((4, 4))
    assert plan("ij,jk,kl", x, x, x)(x, x, x).shape == (4, 4)
    assert einsum("ij,jk,kl->il", x, x, x).shape == (4, 4)


def test_what_other_places_have_is_not_decided_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "recently_usable_bytes", lambda: 1)
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
