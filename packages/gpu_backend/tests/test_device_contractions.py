"""Contractions on simulated devices: by the library and by programs of our own, in as few submissions as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from random import Random
from typing import Any, cast

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.dtypes import F64, I64
from tensor_core.errors import OutOfMemoryError
from tensor_einsum import plan
from tensor_einsum.errors import MemoryLimitError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.api import Gemm
from tensor_gpu.kernels.contraction import unary
from tensor_gpu.kernels.contraction.choice import DirectSum, contraction_of, plan_contraction
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.bench import Bench
from tensor_gpu.sim.blas import check_gemm
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Limits
from tensor_gpu.tables.rates import Costs
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceKind, Placement, as_placement

Array = np.ndarray[Any, Any]


@pytest.fixture
def api() -> Iterator[SimulatedApi]:
    """A device ``products:0`` of its own."""
    found = SimulatedApi(devices=1, memory_bytes=1 << 28)
    tr.register_backend("products", DeviceBackend(found, DeviceKind.other("products")))
    yield found
    registry.unregister("products")


def on_device(array: Array, random: Random) -> tr.Tensor:
    """The array on the device, as a view with axes in another order, gaps and backwards axes."""
    order = list(range(array.ndim))
    random.shuffle(order)
    moved = array.transpose(order)
    steps = [random.choice([1, 1, 2, -1]) for _ in order]
    spread = np.zeros([extent * abs(step) for extent, step in zip(moved.shape, steps, strict=True)], array.dtype)
    spread[tuple(slice(None, None, step) for step in steps)] = moved
    tensor = tr.to(tr.asarray(spread), "products:0")
    tensor = tensor[(..., *(slice(None, None, step) for step in steps))]
    return tr.transpose(tensor, [order.index(axis) for axis in range(array.ndim)])


def numbers(shape: tuple[int, ...], dtype: str, random: Random) -> Array:
    """Small whole numbers, so that every order of additions is exact."""
    draw = np.random.default_rng(random.randrange(2**32))
    real = draw.integers(-3, 4, shape)
    return (real + 1j * draw.integers(-3, 4, shape)).astype(dtype) if dtype[0] == "c" else real.astype(dtype)


def some_equation(random: Random) -> tuple[str, dict[str, int]]:
    """An equation of two operands, and extents of its letters."""
    letters = "abcdefg"[: random.randint(1, 7)]
    roles = {letter: random.choice(["batch", "inner", "first", "second", "only"]) for letter in letters}
    terms = [
        [one for one in letters if roles[one] in ("batch", "inner", side) or (roles[one] == "only" and side == "first")]
        for side in ("first", "second")
    ]
    out = [one for one in letters if roles[one] in ("batch", "first", "second")]
    for term in (*terms, out):
        random.shuffle(term)
    extents = {one: random.choice([1, 2, 3, 5]) for one in letters}
    return f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(out)}", extents


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("way", ["library", "program"])
def test_any_contraction_of_any_views_is_exact(
    seed: int, way: str, api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sums", "outer") if way == "library" else ("products", "least_products"):
        monkeypatch.setattr(Costs, name, lambda *given, **options: 1e30)
    random = Random(seed)
    equation, extents = some_equation(random)
    dtype = random.choice(["float64", "complex128", "float32", "int64", "bool"])
    first, second = (
        numbers(tuple(extents[one] for one in term), dtype, random) for term in equation.split("->")[0].split(",")
    )
    expected = np.einsum(equation, first, second)

    found = tr.einsum(equation, on_device(first, random), on_device(second, random), optimize=[(0, 1)])

    assert tr.to(found, "cpu").to_numpy().tolist() == expected.tolist()
    if way == "program" or dtype in ("int64", "bool"):
        assert api.counts["gemms"] == 0
    else:
        assert api.counts["gemms"] == 1


@pytest.mark.parametrize(
    ("equation", "gemms", "launches"),
    [
        ("ij,jk->ik", 1, 0),
        ("ji,jk->ik", 1, 0),
        ("ij,kj->ik", 1, 0),
        ("ji,kj->ki", 1, 0),
        ("ijb,jkb->ikb", 1, 0),
        ("ijb,jk->ikb", 1, 0),  # the matrix is read again for each of the others
        ("ij,jkb->ikb", 1, 0),
        ("bij,jkb->ikb", 1, 1),  # one operand has no axis without gaps: it is copied
        ("ijb,jkb->bik", 1, 1),  # the result has none
        ("ij,j->i", 1, 0),
        ("ij,ij->", 1, 0),
    ],
)
def test_products_are_one_call_and_copy_nothing_needless(
    equation: str, gemms: int, launches: int, api: SimulatedApi
) -> None:
    random = Random(1)
    extents = {"i": 256, "j": 192, "k": 160, "b": 6}
    terms = equation.split("->")[0].split(",")
    arrays = [numbers(tuple(extents[one] for one in term), "float64", random) for term in terms]
    tensors = [tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in arrays]
    api.counts.clear()

    with tr.trace_transfers() as log:
        found = tr.einsum(equation, *tensors)

    assert (api.counts["gemms"], api.counts["launches"]) == (gemms, launches)
    assert not log
    assert tr.to(found, "cpu").to_numpy().tolist() == np.einsum(equation, *arrays).tolist()


def test_a_product_of_trailing_batches_is_one_call_and_no_copy(api: SimulatedApi) -> None:
    random = Random(2)
    a, b = (numbers((64, 64, 1000), "float64", random) for _ in range(2))
    x, y = (tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in (a, b))
    api.counts.clear()

    found = tensor_linalg.matmul(x, y)

    assert dict(api.counts) == {"gemms": 1, "flops": plan("ijb,jkb->ikb", x, y).flops}
    assert np.array_equal(tr.to(found, "cpu").to_numpy(), np.einsum("ijb,jkb->ikb", a, b, optimize=True))


@pytest.mark.parametrize("turned", ["ij,jk->ik", "ji,jk->ik", "ji,kj->ki", "ij,jk->ki"])
def test_conjugates_are_read_where_they_lie_or_written_first(turned: str, api: SimulatedApi) -> None:
    random = Random(3)
    left, right = turned.split("->")[0].split(",")
    extents = {"i": 128, "j": 160, "k": 96}
    arrays = [numbers(tuple(extents[one] for one in term), "complex128", random) for term in (left, right)]
    x, y = (tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in arrays)

    found = tr.einsum(turned, x, y, conj=(0,))

    assert np.array_equal(tr.to(found, "cpu").to_numpy(), np.einsum(turned, arrays[0].conj(), arrays[1]))
    assert api.counts["gemms"] == 1


def test_a_label_that_one_operand_repeats_is_summed_over_all_its_elements(api: SimulatedApi) -> None:
    random = Random(7)
    a, b = numbers((64, 1, 96), "float64", random), numbers((5, 96, 64), "float64", random)
    x, y = (tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in (a, b))
    backend: Any = tr.backend("products")
    forms = form_of(F64, (64, 1, 96), x.placement), form_of(F64, (5, 96, 64), x.placement)
    form = form_of(F64, (64, 64), x.placement)
    params = ContractParams((0, 1, 2), (1, 2, 3), (0, 3))

    kernel = backend.bind("contract", forms, form, params)
    found = backend.download(kernel(x.buffer.array, y.buffer.array), form)

    assert api.counts["gemms"] == 1
    assert found.to_nested() == np.einsum("ijl,jlk->ik", np.broadcast_to(a, (64, 5, 96)), b).tolist()


@pytest.mark.parametrize(
    ("capability", "plan"),
    [((9, 0), MatrixProduct), ((8, 6), DirectSum)],
    ids=["products of F64 are fast", "products of F64 are slow"],
)
def test_devices_decide_by_their_own_rates(capability: tuple[int, int], plan: type) -> None:
    bench = Bench()
    form, result = bench.form((256, 48)), bench.form((256, 256))
    found = contraction_of((form, form), ((0, 1), (2, 1)), result, (0, 2))

    with bench.api.under(Limits(devices=1, memory_bytes=1 << 20, compute_capability=capability)):
        assert type(plan_contraction(bench.executor, found, result)) is plan


def test_what_nothing_is_added_to_is_one_launch_of_products(api: SimulatedApi) -> None:
    random = Random(8)
    a, b = numbers((7, 3), "int64", random), numbers((3, 5), "float64", random)
    x, y = (tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in (a, b))
    api.counts.clear()

    found = tr.einsum("ib,bj->jib", x, y)

    assert (api.counts["launches"], api.counts["gemms"]) == (1, 0)
    assert tr.to(found, "cpu").to_numpy().tolist() == np.einsum("ib,bj->jib", a, b).tolist()


def test_factors_of_other_types_than_the_result_are_multiplied_in_its_type(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sums", "products", "least_products"):
        monkeypatch.setattr(Costs, name, lambda *given, **options: 1e30)
    large = tr.to(tr.tensor([2**40, -(2**40)]), "products:0")
    small = tr.to(tr.tensor([0.5, 2.0, 4.0]), "products:0")
    given, form = (form_of(dtype, shape, large.placement) for dtype, shape in ((I64, (2,)), (F64, (2, 2))))
    backend: Any = tr.backend("products")
    kernel = backend.bind("contract", (given, given), form, ContractParams((0,), (1,), (0, 1)))
    found = backend.download(kernel(large.buffer.array, large.buffer.array), form)
    assert found.to_nested() == [[2.0**80, -(2.0**80)], [-(2.0**80), 2.0**80]]

    element, number = (form_of(dtype, (), large.placement) for dtype in (I64, F64))
    first = large.buffer.array
    assert (
        backend.download(
            backend.bind("contract", (element, element), number, ContractParams((), (), ()))(first, first), number
        ).to_nested()
        == 2.0**80
    )

    for first, second, third in permutations((large, small, tr.to(tr.tensor([True, False]), "products:0"))):
        made = tr.to(tr.einsum("i,j,k->ijk", first, second, third), "cpu").to_numpy()
        arrays = [tr.to(one, "cpu").to_numpy() for one in (first, second, third)]
        assert made.tolist() == np.einsum("i,j,k->ijk", *arrays).tolist()
    assert api.counts["gemms"] == 0


@pytest.mark.parametrize(
    ("equation", "shape", "shared"),
    [
        ("ij->", (300, 400), True),
        ("iij->j", (40, 40, 30), True),
        ("ijk->ki", (30, 500, 20), True),
        ("ij->jj", (200, 50), False),
        ("ij->ji", (20, 30), False),
    ],
)
def test_long_sums_of_one_operand_are_shared_among_threads(
    equation: str, shape: tuple[int, ...], shared: bool, api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    usual = unary.bind_reduction
    monkeypatch.setattr(unary, "bind_reduction", lambda *given: asked.append(given[1]) or usual(*given))
    random = Random(9)
    array = numbers(shape, "float64", random)
    x = on_device(array, random)

    found = tr.to(tr.einsum(equation, x), "cpu").to_numpy()

    expected = np.diag(array.sum(0)) if equation == "ij->jj" else np.einsum(equation, array)
    assert found.tolist() == expected.tolist()
    assert bool(asked) is shared


@pytest.mark.parametrize(
    ("equation", "shape", "program"),
    [
        ("ij->ji", (64, 100), "transposition"),
        ("abcd->dbca", (32, 4, 3, 40), "transposition"),
        ("abc->abc", (8, 9, 10), "elementwise"),
        ("iji->ji", (80, 70, 80), "elementwise"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_what_sums_nothing_is_a_copy_by_the_program_of_copies(
    equation: str, shape: tuple[int, ...], program: str, dtype: str, api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = numbers(shape, dtype, Random(3))
    x = tr.to(tr.asarray(np.asfortranarray(array)), "products:0")
    entries: list[str] = []
    usual = api.launch
    monkeypatch.setattr(api, "launch", lambda *given: (entries.append(given[1].program.entry), usual(*given))[1])
    found = tr.to(tr.einsum(equation, x), "cpu").to_numpy()
    assert (found.tolist(), entries) == (np.einsum(equation, array).tolist(), [program])


def test_a_network_gives_what_the_host_gives(api: SimulatedApi) -> None:
    random = Random(4)
    terms = ["abc", "bde", "cdf", "efgh", "gi", "hi"]
    extents = dict(zip("abcdefghi", [2, 3, 4, 3, 5, 2, 3, 4, 6], strict=True))
    equation = ",".join(terms) + "->a"
    arrays = [numbers(tuple(extents[one] for one in term), "float64", random) for term in terms]
    tensors = [tr.to(tr.asarray(np.asfortranarray(array)), "products:0") for array in arrays]

    found = tr.einsum(equation, *tensors)

    assert tr.to(found, "cpu").to_numpy().tolist() == np.einsum(equation, *arrays, optimize=True).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a_leading": 2}, "leading dimension of a is 2, less than its 3 rows"),
        ({"n": 2**31}, "n is 2147483648, which 31 bits do not hold"),
        ({"b_stride": -4}, "stride from matrix to matrix is negative"),
        ({"matrices": 2}, "results lie over each other"),
        ({"a_turned": "X"}, "turned 'X'"),
    ],
)
def test_what_the_library_refuses_is_refused(change: dict[str, Any], message: str) -> None:
    call = Gemm(F64, "N", "N", 3, 4, 5, 0, 3, 0, 0, 5, 0, 0, 3, 0, 1)
    check_gemm(call)

    with pytest.raises(SimulationError, match=message):
        check_gemm(call._replace(**change))


def test_the_place_of_the_result_is_the_operands(api: SimulatedApi) -> None:
    x = tr.ones((3, 3), placement="products:0")

    assert isinstance(tr.einsum("ij,jk->", x, x).placement, Placement)
    assert tr.einsum("ij,jk->", x, x).placement is x.placement


def test_what_a_device_cannot_hold_is_refused_before_its_first_launch() -> None:
    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]
    vectors = [tr.ones(33, placement="sim:0") for _ in range(4)]
    found = plan("a,b,c,d->abcd", *vectors)
    calls: list[Callable[[], object]] = [
        lambda: tr.einsum("a,b,c,d->abcd", *vectors),
        lambda: found(*vectors),
        lambda: found.with_slices("a")(*vectors),
    ]
    with api.under(Limits(memory_bytes=3 << 20)):
        before = api.counts.copy()
        for call in calls:
            with pytest.raises(
                OutOfMemoryError,
                match=r"needs 9\.\d MiB .*but sim:0 has 3\.0 MiB in all; .*optimize=.*memory_limit=.*force=True",
            ) as caught:
                call()
            assert (caught.value.usable, caught.value.operation) == (3 << 20, "einsum")
        with pytest.raises(MemoryLimitError, match=r"the limit is 3\.0 MiB"):
            found.environments(*vectors)
        assert api.counts == before
    pool: Any = tr.backend("sim").pool(vectors[0].placement)  # type: ignore[attr-defined]
    pool.set_limit(4 << 20)
    try:
        with pytest.raises(OutOfMemoryError, match=r"sim:0 has 4\.0 MiB in all"):
            calls[0]()
    finally:
        pool.set_limit(None)
    assert tr.einsum("a,b,c,d->abcd", *vectors).shape == (33, 33, 33, 33)


def test_a_result_and_its_wider_multiple_are_measured_by_the_memory_of_the_device() -> None:
    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]
    x = tr.ones(300, dtype="F32", placement="sim:0")
    with api.under(Limits(memory_bytes=1 << 20)):
        with pytest.raises(OutOfMemoryError, match=r"result in F32 and its multiple in C32 .* but sim:0 has 1\.0 MiB"):
            tr.einsum("a,b->ab", x, x, alpha=2j)
        assert tr.einsum("a,b->ab", x, x, alpha=2.0).shape == (300, 300)


@pytest.mark.parametrize(
    ("equation", "shapes", "kernel", "note"),
    [
        ("ij,jk->ik", ((256, 192), (192, 160)), "matrix product by the library", "estimated at"),
        ("ij,jk->ik", ((3, 4), (4, 5)), "program that sums products", "estimated at"),
        ("i,j->ij", ((300,), (400,)), "program of products", "estimated at"),
        ("ijb,jkb->bik", ((256, 192, 6), (192, 160, 6)), "matrix product by the library", "and then permuted"),
        ("ijx,jk->ik", ((256, 192, 2), (192, 160)), "matrix product by the library", "operand 0 is summed over axes"),
    ],
)
def test_a_device_explains_what_computes_a_contraction(
    equation: str, shapes: tuple[tuple[int, ...], ...], kernel: str, note: str, api: SimulatedApi
) -> None:
    place, backend = as_placement("products:0"), cast(Any, tr.backend("products"))
    terms, out = equation.split("->")
    labels = [tuple(map(ord, term)) for term in (*terms.split(","), out)]
    extents = {
        label: size for own, shape in zip(labels, shapes, strict=False) for label, size in zip(own, shape, strict=True)
    }
    result = form_of(F64, tuple(extents[label] for label in labels[2]), place)
    forms = tuple(form_of(F64, shape, place) for shape in shapes)

    told = backend.explain("contract", forms, result, ContractParams(*labels))

    assert told.kernel == kernel
    assert any(note in one for one in told.notes)
    assert (told.workspace_bytes > 0) is ("permuted" in note)
    assert 5e-6 < told.seconds < 1e-3
    assert api.counts["launches"] == api.counts["gemms"] == 0
    empty = form_of(F64, (0, 3), place)
    assert (
        backend.explain("contract", (empty, empty), empty, ContractParams((0, 1), (0, 1), (0, 1))).kernel == "program"
    )
