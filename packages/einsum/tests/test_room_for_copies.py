"""Copies of operands where memory is at its peak: the step goes by a kernel without any, if there is one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tensor_einsum as te
import tensor_runtime as tr
from tensor_core import F64, FormatError, UnsupportedOperationError
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum.execution.executor import bind_plan
from tensor_einsum.slices.needs import copying_within
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

NATIVE = pytest.mark.skipif(not AVAILABLE, reason="without the extension every product is NumPy's, with its copies")
# Batch labels are the fastest: BLAS would need the first operand, which is large, in another order.
LARGE = "abcdghjl,abcfjl->abcdghf", (7, 6, 3, 7, 4, 8, 9, 5), (7, 6, 3, 2, 9, 5)


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels without copies seem slow, so that products go to BLAS between copies wherever nobody minds."""
    found = rates()
    slow = found._replace(
        pairs=found.pairs._replace(call=1e12),
        packed=found.packed._replace(call=1e12),
        stack=found.stack._replace(call=1e12),
    )
    monkeypatch.setattr("tensor_cpu.kernels.costs.rates", lambda: slow)


def drawn(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)


@NATIVE
@pytest.mark.usefixtures("copying")
def test_a_large_operand_is_not_copied_where_that_would_be_the_peak() -> None:
    subscripts, *shapes = LARGE
    plan = te.plan(subscripts, *shapes)
    executable, _ = bind_plan(plan, [form_of(F64, shape, CPU) for shape in shapes])
    operand_bytes = 8 * int(np.prod(shapes[0]))
    assert workspace_of(registry.bind("contract", *_one_step(subscripts, *shapes))) >= operand_bytes
    assert executable.needed_bytes <= plan.intermediate_bytes + (1 << 16) < operand_bytes
    assert plan.peak_bytes == executable.needed_bytes
    x, y = drawn(shapes[0], 1), drawn(shapes[1], 2)
    found = plan(tr.asarray(x), tr.asarray(y)).to_numpy()
    assert np.array_equal(found, np.einsum(subscripts, x, y, optimize=True))


@NATIVE
@pytest.mark.usefixtures("copying")
def test_some_mebibytes_are_copied_unless_a_limit_forbids_them() -> None:
    subscripts = "abcdghjl,abcfjl->abcdghf"
    shapes = (3, 6, 3, 7, 4, 4, 9, 5), (3, 6, 3, 2, 9, 5)
    x, y = drawn(shapes[0], 1), drawn(shapes[1], 2)
    operands, expected = (tr.asarray(x), tr.asarray(y)), np.einsum(subscripts, x, y, optimize=True)
    free = te.plan(subscripts, *operands)
    assert free.copies_within is None
    assert free.peak_bytes > x.nbytes > free.intermediate_bytes  # a copy of it

    least = free.intermediate_bytes + (1 << 16)
    limited = te.plan(subscripts, *operands, memory_limit=least)
    assert (limited.copies_within, limited.slices.count) == (least, 1)
    assert limited.intermediate_bytes <= limited.peak_bytes <= least
    assert te.plan(subscripts, *operands, memory_limit=free.peak_bytes) == free != limited
    for plan in (free, limited, te.Plan.from_json(limited.to_json()), limited.reuse(*shapes)):
        pool.clear()
        before = pool.stats().used_bytes
        found = plan(*operands)
        assert pool.stats().peak_bytes - before <= plan.peak_bytes_on(*operands) * 5 // 4 + (1 << 20)  # and panels
        assert np.array_equal(found.to_numpy(), expected)


@NATIVE
@pytest.mark.usefixtures("copying")
def test_an_exponent_is_taken_off_without_such_copies_too() -> None:
    subscripts, *shapes = LARGE
    plan = te.plan(subscripts, *shapes)
    x, y = tr.asarray(drawn(shapes[0], 1)), tr.asarray(drawn(shapes[1], 2))
    plain = plan(x, y).to_numpy()
    pool.clear()
    before = pool.stats().used_bytes
    mantissa, exponent = plan(x, y, strip_exponent=True)
    assert pool.stats().peak_bytes - before <= plan.peak_bytes + (1 << 20) < x.nbytes
    np.testing.assert_allclose(mantissa.to_numpy() * 10.0**exponent, plain, rtol=1e-12)


@NATIVE
@pytest.mark.usefixtures("copying")
def test_slices_make_no_such_copies_either() -> None:
    subscripts, *shapes = LARGE
    x, y = drawn(shapes[0], 1), drawn(shapes[1], 2)
    sliced = te.plan(subscripts, *shapes).with_slices("g")
    operands = tr.asarray(x), tr.asarray(y)
    pool.clear()
    before = pool.stats().used_bytes
    found = sliced(*operands)
    assert sliced.peak_bytes <= sliced.intermediate_bytes + (1 << 16) < x.nbytes // shapes[0][5]  # a copy of its part
    assert pool.stats().peak_bytes - before <= sliced.peak_bytes * 5 // 4 + (1 << 16)  # buffers have size classes
    assert np.array_equal(found.to_numpy(), np.einsum(subscripts, x, y, optimize=True))


