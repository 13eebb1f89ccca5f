"""Options of a call: where the result goes and what is added to it, and progress."""

from __future__ import annotations

import gc
import math
import signal
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    BackendUnavailableError,
    CastRangeError,
    DTypeError,
    LossyConversionError,
    OutOfMemoryError,
    OverlappingViewError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
)
from tensor_cpu.system.memory import pool
from tensor_einsum import MemoryLimitError, Progress, einsum, plan
from tensor_einsum.execution import memory, progress
from tensor_einsum.execution.progress import Meter
from tensor_runtime.algebras import MAX_PLUS
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

A = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
B = tr.tensor([[0.0, 1.0], [5.0, -2.0]])
PRODUCT = [[10.0, -3.0], [20.0, -5.0]]


def test_a_result_goes_into_an_owned_tensor_and_into_a_view() -> None:
    owned, memory = tr.zeros((2, 2)), tr.zeros((5, 4))
    view = memory.mutable_view()[4:0:-2, ::3]
    for out in (owned, view):
        assert einsum("ij,jk->ik", A, B, out=out) is out
        assert out.to_numpy().tolist() == PRODUCT
        assert plan("ij,jk->ik", A, B)(A, B, out=out, alpha=2.0) is out
        assert out.to_numpy().tolist() == (2 * np.array(PRODUCT)).tolist()
    assert np.count_nonzero(memory.to_numpy()) == 4


@given(
    st.sampled_from(["float32", "float64", "complex128", "int64"]),
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.booleans(),
)
def test_alpha_times_the_sum_plus_beta_times_what_was_there(dtype: str, alpha: int, beta: int, strided: bool) -> None:
    rng = np.random.default_rng(1)
    x, y, z = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((3, 4), (4, 5), (5, 3)))
    memory = tr.asarray(np.zeros((10, 3), dtype))
    out = memory.mutable_view()[::2] if strided else tr.asarray(z, copy=True)
    if strided:
        out[...] = tr.asarray(z)  # type: ignore[index]
    a, b = tr.asarray(x), tr.asarray(y)
    found = einsum("ij,jk->ki", a, b, out=out, alpha=alpha, beta=beta)

    assert found is out
    assert out.to_numpy().dtype == dtype
    np.testing.assert_array_equal(out.to_numpy(), alpha * (x @ y).T + beta * z)
    scaled = einsum("ij,jk->ki", a, b, alpha=alpha)
    np.testing.assert_array_equal(scaled.to_numpy(), alpha * (x @ y).T)


def test_without_beta_what_was_there_is_not_read() -> None:
    out = tr.full((2, 2), math.nan)
    einsum("ij,jk->ik", A, B, out=out, alpha=1.0, beta=0.0)
    assert out.to_numpy().tolist() == PRODUCT


def test_an_operand_may_be_the_output_itself_but_not_a_part_of_it() -> None:
    x = tr.asarray(A.to_numpy(), copy=True)
    einsum("ij,jk->ik", x, B, out=x, beta=1)
    assert x.to_numpy().tolist() == [[11.0, -1.0], [23.0, -1.0]]
    memory = tr.asarray(np.arange(6.0).reshape(3, 2, order="F"))
    before = memory.to_numpy().copy()
    with pytest.raises(OverlappingViewError, match="shares a part"):
        einsum("ij,jk->ik", memory[1:], B, out=memory.mutable_view()[:2])
    assert np.array_equal(memory.to_numpy(), before)


def test_views_of_all_of_a_tensor_and_lent_memory_are_no_outputs() -> None:
    x, lent = tr.zeros((2, 2)), np.zeros((2, 2), order="F")
    for _ in range(2):
        for out in (x[:], x.T.T, x.reshape(2, 2), tr.asarray(lent)):
            with pytest.raises(ReadOnlyError, match="einsum: out is a view"):
                einsum("ij,jk->ik", A, B, out=out)
    assert not x.to_numpy().any() and not lent.any()


