"""Sliced plans give what unsliced ones give, exactly: small integers in every dtype."""

from __future__ import annotations

import itertools
import string
import tracemalloc
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import LAYOUTS, NUMPY_NAMES, Case, cases, laid_out, naive, same, small_integers
from tensor_core.errors import ArgumentError, DTypeError, PlacementError
from tensor_einsum import ExtentError, Plan, Progress, plan
from tensor_einsum.search.path import to_ids
from tensor_einsum.slices.cutting import Starts, slice_network, varying
from tensor_einsum.steps.steps import build_steps
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, Semiring
from tensor_runtime.backends.registry import registry
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.testing.simulated_device import SimulatedBackend


@st.composite
def cuts(draw: st.DrawFn, found: Plan) -> dict[str, int]:
    """Some labels, each with the extent of its parts."""
    labels = draw(st.lists(st.sampled_from(found.names), unique=True, max_size=4)) if found.names else []
    return {label: draw(st.integers(1, 4)) for label in labels}


@given(cases(), st.data())
def test_slices_of_any_labels_give_the_sum_over_all_indices(case: Case, data: st.DataObject) -> None:
    operands = [tr.tensor(array) for array in case.arrays]
    whole = plan(case.notation, *operands)
    sliced = whole.with_slices(data.draw(cuts(whole)))

    assert same(sliced(*operands), naive(case))
    assert (sliced.output_shape, sliced.output_dtype) == (whole.output_shape, whole.output_dtype)


@given(cases(max_operands=4), st.data())
def test_parts_computed_one_by_one_are_gathered_to_the_same(case: Case, data: st.DataObject) -> None:
    operands = [laid_out(array, data.draw(st.sampled_from(LAYOUTS))) for array in case.arrays]
    whole = plan(case.notation, *operands)
    sliced = whole.with_slices(data.draw(cuts(whole)))
    parts = [sliced.run_slice(number, *operands) for number in range(sliced.slices.count)]
    before = [part.to_numpy().copy() for part in parts]

    assert same(sliced.gather(parts), naive(case))
    assert all(np.array_equal(part.to_numpy(), copy) for part, copy in zip(parts, before, strict=True))


def flops_by_slices(found: Plan) -> tuple[int, int]:
    """Flops, and flops as opt_einsum counts, of what all slices share and of each slice, one after the other."""
    varies = varying(found._network, found.sliced, found.steps)[len(found.inputs) :]
    counts = [0, 0]
    for number in range(found.slices.count):
        _, parts = Starts(found.sliced, found.extents)(number)
        network = slice_network(found._network, found.sliced, parts)
        steps = build_steps(network, to_ids(found.path, len(found.inputs)), 8, found.conj)
        for step, own in zip(steps, varies, strict=True):
            if own or number == 0:
                counts[0] += step.flops
                counts[1] += step.opt_einsum_flops
    return counts[0], counts[1]


@given(cases(), st.data())
def test_flops_are_those_of_all_slices_whatever_their_extents(case: Case, data: st.DataObject) -> None:
    shapes = [array.shape for array in case.arrays]
    conj = data.draw(st.sampled_from([(), tuple(range(len(shapes)))]))
    sliced = plan(case.notation, *shapes, dtype="C64", conj=conj)
    sliced = sliced.with_slices(data.draw(cuts(sliced)))

    if sliced.sliced:
        assert (sliced.flops, sliced.opt_einsum_flops) == flops_by_slices(sliced)


def test_flops_of_an_embedding_that_is_conjugated_are_those_of_its_uneven_parts() -> None:
    found = plan("i->ii", (5,), dtype="C64", conj=0).with_slices({"i": 2})

    assert (found.flops, found.opt_einsum_flops) == flops_by_slices(found)
    assert found.flops == 2 * 2 + 2 * 2 + 1 * 1


def test_many_labels_may_be_cut_unevenly_as_only_slices_that_run_are_bound() -> None:
    letters = string.ascii_letters[:40]
    found = plan(",".join(letters) + "->", *[(3,)] * 40, optimize=False).with_slices(dict.fromkeys(letters, 2))
    vectors = [tr.tensor([1.0, 2.0, 3.0])] * 40

    assert found.slices.count == 2**40
    assert found.peak_bytes > 0
    assert found.run_slice(0, *vectors).item() == 3.0**40  # every first part
    assert found.run_slice(2**40 - 1, *vectors).item() == 3.0**40  # every last one
    assert found.run_slice(1, *vectors, force=True).item() == 3.0**40