@NATIVE
@pytest.mark.parametrize(("side", "limit"), [(16, 1 << 16), (16, 1 << 18), (20, 1 << 20)])
def test_a_sliced_lattice_needs_hardly_more_than_its_intermediates(side: int, limit: int) -> None:
    """Many of its steps are as large as the limit: to make room for their copies, each would need a cut of its own."""
    bonds: list[str] = [""] * side**2
    neighbours = [(i, i + 1) for i in range(side**2) if (i + 1) % side]
    neighbours += [(i, i + side) for i in range(side * (side - 1))]
    for bond, (one, other) in enumerate(neighbours):
        bonds[one] += chr(0x4E00 + bond)
        bonds[other] += chr(0x4E00 + bond)
    found = te.plan(",".join(bonds) + "->", *[(2,) * len(own) for own in bonds], memory_limit=limit)
    assert found.peak_bytes <= limit
    assert found.peak_bytes <= found.intermediate_bytes * 17 // 16


@NATIVE
@pytest.mark.usefixtures("copying")
def test_a_copy_is_made_where_another_step_is_the_peak() -> None:
    """What is copied in the first step is less than the outer product afterwards takes."""
    subscripts, first, second = LARGE
    plan = te.plan(f"{subscripts.split('->')[0]},m->abcdghfm", first, second, (90,), optimize=[(0, 1), (0, 1)])
    executable, _ = bind_plan(plan, [form_of(F64, shape, CPU) for shape in (first, second, (90,))])
    alone = registry.bind("contract", *_one_step(subscripts, first, second))
    assert workspace_of(executable.instructions[0].kernel) == workspace_of(alone) > 1 << 16
    assert executable.needed_bytes == plan.intermediate_bytes


@NATIVE
@pytest.mark.parametrize(("algebra", "fold"), [("max_plus", np.max), ("min_plus", np.min)])
@pytest.mark.parametrize(
    ("subscripts", "dtypes", "shapes"),
    [
        ("ad,d->d", ("F32", "F64"), ((100, 100), (100,))),  # converted
        ("cde,adef->e", ("F64", "F64"), ((4, 100, 32), (7, 100, 32, 7))),  # folded over labels of one operand
        ("ab,b->", ("F32", "F64"), ((300, 300), (300,))),
    ],
)
def test_other_algebras_keep_their_kernels(
    subscripts: str, dtypes: tuple[str, str], shapes: tuple[Any, Any], algebra: str, fold: Any
) -> None:
    """A kernel without copies sums products; in these algebras it would be another result."""
    first, second = (drawn(shape, seed) for seed, shape in enumerate(shapes))
    terms, out = subscripts.split("->")
    labels = sorted(set(terms) - {","})
    spread = [
        np.einsum(f"{term}->{''.join(label for label in labels if label in term)}", operand)[
            tuple(slice(None) if label in term else None for label in labels)
        ]
        for term, operand in zip(terms.split(","), (first, second), strict=True)
    ]
    summed = tuple(place for place, label in enumerate(labels) if label not in out)
    expected = fold(spread[0] + spread[1], axis=summed)
    operands = [tr.cast(tr.asarray(x), name) for x, name in zip((first, second), dtypes, strict=True)]

    plan = te.plan(subscripts, *operands, algebra=getattr(tr.algebras, algebra.upper()))
    assert np.array_equal(plan(*operands).to_numpy(), expected)
    assert np.array_equal(te.einsum(subscripts, *operands, algebra=plan.algebra).to_numpy(), expected)