def test_what_cannot_receive_the_result_is_refused_before_anything_is_computed() -> None:
    steps: list[int] = []

    def on_step(done: int, total: int) -> None:
        steps.append(done)

    found = plan("ij,jk->ik", A, B)
    wide = tr.zeros((3, 3))
    for out, error in (
        (tr.zeros((2, 3)), ShapeError),
        (tr.zeros((2, 2), dtype="F32"), LossyConversionError),
        (tr.zeros((2, 2), dtype="I64"), LossyConversionError),
        (wide[1:, 1:], ReadOnlyError),
        (wide[:2, :2], ReadOnlyError),
        (np.zeros((2, 2)), ReadOnlyError),
    ):
        with pytest.raises(error):
            found(A, B, out=out, on_step=on_step)  # type: ignore[type-var]
    with pytest.raises(LossyConversionError, match="alpha is 1j, which makes F64 C64, and that to F64 can lose"):
        found(A, B, out=tr.zeros((2, 2)), alpha=1j, on_step=on_step)
    with pytest.raises(LossyConversionError, match="beta is 1j, which makes F64 C64, and that to F64 can lose"):
        found(A, B, out=tr.zeros((2, 2)), beta=1j, on_step=on_step)
    with pytest.raises(ArgumentError, match=r"beta is 2\.0, but there is no out"):
        found(A, B, beta=2.0, on_step=on_step)  # type: ignore[call-overload]
    for number in ("2", A, None, np.array(2.0)):
        with pytest.raises(DTypeError, match="alpha is"):
            found(A, B, alpha=number, on_step=on_step)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"alpha is 2 .* max_plus"):
        einsum("ij,jk->ik", A, B, algebra=MAX_PLUS, alpha=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'output'"):
        einsum("ij,jk->ik", A, B, output=wide)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"Plan.__call__\(\) got an unexpected keyword argument 'output'; accepted: a"):
        found(A, B, output=wide)  # type: ignore[call-overload]
    assert not steps
    assert not wide.to_numpy().any()


@pytest.mark.parametrize(
    ("dtype", "fitting", "beyond"),
    [
        ("I32", [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1]),
        ("I64", [2**63 - 1, -(2**63)], [2**63, -(2**63) - 1, 10**5000]),
        ("Bool", [2**63 - 1], [2**63]),
        ("F32", [2**1023, -(2**127)], [2**1024]),
        ("F64", [2**1023], [2**1024, -(10**400)]),
        ("C64", [2**1023], [10**400]),
    ],
)
def test_factors_that_the_dtype_does_not_hold_are_refused_before_the_first_step(
    dtype: str, fitting: list[int], beyond: list[int]
) -> None:
    x = tr.ones((2,), dtype=dtype)
    found, steps = plan("i,j->ij", x, x), []
    wide = tr.zeros((2, 2), dtype="I64" if dtype == "Bool" else dtype)
    for factor in fitting:
        found(x, x, alpha=factor)
        found(x, x, alpha=factor, beta=factor, out=wide)
        einsum("i,j->ij", x, x, alpha=factor, beta=factor, out=wide)
    before = wide.to_numpy().copy()
    for factor in beyond:
        for options in ({"alpha": factor}, {"alpha": factor, "out": wide}, {"beta": factor, "out": wide}):
            named: dict[str, Any] = options
            with pytest.raises(
                CastRangeError, match=rf"^einsum: {next(iter(options))} is .*, which does not fit [ICF]"
            ):
                found(x, x, on_step=lambda *step: steps.append(step), **named)
            with pytest.raises(
                CastRangeError, match=rf"^einsum: {next(iter(options))} is .*, which does not fit [ICF]"
            ):
                einsum("i,j->ij", x, x, **named)
    assert not steps
    assert np.array_equal(wide.to_numpy(), before, equal_nan=dtype[0] in "FC")


def test_an_output_in_another_place_is_refused() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "there")
    tr.register_backend("there", device)
    try:
        with pytest.raises(PlacementError, match="there:0"):
            einsum("ij,jk->ik", A, B, out=tr.to(tr.zeros((2, 2)), device.placement()))
        out = tr.to(tr.ones((2, 2)), device.placement())
        x, y = tr.to(A, device.placement()), tr.to(B, device.placement())
        einsum("ij,jk->ik", x, y, out=out, alpha=2.0, beta=1.0)
        assert tr.to(out, "cpu").to_numpy().tolist() == (2 * np.array(PRODUCT) + 1).tolist()
        mantissa, exponent = einsum("ij,jk->ik", x, y, strip_exponent=True)
        assert tr.to(mantissa, "cpu").to_numpy()[1, 0] == 1.0
        assert exponent == math.log10(20.0)
    finally:
        registry.unregister("there")


def test_results_in_an_algebra_go_into_an_output_too() -> None:
    out = tr.zeros((2,))
    assert einsum("ij->i", A, algebra=MAX_PLUS, out=out).to_numpy().tolist() == [2.0, 4.0]


CHAIN = plan("ij,jk,kl,lm->im", (2, 2), (2, 2), (2, 2), (2, 2))


