"""What CuPy's modules are asked, and that it computes what it must, on what stands for them (``tools/fake_cupy``)."""

from __future__ import annotations

import ctypes
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from fake_cupy.driver import Machine
from fake_cupy.libraries import Nvrtc, modules
from fake_cupy.library import WORKSPACE
from tensor_core.dtypes import C64, F32, F64, I64
from tensor_core.errors import BackendError, MissingAttributeError
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.functions import Functions
from tensor_gpu.cuda.probe import PROBE, CupyProbe
from tensor_gpu.cuda.report import examine
from tensor_gpu.device.api import Gemm, Launch, Solver, Stack
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.creation import full_program
from tensor_gpu.programs.source import OPTIONS
from tensor_gpu.tables.drivers import DriverTable, Rule
from tensor_runtime.errors import NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.testing.conformance_parts.devices import DevicesConformance


@pytest.mark.parametrize(
    ("capability", "told", "asked"),
    [
        ((8, 6), True, "sm_86"),
        ((12, 0), True, "compute_90"),
        ((8, 9), True, "compute_86"),  # in a gap of what the compiler knows
        ((12, 0), False, "compute_90"),
        ((8, 0), False, "sm_80"),
    ],
)
def test_a_device_that_the_compiler_does_not_know_gets_code_that_its_driver_compiles_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], told: bool, asked: str
) -> None:
    if not told:
        monkeypatch.delattr(Nvrtc, "getSupportedArchs")
        monkeypatch.setattr(Nvrtc, "_ARCHITECTURES", (80, 90))
    machine.capability = capability
    api, taken = CupyApi(modules(machine)), bytearray(8)
    stream, address = api.new_stream(0), api.allocate(0, 8)
    api.launch(stream, Launch(writing(7), 1, 1, (address,)))
    api.download(stream, address, taken)
    api.synchronize(stream)

    assert machine.noted("compileProgram")[0][1][-1] == f"--gpu-architecture={asked}"
    assert int.from_bytes(taken, "little") == 7


def test_a_device_that_is_too_old_for_the_compiler_is_refused(machine: Machine) -> None:
    machine.capability = (3, 5)
    api = CupyApi(modules(machine))
    with pytest.raises(BackendError, match=r"write does not compile for sm_35: NVRTC_ERROR_INVALID_OPTION \(5\)"):
        api.launch(api.new_stream(0), Launch(writing(7), 1, 1, (0,)))