@pytest.mark.parametrize("dtype", NUMPY_NAMES)
@pytest.mark.parametrize(
    ("notation", "shapes"),
    [
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
        ("ai,bi,ci->abc", [(2, 3), (3, 3), (2, 3)]),
        ("iij,jk->ki", [(3, 3, 4), (4, 2)]),
        ("ij,j->iji", [(3, 4), (4,)]),
        ("i->ii", [(5,)]),
        ("iij->", [(3, 3, 4)]),
        ("ij,ij,jk->k", [(3, 1), (3, 4), (4, 2)]),
        ("i,j->", [(3,), (0,)]),
        ("i,j->ij", [(3,), (0,)]),
        (",ij->j", [(), (3, 4)]),
    ],
)
def test_every_choice_of_labels_gives_the_same(notation: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    arrays = tuple(small_integers(np.random.default_rng(3), shape, dtype) for shape in shapes)
    terms, output = notation.split("->")
    expected = naive(Case(tuple(terms.split(",")), output, arrays))
    operands = [tr.tensor(array) for array in arrays]
    whole = plan(notation, *operands)

    for count in range(len(whole.names) + 1):
        for labels in itertools.combinations(whole.names, count):
            for part in (1, 2):
                assert same(whole.with_slices(dict.fromkeys(labels, part))(*operands), expected)


def test_integers_wrap_in_sums_of_slices() -> None:
    big = tr.tensor(np.array([2**30, 2**30, 2**30, 5], dtype="int32"))
    whole = plan("i,i->", big, big)

    assert whole.with_slices("i")(big, big).item() == whole(big, big).item()


def test_operands_of_several_dtypes_are_promoted_once() -> None:
    a, x = tr.ones((3, 4), dtype="Bool"), tr.full((4,), 2.0)
    whole = plan("ij,ik,j->", a, a, x)

    for labels in ("i", "j", "k", "ijk"):
        assert whole.with_slices(labels)(a, a, x).item() == 96.0


def test_slices_are_numbered_with_summed_labels_running_fastest() -> None:
    found = plan("ij,jk->ik", (5, 7), (7, 3)).with_slices({"j": 3, "i": 2})

    assert found.slices.labels == ("i", "j")
    assert (found.slices.shape, found.slices.extents, found.slices.count) == ((3, 3), (2, 3), 9)
    x, y = tr.ones((5, 7)), tr.ones((7, 3))
    shapes = [found.run_slice(number, x, y).shape for number in range(9)]
    assert shapes == [(2, 3)] * 6 + [(1, 3)] * 3
    assert found.run_slice(2, x, y).to_numpy().tolist() == [[1.0] * 3] * 2  # the last part of j


def test_a_sum_of_slices_has_one_order_and_so_the_same_bits() -> None:
    generator = np.random.default_rng(1)
    x, y = tr.tensor(generator.standard_normal((8, 60))), tr.tensor(generator.standard_normal((60, 9)))
    found = plan("ij,jk->ik", x, y).with_slices({"j": 7, "k": 4})
    expected = found(x, y).to_numpy()

    parts = [found.run_slice(number, x, y) for number in range(found.slices.count)]
    assert found.gather(iter(parts)).to_numpy().tobytes() == expected.tobytes()
    assert found(x, y).to_numpy().tobytes() == expected.tobytes()


def test_a_sliced_plan_counts_the_steps_of_all_slices() -> None:
    found = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)]).with_slices("l")
    seen: list[tuple[int, int]] = []
    found(tr.ones((2, 3)), tr.ones((3, 4)), tr.ones((4, 5)), on_step=lambda *step: seen.append(step))

    assert seen == [(number, 6) for number in range(1, 7)]  # ij,jk is shared; then one step in each of 5 slices
    assert found.flops == 2 * 2 * 3 * 4 + 5 * (2 * 2 * 4)
    assert found.steps[0].shape == (2, 4)


def test_what_no_cut_label_touches_is_computed_once() -> None:
    kernels: list[str] = []

    class Counting(SimulatedBackend):
        def bind(self, name: str, operands: Any, result: Any, params: Any, /) -> Any:
            kernel = super().bind(name, operands, result, params)

            def counted(*arrays: Any) -> Any:
                kernels.append(name)
                return kernel(*arrays)

            return counted

    registry.register("counting", Counting(tr.backend("cpu"), "counting"))
    try:
        place = "counting:0"
        operands = [tr.to(tr.ones(shape), place) for shape in ((2, 3), (3, 4), (4, 5))]
        found = plan("ij,jk,kl->il", *operands, optimize=[(0, 1), (0, 1)]).with_slices("l")
        kernels.clear()
        result = found(*operands)
        assert kernels.count("contract") == 1 + 5
        assert kernels.count("copy") == 0
        assert tr.download(result).to_nested() == [[12.0] * 5] * 2
    finally:
        registry.unregister("counting")


