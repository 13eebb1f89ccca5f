"""Slices that a limit takes: found in bounded work, the same without the extension, and refused if they never end."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_cases import networks
from tensor_core.errors import OutOfMemoryError
from tensor_einsum import MemoryLimitError, Plan, native, plan
from tensor_einsum.slices import finder
from tensor_einsum.slices.finder import find_cuts
from tensor_einsum.slices.model import Model, Parts
from tensor_einsum.testing.networks import lattice, regular_graph


@pytest.mark.slow
def test_limits_where_flops_are_beyond_every_float() -> None:
    problem = regular_graph(40, 4, 3)
    operands = [part for term in problem.inputs for part in ((10_000,) * len(term), term)]
    with pytest.raises(MemoryLimitError) as caught:
        plan(*operands, (), memory_limit=4096, optimize="greedy")
    assert caught.value.smallest > 2**62


@pytest.mark.parametrize("count", [50, 100])
def test_a_limit_that_no_slices_keep_before_the_end_of_days_is_refused(count: int) -> None:
    star: list[Any] = [part for leaf in range(count) for part in ((30, 20), (0, leaf + 1))]
    with pytest.raises(MemoryLimitError) as caught:
        plan(*star, (), memory_limit=20)
    found = plan(*star, (), memory_limit=caught.value.smallest)
    assert found.peak_bytes <= caught.value.smallest < 300
    assert found.flops <= 4 * plan(*star, ()).flops


@st.composite
def models_and_cuts(draw: st.DrawFn) -> tuple[Model, Parts]:
    """A model whose kernels take workspaces, and some labels that are cut."""
    case = draw(networks(dtypes=("float64",)))
    shapes = [array.shape for array in case.arrays]
    found = plan(f"{','.join(case.inputs)}->{case.output}", *shapes, optimize=case.path)
    shares = [draw(st.sampled_from((0.0, 0.0, 0.37, 1.5))) for _ in found.steps]
    model = Model(found._network, found.steps, 8, shares, draw(st.booleans()))
    extents = model.network.extents
    cut = draw(st.sets(st.integers(0, max(len(extents) - 1, 0)), max_size=4))
    return model, {
        label: draw(st.integers(1, extents[label])) for label in cut if label < len(extents) and extents[label]
    }


@pytest.mark.skipif(not native.AVAILABLE, reason="the extension is absent")
@given(models_and_cuts(), st.integers(0, 2000))
def test_the_extension_finds_the_memory_that_python_does(drawn: tuple[Model, Parts], limit: int) -> None:
    model, parts = drawn
    sizes, varies = model.sizes(parts), model.varies(parts)
    labels = [label for label, extent in enumerate(model.network.extents) if extent > 1 and label not in parts]
    found = model.lives(parts, sizes, varies), model.excesses(parts, sizes, varies, labels, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "AVAILABLE", False)
        assert (model.lives(parts, sizes, varies), model.excesses(parts, sizes, varies, labels, limit)) == found


@pytest.mark.parametrize("extent", [10**9, 10**10, 10**15])
def test_memory_beyond_64_bits_is_counted_by_python(extent: int) -> None:
    found = plan("ij,jk,kl->il", (extent, 3), (3, extent), (extent, 5), optimize=((0, 1), (0, 1)))
    model = Model(found._network, found.steps, 8, [0.5] * len(found.steps))
    assert model.peak({}) > 8 * extent**2
    sizes, varies = model.sizes({}), model.varies({})
    unseen, seen = model.excesses({}, sizes, varies, [1, 2], 0)
    assert unseen is None and seen is not None and seen < model.peak({})
    assert find_cuts(model, 64 * extent) is not None


def test_hurried_cuts_keep_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = regular_graph(60, 3, 4)
    shapes = [part for term in problem.inputs for part in (tuple(problem.extents[label] for label in term), term)]
    whole = plan(*shapes, problem.output, optimize="greedy")
    model, limit = Model(whole._network, whole.steps, 8, [0.0] * len(whole.steps)), whole.intermediate_bytes // 50
    monkeypatch.setattr(finder, "_LOOKED_AT_WELL", 0)
    cuts = find_cuts(model, limit)
    assert cuts is not None and model.peak(dict(cuts)) <= limit


@pytest.mark.skipif(not native.AVAILABLE, reason="the extension is absent")
@pytest.mark.parametrize(("change", "message"), [
    ({1: ((0, 9),)}, "number 9 of 2"),
    ({1: ((0, 1, 1),)}, "one or two operands"),
    ({2: (((0, 7), (1,)),)}, "number 7 of 3"),
    ({3: ([0], [0])}, "do not belong together"),
    ({4: (b"", b"\1", b"\1")}, "a byte is asked for"),
])  # fmt: skip
def test_the_extension_refuses_what_is_no_path(change: dict[int, Any], message: str) -> None:
    path: list[Any] = [2, ((0, 1),), (((0, 1), (1, 2)),), ([0], [], [0]), (b"\1", b"\1", b"\1"), 8, 80, True]
    assert native.LIBRARY.lives(cast(Any, tuple(path)), [80], b"\1", [2, 3, 5], [0.0], False) == [80]
    for place, value in change.items():
        path[place] = value
    with pytest.raises(ValueError, match=message):
        native.LIBRARY.lives(cast(Any, tuple(path)), [80], b"\1", [2, 3, 5], [0.0], False)


@pytest.mark.skipif(not native.AVAILABLE, reason="the search in Python alone finds other orders")
def test_a_looser_limit_takes_hardly_more_flops() -> None:
    problem = lattice(14, 14)
    shapes = [part for term in problem.inputs for part in (tuple(problem.extents[label] for label in term), term)]
    whole = plan(*shapes, problem.output, dtype="C64")
    limits = [whole.peak_bytes // part for part in (2, 4, 8, 16, 32, 64)]
    flops = [plan(*shapes, problem.output, dtype="C64", memory_limit=limit).flops for limit in limits]
    assert all(looser <= 1.5 * tighter for looser, tighter in pairwise(flops))
    assert flops[-1] <= 5 * whole.flops


@pytest.mark.skipif(not native.AVAILABLE, reason="the search in Python alone finds other orders")
@pytest.mark.parametrize("limit", [672, 800, 900, 1000])
def test_a_search_for_a_lower_limit_never_makes_a_plan_dearer(limit: int) -> None:
    chain = ("ij,jk,kl,lm->im", (9, 8), (8, 7), (7, 6), (6, 9))
    assert plan(*chain, memory_limit=limit).flops <= {672: 16443}.get(limit, 2736)


@pytest.mark.parametrize(("notation", "extents", "dtype", "limits"), [
    ("fc,,c,ae,c->cf", {"f": 2, "c": 3, "a": 5, "e": 1}, "C64", range(128, 145)),
    ("fi,a,ch,cg,dfg,bdei,beh,a->cg", dict(zip("abcdefghi", (4, 4, 4, 3, 6, 4, 3, 4, 4), strict=True)), "F64",
     range(112, 121)),
])  # fmt: skip
def test_a_limit_above_one_that_is_kept_is_kept(
    notation: str, extents: dict[str, int], dtype: str, limits: range
) -> None:
    shapes = [tuple(extents[label] for label in term) for term in notation.partition("->")[0].split(",")]
    kept = []
    for limit in limits:
        try:
            kept.append(plan(notation, *shapes, dtype=dtype, memory_limit=limit).peak_bytes <= limit)
        except MemoryLimitError as error:
            assert error.smallest > limit
            kept.append(False)
    assert kept == sorted(kept) and kept[-1]


def test_a_plan_tells_how_long_its_limit_took() -> None:
    chain = "ij,jk,kl->il", *[(300, 300)] * 3
    for limit, takes in ((None, False), (10**9, True), (1_500_000, True)):
        record = plan(*chain, memory_limit=limit).search
        assert record is not None
        assert (record.limit_seconds > 0) is takes
    sliced = plan(*chain, memory_limit=1_500_000)
    assert Plan.from_json(sliced.to_json()) == pickle.loads(pickle.dumps(sliced)) == sliced


@pytest.mark.parametrize("limit", [0, 1000, 10**15])
def test_a_result_beyond_64_bits_is_refused_with_its_size(limit: int) -> None:
    with pytest.raises(MemoryLimitError) as caught:
        plan("i,j,k->ijk", (10**7,), (10**7,), (10**7,), memory_limit=limit)
    assert caught.value.smallest > 8 * 10**21


@pytest.mark.parametrize(("operands", "limit"), [(2, "1MB"), (3, 2**62), (4, 1000), (8, 1000)])
def test_what_is_too_large_to_address_is_refused_by_who_was_asked(operands: int, limit: int | str) -> None:
    extent = 1_000_000_007
    shapes = [part for one in range(operands) for part in ((extent, extent), (one, (one + 1) % 8))]
    output = () if operands == 8 else (0, operands)
    with pytest.raises(OutOfMemoryError, match=r"^plan: memory_limit is ") as caught:
        plan(*shapes, output, memory_limit=limit)
    if isinstance(caught.value, MemoryLimitError) and "more than can be addressed" not in str(caught.value):
        assert plan(*shapes, output, memory_limit=caught.value.smallest).peak_bytes <= caught.value.smallest