def test_progress_tells_steps_and_the_share_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    times, seen = iter([1.0, 1.0 + 2**-20, 1.5]), list[Progress]()
    monkeypatch.setattr(progress, "perf_counter", lambda: next(times))
    large = plan("ij,jk,kl->il", (64, 64), (64, 64), (64, 2), optimize=[(0, 1), (0, 1)])
    large(tr.ones((64, 64)), tr.ones((64, 64)), tr.ones((64, 2)), progress=seen.append)

    flops = [step.flops for step in large.steps]
    assert [(one.done, one.total) for one in seen] == [(1, 2), (2, 2)]
    assert [one.share for one in seen] == [flops[0] / sum(flops), 1.0]
    assert [one.seconds for one in seen] == [2**-20, 0.5]
    assert [one.seconds_left for one in seen] == [pytest.approx(2**-20 * flops[1] / flops[0]), 0.0]


def test_a_bar_goes_to_its_end_and_is_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    plain = CHAIN(A, A, A, A)
    assert CHAIN(A, A, A, A, progress=True).to_numpy().tolist() == plain.to_numpy().tolist()
    assert einsum("ij,jk->ik", A, A, progress=True).to_numpy().tolist() == (A @ A).to_numpy().tolist()
    shown = capsys.readouterr()
    assert "einsum:" in shown.err
    assert not shown.out


def test_without_tqdm_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(BackendUnavailableError, match=r"pip install 'ironstride-tensor-einsum\[progress\]'"):
        einsum("ij,jk->ik", A, A, progress=True)
    assert einsum("ij,jk->ik", A, B, progress=False).to_numpy().tolist() == PRODUCT


def test_progress_is_refused_where_nobody_listens() -> None:
    with pytest.raises(ArgumentError, match="progress is 'yes'; accepted: True, False, and a function"):
        einsum("ij,jk->ik", A, A, progress="yes")  # type: ignore[call-overload]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("how", ["on_step", "progress"])
@pytest.mark.parametrize("sliced", ["", "k", "im"])
def test_stopping_leaves_the_output_as_it_was_and_frees_what_was_made(
    stop: type[BaseException], how: str, sliced: str
) -> None:
    size = 128
    operands = [tr.ones((size, size)) for _ in range(4)]
    found = plan("ij,jk,kl,lm->im", *operands).with_slices(dict.fromkeys(sliced, size // 2))
    out = tr.full((size, size), 7.0)
    found(*operands)  # bound

    def raising(*told: Any) -> None:
        done = told[0] if how == "on_step" else told[0].done
        if done == 2:
            raise stop

    gc.collect()
    before = pool.stats().used_bytes
    with pytest.raises(stop):
        found(*operands, out=out, **{how: raising})
    gc.collect()
    assert pool.stats().used_bytes <= before
    assert (out.to_numpy() == 7.0).all()
    assert (found(*operands, out=out).to_numpy() == float(size) ** 3).all()


@pytest.mark.usefixtures("sigint_interrupts")
def test_an_interrupt_stops_between_steps_and_leaves_everything_sound() -> None:
    seen: list[int] = []

    def interrupted(done: int, total: int) -> None:
        seen.append(done)
        if done == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        CHAIN(A, A, A, A, on_step=interrupted)
    assert seen == [1, 2]
    assert CHAIN(A, A, A, A).to_numpy().tolist() == (A @ A @ A @ A).to_numpy().tolist()


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint": 5}, "einsum: checkpoint is 5; accepted: the name of a file"),
        ({"checkpoint_seconds": "x"}, "einsum: checkpoint_seconds is 'x'; accepted: a number of 0 or more"),
        ({"checkpoint": "sum", "checkpoint_seconds": -1}, "einsum: checkpoint_seconds is -1; accepted: a number of 0"),
        ({"on_step": 3}, "einsum: on_step is 3; accepted: a function of two ints, done and total, or None"),
        ({"on_step": 3, "strip_exponent": True}, "einsum: on_step is 3; accepted: a function"),
    ],
)
def test_options_of_a_run_are_checked_before_it_whether_or_not_it_is_sliced(
    options: dict[str, Any], message: str, sliced: bool
) -> None:
    found = plan("ij,jk->ik", A, B)
    seen: list[int] = []
    with pytest.raises(ArgumentError, match=message):
        (found.with_slices("j") if sliced else found)(
            A, B, **{"progress": lambda now: seen.append(now.done), **options}
        )
    assert seen == []
    if "on_step" not in options:
        with pytest.raises(ArgumentError, match=message):
            einsum("ij,jk->ik", A, B, **options)