def test_a_backend_that_cannot_add_in_place_gives_the_same() -> None:
    registry.register("adding", SimulatedBackend(tr.backend("cpu"), "adding", {"add_into": "not in place"}))
    try:
        x = tr.to(tr.ones((3, 4)), "adding:0")
        for labels in ("i", "j", "ij"):
            found = plan("ij,ij->i", x, x).with_slices(labels)
            assert tr.download(found(x, x)).to_nested() == [4.0] * 3
    finally:
        registry.unregister("adding")


@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND], ids=str)
@pytest.mark.parametrize("labels", ["i", "j", "k", "ij", "ijk"])
def test_slices_are_added_in_the_algebra_of_the_plan(algebra: Semiring, labels: str) -> None:
    generator = np.random.default_rng(2)
    arrays = [generator.integers(0, 5, shape).astype(float) for shape in ((3, 4), (4, 5))]
    operands = [tr.tensor(array > 2 if algebra is OR_AND else array) for array in arrays]
    for notation in ("ij,jk->ik", "ij,jk->", "ij,jk->iik"):
        whole = plan(notation, *operands, algebra=algebra)
        assert same(whole.with_slices(labels)(*operands), whole(*operands).to_numpy())


def test_slices_of_conjugated_operands_are_those_of_the_whole() -> None:
    generator = np.random.default_rng(4)
    x, y, z = (tr.tensor(small_integers(generator, shape, "complex128")) for shape in ((3, 4), (4, 5), (5, 3)))
    for conj in ((0,), (0, 2), (0, 1, 2)):
        whole = plan("ij,jk,ki->i", x, y, z, conj=conj)
        for labels in ("i", "j", "ik", "ijk"):
            assert same(whole.with_slices(labels)(x, y, z), whole(x, y, z).to_numpy())


def test_options_of_a_call_hold_for_all_slices_together() -> None:
    x, y = tr.tensor(np.arange(12.0).reshape(3, 4)), tr.tensor(np.arange(8.0).reshape(4, 2))
    expected = x.to_numpy() @ y.to_numpy()
    for labels in ("i", "j", "ij"):
        found = plan("ij,jk->ik", x, y).with_slices(labels)
        out = tr.ones((3, 2))
        seen: list[Progress] = []
        assert found(x, y, out=out, alpha=2.0, beta=3.0, progress=seen.append) is out
        assert np.array_equal(out.to_numpy(), 2 * expected + 3)
        assert len(seen) == found.slices.count
        assert seen[-1].share == 1.0


@pytest.mark.parametrize("labels", ["i", "j", "k", "ij", "jk"])
@pytest.mark.parametrize("power", [-200, 0, 200])
def test_an_exponent_is_taken_off_all_slices_together(labels: str, power: int) -> None:
    generator = np.random.default_rng(5)
    x = generator.integers(-4, 5, (3, 4)) * 10.0**power
    y = generator.integers(-4, 5, (4, 5)) * 10.0**power
    x[1] *= 1e-90
    y[:, 2] = 0.0
    z = tr.tensor([10.0**power])
    operands = tr.tensor(x), tr.tensor(y), z
    whole = plan("ij,jk,l->ik", *operands)
    mantissa, exponent = whole(*operands, strip_exponent=True)
    found, other = whole.with_slices(labels)(*operands, strip_exponent=True)

    assert other == pytest.approx(exponent, rel=1e-12)
    assert np.allclose(found.to_numpy(), mantissa.to_numpy(), rtol=1e-9, atol=0)


def taken_by(call: Callable[[], object]) -> int:
    """The most bytes that a call takes at once, of those that NumPy allocates; the second time, when all is bound."""
    call()
    tracemalloc.start()
    call()
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_part_is_let_go_before_the_next_one(count: int) -> None:
    x = tr.ones((count, 1000))
    found = plan("fi->ii", x).with_slices("f")
    assert found.peak_bytes == 2 * 8 * 1000**2

    assert taken_by(lambda: found(x)) <= found.peak_bytes + 100_000
    assert taken_by(lambda: found(x, strip_exponent=True)) <= found.peak_bytes + 100_000
    assert taken_by(lambda: found.gather(found.run_slice(k, x) for k in range(count))) <= found.peak_bytes + 100_000


def test_sweeps_of_a_sliced_plan_are_those_of_the_whole() -> None:
    x, y = tr.tensor(np.arange(12.0).reshape(3, 4)), tr.tensor(np.arange(20.0).reshape(4, 5))
    whole = plan("ij,jk->", x, y)
    sliced = whole.with_slices("jk")

    for a, b in zip(sliced.environments(x, y), whole.environments(x, y), strict=True):
        assert np.array_equal(a.to_numpy(), b.to_numpy())
    assert same(sliced.marginals(x, y)["j"], whole.marginals(x, y)["j"].to_numpy())


