"""Memory of other libraries on devices of CUDA, and ours for them: shared, ordered, and given back in time."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from tensor_core.dtypes import F64
from tensor_core.errors import ArgumentError, DTypeError, ExchangeError
from tensor_core.host.dlpack.borrowing import take_device_capsule
from tensor_core.host.tensor import HostTensor
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceKind


def lending(seed: int) -> CudaBackend:
    machine = Machine(devices=2, memory_bytes=1 << 20, seed=seed)
    return CudaBackend(CupyApi(modules(machine)), DeviceKind.other("lent"))


@pytest.fixture
def backend() -> CudaBackend:
    return lending(seed=1)


class Theirs:
    """Memory of another library on device 1, with numbers that its own stream writes late."""

    def __init__(self, backend: CudaBackend, **facts: Any) -> None:
        api = backend.api
        self.stream, self.address = api.new_stream(1), api.allocate(1, 96)
        api.upload(self.stream, self.address, np.arange(12.0).tobytes())
        self.__cuda_array_interface__ = {
            "shape": (3, 4),
            "typestr": "<f8",
            "data": (self.address, False),
            "strides": None,
            "stream": api.handle(self.stream),
            "version": 3,
            **facts,
        }


def elements(backend: CudaBackend, borrowed: Any) -> Any:
    array, form = borrowed
    copied, fresh = backend._copied(array, form)
    return backend.download(copied, fresh).to_nested()


def test_memory_of_the_interface_is_shared_and_waited_for(backend: CudaBackend) -> None:
    theirs = Theirs(backend)
    array, form = borrowed = backend.borrow(theirs, None) or pytest.fail("nothing was borrowed")

    assert (array.address, form.shape, form.strides, repr(form.placement)) == (theirs.address, (3, 4), (4, 1), "lent:1")
    assert elements(backend, borrowed) == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_whatever_stream_uses_borrowed_memory_waits_for_its_owner(seed: int) -> None:
    backend = lending(seed)
    theirs = Theirs(backend)
    borrowed = backend.borrow(theirs, None) or pytest.fail("nothing was borrowed")
    executor = backend.executor(borrowed[1].placement)
    with executor.using(executor.new_stream()):
        assert elements(backend, borrowed) == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_whoever_is_lent_borrowed_memory_waits_for_its_owner(seed: int) -> None:
    backend = lending(seed)
    theirs = Theirs(backend)
    array, form = backend.borrow(theirs, None) or pytest.fail("nothing was borrowed")
    consumer, taken = backend.api.new_stream(1), bytearray(96)

    backend.lend_dlpack(array, form, backend.api.handle(consumer), (1, 1), None)
    backend.api.download(consumer, array.address, taken)
    backend.api.synchronize(consumer)
    assert np.frombuffer(taken).tolist() == np.arange(12.0).tolist()


def test_steps_that_run_backwards_are_taken_from_their_first_element(backend: CudaBackend) -> None:
    theirs = Theirs(backend)
    theirs.__cuda_array_interface__.update(data=(theirs.address + 88, False), strides=(-32, -8))
    array, _ = borrowed = backend.borrow(theirs, False) or pytest.fail("nothing was borrowed")

    assert (array.allocation.address, array.allocation.nbytes, backend.offset_of(array)) == (theirs.address, 96, 11)
    assert elements(backend, borrowed) == np.arange(12.0)[::-1].reshape(3, 4).tolist()


@pytest.mark.parametrize("copy", [True, None])
def test_what_must_not_be_written_and_what_is_asked_for_is_copied(backend: CudaBackend, copy: bool | None) -> None:
    theirs = Theirs(backend)
    theirs.__cuda_array_interface__.update(data=(theirs.address, copy is None))
    array, form = borrowed = backend.borrow(theirs, copy) or pytest.fail("nothing was borrowed")

    assert array.address != theirs.address
    assert form.is_compact
    assert elements(backend, borrowed) == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize(
    ("facts", "error", "message"),
    [
        ({"typestr": "<f2"}, DTypeError, "element type is '<f2'; accepted: F32"),
        ({"mask": object()}, ExchangeError, "has a mask"),
        ({"strides": (33, 8)}, ExchangeError, r"strides of \(33, 8\) bytes are no multiples of 8"),
        ({"data": (0x700000000004, False)}, ExchangeError, "is no address of elements of F64"),
        ({"data": (0x700000000000, True)}, ExchangeError, "must not be written, so it takes a copy, and copy=False"),
    ],
)
def test_what_cannot_be_borrowed_is_refused(
    backend: CudaBackend, facts: dict[str, Any], error: type[Exception], message: str
) -> None:
    backend.cupy.runtime.pointerGetAttributes = lambda ptr: SimpleNamespace(device=1)

    with pytest.raises(error, match=message):
        backend.borrow(Theirs(backend, **facts), False)


def test_the_lender_is_let_go_when_what_used_its_memory_has_run(backend: CudaBackend) -> None:
    theirs = Theirs(backend)
    gone = weakref.ref(theirs)
    array, form = backend.borrow(theirs, None) or pytest.fail("nothing was borrowed")
    kept = backend._copied(array, form)
    executor = backend.executor(form.placement)
    del theirs, array, kept
    gc.collect()
    executor.drop_leases()
    assert gone() is not None
    executor.synchronize()

    assert gone() is None


def ours(backend: CudaBackend) -> tuple[Any, Any]:
    host = HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]])
    form = form_of(F64, (2, 2), backend.placements()[1])
    return backend.upload(host, form), form


def test_a_consumers_stream_waits_for_what_is_lent(backend: CudaBackend) -> None:
    (array, form), api = ours(backend), backend.api
    for stream in (None, 1, api.handle(api.new_stream(1))):
        handle = stream or 1
        capsule = backend.lend_dlpack(array, form, stream, (1, 1), None)
        lent = SimpleNamespace(__dlpack__=lambda capsule=capsule, **asked: capsule)
        dtype, layout, first, readonly, _ = take_device_capsule(lent, (2, 1), handle)
        assert (dtype, layout.strides, first, readonly) == (F64, (1, 2), array.address, False)
        consumer, taken = api.stream_of(1, handle), bytearray(32)
        api.download(consumer, first, taken)
        api.synchronize(consumer)
        assert np.frombuffer(taken).tolist() == [1.0, 3.0, 2.0, 4.0]


def test_what_runs_backwards_is_lent_as_a_copy_or_not_at_all(backend: CudaBackend) -> None:
    array, form = ours(backend)
    view, turned = array.moved(1), form_of(F64, (2, 2), form.placement, (-1, 2))
    capsule = backend.lend_dlpack(view, turned, -1, None, None)
    lent = SimpleNamespace(__dlpack__=lambda **asked: capsule)
    _, layout, first, _, _ = take_device_capsule(lent, (2, 1), None)

    assert layout.strides == (1, 2)
    assert first != array.address
    with pytest.raises(ExchangeError, match="run backwards"):
        backend.lend_dlpack(view, turned, None, None, False)
    with pytest.raises(ArgumentError, match="stream is 0; accepted: None, -1, 1, 2"):
        backend.lend_dlpack(array, form, 0, None, None)


def test_the_interface_tells_where_memory_is_and_which_stream_writes_it(backend: CudaBackend) -> None:
    array, form = ours(backend)
    facts = backend.lend_cuda_interface(array, form)

    assert facts == {
        "shape": (2, 2),
        "typestr": "<f8",
        "data": (array.address, False),
        "strides": (8, 16),
        "stream": backend.api.handle(array.allocation.writer),
        "version": 3,
    }
    lent = SimpleNamespace(__cuda_array_interface__=facts)
    borrowed = backend.borrow(lent, False) or pytest.fail("nothing was borrowed")
    assert (borrowed[0].address, borrowed[1]) == (array.address, form)
    assert elements(backend, borrowed) == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("shape", "strides", "told"),
    [
        ((2, 2), (-1, 2), ((-8, 16), False)),
        ((2, 3), (1, 0), ((8, 0), True)),  # elements that are repeated must not be written
        ((), (), ((), False)),
    ],
)
def test_the_interface_tells_strides_in_bytes_and_what_must_not_be_written(
    backend: CudaBackend, shape: tuple[int, ...], strides: tuple[int, ...], told: tuple[tuple[int, ...], bool]
) -> None:
    array, whole = ours(backend)
    facts: Any = backend.lend_cuda_interface(array.moved(1), form_of(F64, shape, whole.placement, strides))

    assert (facts["strides"], facts["data"]) == (told[0], (array.address + 8, told[1]))
    assert facts["shape"] == shape


def test_the_interface_tells_no_address_of_nothing_and_of_borrowed_memory_the_stream_that_waits(
    backend: CudaBackend,
) -> None:
    array, form = ours(backend)
    none: Any = backend.lend_cuda_interface(array, form_of(F64, (0, 2), form.placement))
    assert none["data"] == (0, False)

    theirs = Theirs(backend)
    borrowed = backend.borrow(theirs, False) or pytest.fail("nothing was borrowed")
    waiting = backend.executor(borrowed[1].placement).stream()
    assert backend.lend_cuda_interface(*borrowed)["stream"] == backend.api.handle(waiting)


def test_memory_that_the_interface_told_of_is_used_again_after_the_default_stream(backend: CudaBackend) -> None:
    (array, form), api, taken = ours(backend), backend.api, bytearray(32)
    facts: Any = backend.lend_cuda_interface(array, form)
    consumer = api.stream_of(1, 1)
    api.wait(consumer, api.record(api.stream_of(1, facts["stream"])))
    api.download(consumer, facts["data"][0], taken)
    del array
    executor = backend.executor(form.placement)
    executor.fill(executor.empty(form), 0, 32)
    executor.synchronize()
    api.synchronize(consumer)

    assert np.frombuffer(taken).tolist() == [1.0, 3.0, 2.0, 4.0]


def test_what_names_no_memory_is_left_alone(backend: CudaBackend) -> None:
    assert backend.borrow([1.0], None) is None