@made_once
def writing(number: int) -> Program:
    def work(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        memory.view(int(arguments[0]), I64, (1,), (1,))[...] = number

    return Program("write", f'extern "C" __global__ void write(long long* x) {{ x[0] = {number}; }}', work)


def test_the_programs_used_last_stay_and_others_are_unloaded_when_their_device_has_run(
    machine: Machine, api: CupyApi
) -> None:
    api._functions = Functions(api._load, lambda ordinal: machine.runtime.deviceSynchronize(), most=2)
    programs = [writing(number) for number in range(3)]
    stream, address = api.new_stream(1), api.allocate(1, 8)
    for number in (0, 1, 0, 2, 0, 1):
        api.launch(stream, Launch(programs[number], 1, 1, (address,)))
    taken = bytearray(8)
    api.download(stream, address, taken)
    api.synchronize(stream)

    assert int.from_bytes(taken, "little") == 1
    assert machine.noted("load", "deviceSynchronize", "unload") == [
        *[("load", (1,))] * 3,
        *[("deviceSynchronize", (1,)), ("unload", (1, 1))],  # of 1, as 0 was used after it
        *[("load", (1,)), ("deviceSynchronize", (1,)), ("unload", (1, 1))],  # of 2
    ]


def test_a_machine_with_everything_passes_its_report(machine: Machine) -> None:
    class Probe(CupyProbe):
        def installed(self) -> bool:
            return True

        def load(self) -> str:
            self.modules = modules(machine)
            return self.modules.version

    assert examine(Probe()).message == ""
    assert not machine.noted("deviceEnablePeerAccess")
    assert machine.noted("launch")[0][1][:3] == ("probe", (1, 1, 1), (1, 1, 1))


def test_products_name_orders_leading_dimensions_and_strides(machine: Machine, api: CupyApi) -> None:
    stream, (a, b, c) = api.new_stream(1), (api.allocate(1, 1 << 12) for _ in range(3))
    api.gemm(stream, Gemm(C64, "C", "T", 2, 3, 4, a, 5, 21, b, 6, 0, c, 2, 6, 7))

    assert machine.noted("zgemmStridedBatched") == [
        ("zgemmStridedBatched", (1, "C", "T", 2, 3, 4, a, 5, 21, b, 6, 0, c, 2, 6, 7))
    ]


def test_programs_are_compiled_once_for_each_device_and_get_eight_bytes_for_each_argument(
    machine: Machine, api: CupyApi
) -> None:
    address, full = 0, full_program(F64)
    for ordinal in (0, 1, 0):
        stream, address = api.new_stream(ordinal), api.allocate(ordinal, 8)
        api.launch(stream, Launch(full, 3, 64, (address, 2.5, 1)))
        api.synchronize(stream)

    assert machine.noted("load") == [("load", (0,)), ("load", (1,))]
    assert machine.noted("compileProgram")[0][1] == (*OPTIONS, "--gpu-architecture=sm_90")
    assert machine.noted("createProgram")[0][1] == (f"{full.entry}.cu", (), ())
    launched = full.entry, (3, 1, 1), (64, 1, 1), (address, 2.5, 1)
    assert machine.noted("launch")[-1] == ("launch", launched)


def test_a_source_that_does_not_compile_is_refused_with_the_log(api: CupyApi) -> None:
    with pytest.raises(BackendError, match=r"^bad does not compile for sm_90: NVRTC.*\(6\): no kernel is in it$"):
        api.launch(api.new_stream(0), Launch(Program("bad", "void", lambda memory, given: None), 1, 1, ()))


def test_a_routine_runs_matrix_by_matrix_on_one_workspace(machine: Machine, api: CupyApi) -> None:
    stream = api.new_stream(0)
    a, tau, infos = api.allocate(0, 96), api.allocate(0, 32), api.allocate(0, 8)
    api.upload(stream, a, np.arange(12.0).tobytes())
    api.solver(
        stream, Solver("geqrf", F64, (3, 2), (Stack(a, 3, 6), Stack(tau, 2, 2)), infos, 2), partial(api.allocate, 0)
    )
    taken = bytearray(8)
    api.download(stream, infos, taken)
    api.synchronize(stream)

    (first, second) = (arguments for _, arguments in machine.noted("dgeqrf"))
    work = first[-3]
    assert first == (1, 3, 2, a, 3, tau, 1, work, WORKSPACE, infos)
    assert second == (1, 3, 2, a + 48, 3, tau + 16, 1, work, WORKSPACE, infos + 4)
    assert taken == bytes(8)
    assert machine.memories[0].allocation_of(work) == (work, 8 * WORKSPACE)


def test_stacks_are_one_call_of_a_library(shared: Machine, place: str) -> None:
    a = tr.to(tr.asarray(np.asfortranarray(np.eye(2)[:, :, None] * np.array([4.0, 9.0, 16.0]))), place)
    backend: Any = tr.backend("fake")
    shared.calls.clear()
    with backend.use_drivers(
        DriverTable([Rule("cholesky", "potrf"), Rule("lu", "getrf"), Rule("eigh", "syevjBatched")])
    ):
        low = tl.cholesky(a)
        tl.triangular_solve(low, a)
        values, _ = tl.eigh(a)
        ones = tl.solve(a, a)

    routines = ("potrf", "trsm", "syevd", "syevj", "getrf", "getrs")
    called = [name for one in routines for name, _ in shared.noted(f"d{one}", f"d{one}Batched")]
    assert called == ["dpotrfBatched", "dtrsmBatched", "dsyevjBatched", "dgetrfBatched", "dgetrsBatched"]
    assert np.array_equal(tr.to(ones, "cpu").to_numpy(), np.eye(2)[:, :, None] * np.ones(3))
    assert tr.to(values, "cpu").to_numpy().tolist() == [[4.0, 9.0, 16.0]] * 2


def test_an_argument_that_cublas_refuses_is_told(
    machine: Machine, api: CupyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: int) -> None:
        ctypes.c_int.from_address(given[-2]).value = -4

    monkeypatch.setattr(api.libs.cublas, "dgetrsBatched", refuse)
    a, pivots, b, infos = (api.allocate(0, nbytes) for nbytes in (64, 16, 32, 8))
    stacks = Stack(a, 2, 4), Stack(pivots, 2, 2), Stack(b, 2, 2)
    with pytest.raises(BackendError, match="getrs: cuBLAS refuses argument 4 of a stack of 2"):
        api.solver(api.new_stream(0), Solver("getrs", F64, (2, 1), stacks, infos, 2), partial(api.allocate, 0))


@pytest.fixture(scope="module")
def placement(place: str) -> Placement:
    return as_placement(place)


class TestDevices(DevicesConformance):
    """Streams, transfers, memory and its exchange, as the conformance suite asks of devices."""


def whole(shape: tuple[int, ...], dtype: Any, seed: int = 5) -> Any:
    drawn = np.random.default_rng(seed).standard_normal((2, *shape))
    values = drawn[0] + 1j * drawn[1] if dtype.kind == "complex" else drawn[0]
    return tr.asarray(np.asfortranarray(values.astype(dtype.numpy_name)))


CALLS: dict[str, Any] = {
    "matmul": lambda x, s: tr.matmul(tr.conj(tr.transpose(x[:, :, 0])), x[:, :, 1]),
    "einsum": lambda x, s: tr.einsum("ijb,kjb->ikb", x, x),
    "elementwise": lambda x, s: tr.abs(x) * 2.0 + 1.0,
    "sum": lambda x, s: tr.sum(x, axis=1),
    "cholesky": lambda x, s: tl.cholesky(s),
    "cholesky of one": lambda x, s: tl.cholesky(s[:, :, 0]),
    "solve": lambda x, s: tl.solve(s, x[:3]),
    "inv": lambda x, s: tl.inv(s),
    "det": lambda x, s: tl.det(s),
    "triangular": lambda x, s: tl.triangular_solve(s, x[:3], lower=True),
    "triangular of one": lambda x, s: tl.triangular_solve(s[:, :, 1], x[:3, :, 1], lower=False),
    "qr": lambda x, s: tl.qr(x),
    "qr of wide": lambda x, s: tl.qr(tr.transpose(x, (1, 0, 2))),
    "svd": lambda x, s: tl.svd(x)[1],
    "svd again": lambda x, s: rebuilt(tl.svd(x)),
    "svd of wide": lambda x, s: rebuilt(tl.svd(tr.transpose(x, (1, 0, 2)))),
    "svd by rotations": lambda x, s: rebuilt(tl.svd(x, driver="jacobi")),
    "svd of wide by rotations": lambda x, s: rebuilt(tl.svd(tr.transpose(x, (1, 0, 2)), driver="jacobi")),
    "eigh": lambda x, s: tl.eigh(s)[0],
    "nothing": lambda x, s: tl.inv(s[:0, :0]),
}


def rebuilt(parts: Any) -> Any:
    u, s, vh = parts
    return tr.einsum("ikb,kb,kjb->ijb", u, tr.cast(s, u.dtype), vh)


@pytest.mark.parametrize("dtype", [F32, C64])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_computes_what_the_host_computes(call: Any, dtype: Any, place: str) -> None:
    x = whole((4, 3, 2), dtype)
    square = tr.einsum("ijb,ikb->jkb", tr.conj(x), x)
    found, expected = (call(tr.to(x, where), tr.to(square, where)) for where in (place, "cpu"))

    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one.to("cpu").to_numpy(), other.to_numpy(), rtol=2e-3, atol=2e-4)