def test_nothing_is_computed_where_tensors_have_no_elements() -> None:
    found = plan("ij,jk->ik", (5, 10**9), (10**9, 3)).with_slices("j")
    result = found(*[tr.zeros(shape, placement="meta") for shape in found.shapes])

    assert (result.shape, str(result.placement)) == ((5, 3), "meta:0")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p, x: p.with_slices(3), ArgumentError, "with_slices: found label 3; accepted: "),
        (lambda p, x: p.with_slices(np.array(1)), ArgumentError, "with_slices: found label a ndarray.*; accepted: 'i'"),
        (lambda p, x: p.with_slices(tr.tensor(1)), ArgumentError, "with_slices: found label a Tensor.*; accepted: 'i'"),
        (lambda p, x: p.with_slices("z"), ArgumentError, r"with_slices: found label 'z'; accepted: 'i', 'j', 'k'"),
        (lambda p, x: p.with_slices({"i": 0}), ArgumentError, r"parts of label 'i' have extent 0; accepted: an int of"),
        (lambda p, x: p.run_slice(4, x, x), ArgumentError, r"run_slice: found slice 4; accepted: 0 to 3, as the plan"),
        (lambda p, x: p.run_slice(True, x, x), ArgumentError, r"run_slice: number is True; accepted: an int"),
        (lambda p, x: p.run_slice(0, x), ExtentError, r"operands have shapes \(4, 4\); this plan was made for"),
        (lambda p, x: p(x, tr.ones((4, 3))), ExtentError, r"this plan was made for \(4, 4\), \(4, 4\); plan again"),
        (lambda p, x: p(x, tr.ones((4, 4), dtype="F32")), DTypeError, r"operands are F64, F32; this plan was made for"),
        (lambda p, x: p.gather([x] * 3), ExtentError, r"gather: found 3 parts; accepted: 4, one per slice"),
        (lambda p, x: p.gather([x] * 5), ExtentError, r"gather: found more than 4 parts; accepted: 4, one per slice"),
        (lambda p, x: p.gather([]), ExtentError, r"gather: found 0 parts"),
        (lambda p, x: p.gather([x, x[0]]), ExtentError, r"gather: part 1 has shape \(4,\); accepted: \(4, 4\)"),
        (lambda p, x: p.gather([tr.ones((4, 4), dtype="I32")]), DTypeError, r"gather: part 0 is I32; accepted: F64"),
        (lambda p, x: p.gather([x, tr.ones((4, 4), placement="meta")]), PlacementError, r"gather"),
        (lambda p, x: p(x, tr.ones((4, 4), placement="meta")), PlacementError, r"einsum"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    x = tr.ones((4, 4))
    with pytest.raises(error, match=message):
        call(plan("ij,jk->ik", x, x).with_slices("j"), x)


def test_numbers_of_numpy_number_slices_and_parts() -> None:
    x = tr.ones((6, 6))
    found = plan("ij,jk->ik", x, x).with_slices({"j": np.int64(2)})

    assert found.slices.count == 3
    assert found.run_slice(np.int64(2), x, x).to_numpy().tolist() == [[2.0] * 6] * 6  # type: ignore[arg-type]
    for number in (True, 1.0, "0", None):
        with pytest.raises(ArgumentError, match=r"run_slice: number is .*; accepted: an int"):
            found.run_slice(number, x, x)  # type: ignore[arg-type]
    for parts in (3, np.array(3), tr.tensor(3)):
        with pytest.raises(ForeignOperandError, match=r"gather: parts are .*; accepted: an iterable of tensors"):
            found.gather(parts)  # type: ignore[arg-type]


def test_errors_of_a_generator_of_parts_are_its_own() -> None:
    def broken() -> Any:
        raise TypeError("of the generator")
        yield

    with pytest.raises(TypeError, match=r"^of the generator$"):
        plan("i->i", (3,)).with_slices("i").gather(broken())


class Side(Enum):
    LEFT = 1


def test_labels_are_named_as_they_are_shown_or_as_they_were_given() -> None:
    words = plan("[left bond]i,i[right]->", (2, 3), (3, 4))
    assert words.with_slices("left bond").slices.labels == ("left bond",)
    day, one = date(2020, 1, 1), np.int64(1)
    found = plan((2, 3), (Side.LEFT, day), (3, 4), (day, one), (Side.LEFT,))
    for labels in ([Side.LEFT, day, one], found.names, {day: 1, one: 1, Side.LEFT: 1}):
        assert found.with_slices(labels).slices.count == 24
    assert found.with_slices(day).slices.labels == ("datetime.date(2020, 1, 1)",)
    numbered = plan((2, 3), (0, 1), (3, 4), (1, 2), (0, 2))
    assert numbered.with_slices([1]).slices == numbered.with_slices(1).slices == numbered.with_slices("1").slices
