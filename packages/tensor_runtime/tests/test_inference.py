from __future__ import annotations

import pickle
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    BackendError,
    DTypeError,
    PlacementError,
    PluginConflictError,
    PluginLoadError,
    ShapeError,
    UnsupportedOperationError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.registry import placements_of, registry
from tensor_runtime.form import form_of
from tensor_runtime.placement import as_placement
from tensor_runtime.testing.cases import all_cases
from tensor_runtime.testing.simulated_device import SimulatedBackend

X = (tr.F64, (2, 3))


def seen(*pairs: tuple[tr.DType, tuple[int, ...]]) -> list[object]:
    return [form_of(dtype, shape, tr.CPU) for dtype, shape in pairs]


def test_a_pair_of_dtype_and_shape_stands_for_a_tensor() -> None:
    assert [tr.infer(tr.add, X, (tr.I32, (3,)))] == seen((tr.F64, (2, 3)))
    assert [tr.infer(tr.equal, X, 1)] == seen((tr.Bool, (2, 3)))
    assert [tr.infer(tr.sum, (tr.I32, (4, 5)), axis=0, keepdims=True)] == seen((tr.I64, (1, 5)))
    assert [tr.infer(tr.cast, X, "I32")] == seen((tr.I32, (2, 3)))
    assert [tr.infer(tr.einsum, "ij,jk->ik", X, (tr.F64, (3, 4)))] == seen((tr.F64, (2, 4)))


def test_a_tensor_stands_for_its_form_and_a_view_has_its_strides() -> None:
    x = tr.zeros((2, 3))

    assert tr.infer(tr.transpose, x) is x.T._form
    assert tr.infer(lambda t: t[1:, ::-1], x) is x[1:, ::-1]._form
    assert tr.infer(tr.exp, x.T._form).is_compact


def test_nothing_is_allocated_for_what_no_memory_holds() -> None:
    huge = (tr.F32, (10**6, 10**7))

    assert tr.infer(tr.matmul, huge, (tr.F32, (10**7, 10**5))).shape == (10**6, 10**5)
    assert tr.infer(tr.zeros, (10**9, 10**6)).placement is tr.CPU
    assert tr.infer(tr.uniform, (10**9, 10**6), seed=1).dtype is tr.F64


def test_every_check_on_metadata_is_made() -> None:
    with pytest.raises(ShapeError, match=r"add: shapes \(2, 3\) and \(2,\) do not broadcast"):
        tr.infer(tr.add, X, (tr.F64, (2,)))
    with pytest.raises(DTypeError, match="negative: operand is Bool"):
        tr.infer(tr.negative, (tr.Bool, (2,)))
    with pytest.raises(PlacementError, match=r"operand 1: F64 \(2, 3\) on meta:0 \(npu:0\)"):
        tr.infer(tr.add, X, form_of(tr.F64, (2, 3), tr.Placement(tr.MemoryKind.Device, npu())))


def npu() -> tr.DeviceId:
    return tr.DeviceId(tr.DeviceKind.other("npu"), 0)


def test_results_are_where_the_operands_are() -> None:
    there = tr.Placement(tr.MemoryKind.Device, npu())

    assert tr.infer(tr.exp, form_of(tr.F64, (2,), there)).placement is there
    assert tr.infer(tr.ones, 3, placement="npu").placement is there


def test_what_stands_in_for_a_placement_is_listed_by_nobody_and_named_by_nobody() -> None:
    seen_there: list[tr.Placement] = []
    tr.infer(lambda x: seen_there.append(x.placement), X)
    (inside,) = seen_there

    assert repr(inside) == "meta:0 (cpu)"
    assert list(placements_of(tr.backend("meta"))) == [as_placement("meta")]
    transposed = tr.Placement(tr.MemoryKind.other("cpu"), inside.device)
    assert repr(transposed) == repr(inside)
    with pytest.raises(PlacementError, match=r"the meta backend has no such device or memory; it has meta:0$"):
        tr.zeros(2, placement=transposed)
    assert pickle.loads(pickle.dumps(inside)) is inside


def test_places_that_print_alike_are_still_different_ones() -> None:
    places = [
        tr.Placement(tr.MemoryKind.Device, tr.DeviceId(kind, 0))
        for kind in (tr.DeviceKind.other("rocm"), tr.DeviceKind.gpu(tr.GpuBackendKind.Rocm))
    ]
    assert repr(places[0]) == repr(places[1])
    for place in places:
        assert tr.infer(tr.exp, form_of(tr.F64, (2,), place)).placement is place
    with pytest.raises(PlacementError):
        tr.infer(tr.add, *(form_of(tr.F64, (2,), place) for place in places))