def test_what_routines_report_becomes_an_error_with_the_batch_index(place: str) -> None:
    a = np.asfortranarray(np.stack([np.eye(2), np.zeros((2, 2))], -1))
    with pytest.raises(NotPositiveDefiniteError, match=r"1x1 block of the matrix at batch index \(1,\)"):
        tl.cholesky(tr.to(tr.asarray(a), place))
    with pytest.raises(SingularMatrixError, match=r"batch index \(1,\)"):
        tl.inv(tr.to(tr.asarray(a), place))


def test_tensors_have_the_interface_of_cuda_where_there_are_such_devices(place: str) -> None:
    x = tr.to(tr.tensor([[1, 2], [3, 4]]), place)
    facts = x[::-1].__cuda_array_interface__

    assert (facts["shape"], facts["typestr"], facts["strides"], facts["version"]) == ((2, 2), "<i8", (-8, 16), 3)
    for elsewhere in (tr.ones(2), tr.ones(2, placement="sim:0"), tr.ones(2, placement="meta")):
        assert not hasattr(elsewhere, "__cuda_array_interface__")
    with pytest.raises(
        MissingAttributeError, match=r"no attribute '__cuda_array_interface__' on cpu; accepted: tensors"
    ):
        _ = tr.ones(2).__cuda_array_interface__


def test_a_handle_belongs_to_one_stream_and_one_thread_and_goes_with_the_stream(machine: Machine, api: CupyApi) -> None:
    a = api.allocate(0, 64)
    call = Gemm(F64, "N", "N", 1, 1, 1, a, 1, 0, a + 8, 1, 0, a + 16, 1, 1, 1)
    first, second = api.new_stream(0), api.new_stream(0)
    for stream in (first, second, first):
        api.gemm(stream, call)
    thread = threading.Thread(target=api.gemm, args=(first, call))
    thread.start()
    thread.join()

    assert [arguments[0] for _, arguments in machine.noted("dgemmStridedBatched")] == [1, 2, 1, 3]
    api.synchronize(first)
    machine.calls.clear()
    del stream, first, thread
    assert api.libs.cublas._live == {2}


def test_a_stream_of_another_library_is_used_by_its_handle(machine: Machine, api: CupyApi) -> None:
    with machine.cuda.Device(1):
        theirs = machine.cuda.Stream(non_blocking=True)
    stream, address = api.stream_of(1, theirs.ptr), api.allocate(1, 8)
    api.fill(stream, address, 1, 8)

    assert api.handle(stream) == theirs.ptr
    assert not theirs.done
    api.synchronize(stream)
    assert theirs.done


def test_what_was_current_is_current_afterwards(machine: Machine, api: CupyApi) -> None:
    stream, address = api.new_stream(1), api.allocate(1, 64)
    api.launch(stream, Launch(PROBE, 1, 1, (address,)))
    with pytest.raises(TypeError):
        api.solver(stream, Solver("geqrf", F64, (1, 1), (Stack(address, 1, 1),) * 2, address + 32, "two"), int)  # type: ignore[arg-type]

    assert (machine.current, machine.current_streams) == ([0], [])