@pytest.mark.parametrize("alpha", [1, 2, 1.0, 2.0, 1 + 0j, 2j, True])
@pytest.mark.parametrize("dtype", ["Bool", "I32", "F32"])
def test_the_kind_of_alpha_and_not_its_value_decides_the_dtype(alpha: complex, dtype: str) -> None:
    x = tr.ones((2, 2), dtype=dtype)
    expected = (x * alpha).dtype

    assert einsum("ij,jk->ik", x, x, alpha=alpha).dtype is expected
    assert plan("ij,jk->ik", x, x)(x, x, alpha=alpha).dtype is expected
    assert einsum("ij,jk->ik", x, x, out=tr.ones((2, 2), dtype=dtype)).dtype is x.dtype
    if expected is not x.dtype:
        with pytest.raises(LossyConversionError):
            einsum("ij,jk->ik", x, x, alpha=alpha, out=tr.ones((2, 2), dtype=dtype))


def test_a_step_that_is_nothing_beside_the_work_before_it_has_an_estimate_too() -> None:
    large, small = plan("ij,jk->ik", (10**7, 10**6), (10**6, 10**7)).steps, plan("i,i->i", (2,), (2,)).steps
    told: list[Progress] = []
    meter = Meter([(large, 2), (small, 2)], told.append)
    meter(3, 4)  # goes on after the large ones
    meter(4, 4)

    assert [progress.share for progress in told] == [1.0, 1.0]
    assert told[-1].seconds_left == 0.0 <= told[0].seconds_left


def test_the_time_in_which_kernels_are_bound_is_not_in_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = plan("ij,jk,kl,lm->im", *[(100, 100)] * 4).steps
    times, told = iter([0.0, 10.0, 10.5, 11.0]), list[Progress]()
    monkeypatch.setattr(progress, "perf_counter", lambda: next(times))
    meter = Meter([(steps, 1)], told.append)
    for done in (1, 2, 3):
        meter(done, 3)

    assert told[0].seconds_left < 0.1  # and not 20
    assert [now.seconds_left for now in told[1:]] == [0.5, 0.0]
    assert [now.seconds for now in told] == [10.0, 10.5, 11.0]


@pytest.mark.parametrize(
    ("out", "beta"), [(None, 0.0), ("owned", 0.0), ("owned", 3.0), ("strided", 0.0), ("strided", 3.0)]
)
def test_a_large_result_is_scaled_and_added_without_room_for_another(out: str | None, beta: float) -> None:
    x, memory = tr.arange(1000, dtype="F64"), tr.ones((2000, 1000))
    target = {None: None, "owned": tr.ones((1000, 1000)), "strided": memory.mutable_view()[::2]}[out]
    einsum("i,j->ij", x, x)  # places of results are known
    pool.clear()
    before = pool.stats().peak_bytes

    found = einsum("i,j->ij", x, x, out=target, alpha=2.0, beta=beta, memory_limit=8_000_000)

    assert pool.stats().peak_bytes - before < 9_500_000
    assert target is None or found is target
    product = 2.0 * np.outer(np.arange(1000.0), np.arange(1000.0))
    assert np.array_equal(found.to_numpy(), product + beta)


def test_an_alpha_that_makes_the_result_wider_is_refused_where_both_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tr.ones((3000,), dtype="F32")
    both = 3000 * 3000 * 12
    for options in ({}, {"progress": lambda told: None}):
        with pytest.raises(
            MemoryLimitError, match=rf"multiple in C32 take .*; accepted: memory_limit={both} or more"
        ) as e:
            einsum("i,j->ij", x, x, alpha=2j, memory_limit=both - 1, **options)
        assert e.value.smallest == both
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: both - 1)
    with pytest.raises(OutOfMemoryError, match=r"may use .* in all; give an alpha that F32 holds, or out="):
        einsum("i,j->ij", x, x, alpha=2j)
    assert einsum("i,j->ij", x, x, alpha=2j, force=True)[0, 0].item() == 2j
    assert einsum("i,j->ij", x, x, alpha=2.0, memory_limit=both // 3)[0, 0].item() == 2.0


def test_a_wider_multiple_is_refused_by_a_limit_that_was_kept_without_it() -> None:
    x, limit = tr.tensor([1.0, 2.0]), 32
    for keywords in ({}, {"optimize": "greedy"}):
        assert einsum("i,j->ij", x, x, memory_limit=limit, **keywords)[1, 1].item() == 4.0
        for _ in range(2):
            with pytest.raises(MemoryLimitError, match="accepted: memory_limit=96 or more"):
                einsum("i,j->ij", x, x, memory_limit=limit, alpha=2j, **keywords)
        assert einsum("i,j->ij", x, x, memory_limit=limit, alpha=2, **keywords)[1, 1].item() == 8.0