@pytest.mark.parametrize("error", [PluginConflictError("two claim it"), PluginLoadError("libnpu.so")])
def test_what_is_wrong_with_a_plug_in_is_told_here_too(error: BackendError, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(place: tr.Placement) -> object:
        raise error

    monkeypatch.setattr(registry, "backend_for", failing)
    with pytest.raises(type(error)) as caught:
        tr.infer(tr.zeros, 2, placement="npu")
    assert caught.value is error


def test_results_in_tuples_stay_in_their_tuples() -> None:
    import tensor_linalg as tl

    found = tr.infer(tl.svd, (tr.F64, (4, 3)))

    assert type(found).__name__ == "SVDResult"
    assert [form.shape for form in found] == [(4, 3), (3,), (3, 3)]


def test_lists_of_operands_and_nested_calls_are_seen_through() -> None:
    def mean_square(tensors: list[tr.Tensor]) -> tr.Tensor:
        total = tr.zeros((), placement=tensors[0].placement)
        for one in tensors:
            total = total + tr.sum(one * one)
        return total / len(tensors)

    assert [tr.infer(mean_square, [X, (tr.C64, (4,))])] == seen((tr.C64, ()))


@pytest.mark.parametrize(
    "function", [lambda x: x.item(), lambda x: float(x), tr.download, lambda x: tr.to(x, "cpu"), bool]
)
def test_what_depends_on_elements_is_refused(function: object) -> None:
    with pytest.raises(UnsupportedOperationError, match=r"a tensor of shape \(\) on meta:0 .* has no elements"):
        tr.infer(function, (tr.F64, ()))  # type: ignore[arg-type]


FACTOR: tr.Tensor = tr.ones((3,))
latest: int
calls = 0


def counted(x: tr.Tensor) -> tr.Tensor:
    global calls, latest, FACTOR
    calls += 1
    latest = calls
    FACTOR = x * FACTOR
    if x.shape == (0, 3):
        del latest
        raise KeyError("nothing")
    return FACTOR


def test_what_a_function_assigns_to_names_of_its_module_stays_but_for_tensors_that_it_found_there() -> None:
    factor, before = FACTOR, calls
    assert [tr.infer(counted, X)] == seen(X)
    tr.explain(counted, X)
    assert (calls, latest) == (before + 2, before + 2)
    with pytest.raises(KeyError):
        tr.infer(counted, (tr.F64, (0, 3)))
    assert calls == before + 3 and "latest" not in globals()
    assert factor is FACTOR


def test_lists_that_contain_themselves_are_looked_into_once() -> None:
    found: list[Any] = [tr.ones((2, 3))]
    found.append((found, found))
    none: list[Any] = [1]
    none.append(none)

    def work(x: tr.Tensor) -> tr.Tensor:
        assert found[1][0] is found and found[1][1] is found and none[1] is none
        return tr.add(x, found[1][0][0])

    assert [tr.infer(work, X)] == seen(X)
    assert [tr.infer(lambda given: given[1][0][0], found)] == seen(X)
    assert tr.sum(found[0]).item() == 6.0


def test_meta_is_a_placement_like_any_other() -> None:
    x = tr.zeros((2, 3), placement="meta")

    assert (x @ x.T + 1).shape == (2, 2)
    assert repr(x) == "Tensor(F64, (2, 3), column-major, meta:0)"
    assert x.T.layout.offset == 0
    tr.mutable_view(x)[0] = 1.0
    assert tr.to(tr.ones((3,)), "meta").shape == (3,)
    with pytest.raises(PlacementError, match="nothing is moved silently"):
        x.to_numpy()


def test_meta_is_listed_and_described() -> None:
    assert "meta" in [row.name for row in tr.backends()]
    assert tr.backend("meta").describe() == {"computes": "nothing; shapes and dtypes only"}
    tr.backend("meta").synchronize()


def test_a_simulated_device_is_not_asked() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "asked")

    assert tr.infer(tr.exp, form_of(tr.F64, (2,), device.placement())).placement is device.placement()


CASES = tuple(case for case in all_cases() if case.operands)


@pytest.mark.parametrize("operation", sorted({case.operation for case in CASES}))
def test_infer_agrees_with_the_conformance_cases(operation: str) -> None:
    for case in CASES:
        if case.operation != operation:
            continue
        pairs = [(host.dtype, host.shape) for host in case.operands]
        if case.error is not None:
            try:
                tr.infer(case.call, *pairs)
            except case.error:
                pass  # a check on metadata; one on elements passes here
            continue
        try:
            found = tr.infer(case.call, *pairs)
        except UnsupportedOperationError as error:
            assert "elements" in str(error), case.id
            continue
        wanted = case.expected()
        for form, host in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
            assert isinstance(host, HostTensor)
            assert (form.dtype, form.shape, form.placement) == (host.dtype, host.shape, tr.CPU), case.id
