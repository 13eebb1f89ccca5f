from __future__ import annotations

import copy
import gc
import pickle

import pytest

from tensor_core import F32, F64, TensorError
from tensor_core.errors import ArgumentError, SizeLimitError
from tensor_runtime.form import form_of
from tensor_runtime.placement import (
    CPU,
    DeviceId,
    DeviceKind,
    GpuBackendKind,
    MemoryKind,
    Placement,
    as_placement,
)

EVERY_KIND = [
    MemoryKind.Device,
    MemoryKind.other("hbm"),
    GpuBackendKind.Rocm,
    GpuBackendKind.other("metal"),
    DeviceKind.Cpu,
    DeviceKind.gpu(GpuBackendKind.Cuda),
    DeviceKind.other("torch-cpu"),
    DeviceId(DeviceKind.Cpu, 3),
    Placement(MemoryKind.PinnedHost, DeviceId(DeviceKind.Cpu, 0)),
    Placement(MemoryKind.Managed, None),
]


@pytest.mark.parametrize("value", EVERY_KIND, ids=repr)
def test_equal_content_is_the_same_object_after_copy_and_pickle(value: object) -> None:
    assert copy.copy(value) is value
    assert copy.deepcopy(value) is value
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) is value


@pytest.mark.parametrize("value", EVERY_KIND, ids=repr)
def test_placements_cannot_be_changed(value: object) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        value.name = "other"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "printed"), [("cpu", "cpu"), ("cpu:0", "cpu"), ("cpu:2", "cpu:2"), ("cuda", "cuda:0"), ("npu:1", "npu:1")]
)
def test_a_placement_is_named_by_text(text: str, printed: str) -> None:
    assert repr(as_placement(text)) == printed
    assert as_placement(printed) is as_placement(text)


@pytest.mark.parametrize("bad", ["", ":1", "cuda:", "cuda:-1", "cuda:x", "cuda:99999999999", None, 3])
def test_text_that_names_no_device_is_refused(bad: object) -> None:
    with pytest.raises(ArgumentError, match="placement"):
        as_placement(bad)  # type: ignore[arg-type]


def test_an_ordinal_below_zero_is_refused() -> None:
    with pytest.raises(ArgumentError, match="ordinal is -1"):
        DeviceId(DeviceKind.Cpu, -1)


def test_equal_forms_are_one_object() -> None:
    form = form_of(F64, (2, 3), CPU)

    assert form_of(F64, (2, 3), CPU, (1, 2)) is form
    assert form_of(F32, (2, 3), CPU) is not form
    assert form_of(F64, (2, 3), CPU, (3, 1)) is not form
    assert pickle.loads(pickle.dumps(form)) is form
    assert copy.deepcopy(form) is form


def test_strides_that_mean_nothing_do_not_make_another_form() -> None:
    assert form_of(F64, (1, 3), CPU, (77, 1)) is form_of(F64, (1, 3), CPU)
    assert form_of(F64, (0, 3), CPU, (5, -4)) is form_of(F64, (0, 3), CPU)
    assert form_of(F64, (0, 3), CPU).is_compact


def test_forms_that_nobody_uses_are_forgotten() -> None:
    strides = (12345, 1)
    first = id(form_of(F64, (2, 12345), CPU, strides))
    gc.collect()
    kept = form_of(F64, (2, 12345), CPU, strides)

    assert kept.strides == strides
    assert isinstance(first, int)


@pytest.mark.parametrize("shape", [(2**60,), (2**32, 2**32), (2**62, 0), (0, 2**61)])
def test_sizes_beyond_int64_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SizeLimitError, match="more than 2\\*\\*63 - 1 bytes") as caught:
        form_of(F64, shape, CPU)
    assert isinstance(caught.value, TensorError)