def _one_step(subscripts: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[Any, Any, Any]:
    a, b, out = subscripts.replace("->", ",").split(",")
    extents = dict(zip(a + b, first + second, strict=True))
    forms = form_of(F64, first, CPU), form_of(F64, second, CPU)
    result = form_of(F64, tuple(extents[label] for label in out), CPU)
    return forms, result, ContractParams(*(tuple(map(ord, term)) for term in (a, b, out)))


@NATIVE
@pytest.mark.parametrize("seed", range(30))
def test_products_without_copies_are_exact(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(10):
        labels = [chr(97 + place) for place in range(int(draw.integers(1, 7)))]
        extents = {label: int(draw.integers(0 if seed % 5 == 0 else 1, 5)) for label in labels}
        places = {label: draw.choice(["xy", "xr", "yr", "xyr", "x", "y"]) for label in labels}
        x, y, out = ("".join(label for label in draw.permutation(labels) if role in places[label]) for role in "xyr")
        shapes = [tuple(extents[label] for label in term) for term in (x, y)]
        forms, result, params = _one_step(f"{x},{y}->{out}", *shapes)
        kernel = registry.bind("lean_contract", forms, result, params)
        first, second = (drawn(shape, seed + place) for place, shape in enumerate(shapes))
        made = kernel(np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)).T
        assert np.array_equal(made, np.einsum(f"{x},{y}->{out}", first, second)), f"{x},{y}->{out}"


def test_products_that_need_a_copy_are_refused_by_name() -> None:
    read = form_of(F64, (3,), CPU), form_of(tr.F32, (3,), CPU)
    with pytest.raises(UnsupportedOperationError, match="lean_contract: no kernel multiplies these operands without"):
        registry.bind("lean_contract", read, form_of(F64, (), CPU), ContractParams((0,), (0,), ()))


@NATIVE
@pytest.mark.usefixtures("copying")
def test_no_copy_is_made_beyond_what_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    subscripts, shapes = "abcdghjl,abcfjl->abcdghf", ((3, 6, 3, 7, 4, 4, 9, 5), (3, 6, 3, 2, 9, 5))
    monkeypatch.setattr("tensor_einsum.execution.memory._UNCHECKED", 0)
    monkeypatch.setattr("tensor_einsum.execution.memory._UNCHECKED_ON_DEVICES", 0)
    x, y = drawn(shapes[0], 1), drawn(shapes[1], 2)
    operands, expected = (tr.asarray(x), tr.asarray(y)), np.einsum(subscripts, x, y, optimize=True)
    plan = te.plan(subscripts, *shapes)
    usable = [plan.peak_bytes]
    monkeypatch.setattr("tensor_einsum.execution.memory.recently_usable_bytes", lambda: usable[0])
    assert plan.peak_bytes == usable[0] > x.nbytes
    usable[0] = plan.intermediate_bytes + (1 << 16)
    assert plan.intermediate_bytes <= plan.peak_bytes <= usable[0]
    assert np.array_equal(plan(*operands).to_numpy(), expected)


@NATIVE
@pytest.mark.usefixtures("copying")
def test_a_batch_goes_at_once_where_it_keeps_its_limit_without_copies() -> None:
    subscripts, shapes = "abcdghjl,abcfjl->abcdghf", ((3, 6, 3, 7, 4, 4, 9, 5), (3, 6, 3, 2, 9, 5))
    x, ys = drawn(shapes[0], 1), drawn((*shapes[1], 3), 2)
    plan = te.plan(subscripts, *shapes)
    steps: list[tuple[int, int]] = []
    result = plan.map(
        [tr.asarray(x), tr.asarray(ys)],
        memory_limit=3 * plan.intermediate_bytes + (1 << 16),
        progress=lambda now: steps.append((now.done, now.total)),
    )
    assert steps == [(1, 1)]
    assert np.array_equal(result.to_numpy(), np.einsum("abcdghjl,abcfjlz->abcdghfz", x, ys, optimize=True))


@NATIVE
def test_what_ran_before_with_other_threads_decides_no_bit() -> None:
    rng = np.random.default_rng(1)
    shapes = (13, 12, 10, 9, 5, 8), (10, 13, 5, 8, 9)
    x, y = (tr.asarray(np.asfortranarray(rng.standard_normal(shape))) for shape in shapes)
    found = []
    for order in ((1, 2), (2, 1)):
        tr.binding_cache.clear()
        te.plan_cache.clear()
        made = {}
        for threads in order:
            with tr.set_threads(threads):
                made[threads] = te.einsum("cefbad,fcadb->ecd", x, y).to_numpy().tobytes()
        found.append(made)
    assert found[0] == found[1]


def test_limits_that_slices_keep_and_those_of_other_algebras_say_nothing_of_copies() -> None:
    whole = te.plan("ij,jk->ik", (6, 6), (6, 6))
    assert copying_within(whole, 100).with_slices(()) == copying_within(whole, 100) != whole
    assert copying_within(whole.with_slices("j"), 100) == whole.with_slices("j")
    other = te.plan("ij,jk->ik", (6, 6), (6, 6), algebra=tr.algebras.MAX_PLUS)
    assert copying_within(other, 100) is other


@pytest.mark.parametrize("found", [-1, 1.5, True, "5"])
def test_a_stored_limit_of_copies_is_an_int_of_a_plan_without_slices(found: Any) -> None:
    content = json.loads(copying_within(te.plan("ij,jk->ik", (6, 6), (6, 6)), 100).to_json())
    assert te.Plan.from_json(json.dumps(content)).copies_within == 100
    for broken in ({"copies_within": found}, {"sliced": [[1, 2]]}):
        with pytest.raises(FormatError, match=r"copies_within is .*; accepted: null, or an int from 0 on of a plan wi"):
            te.Plan.from_json(json.dumps({**content, **broken}))
