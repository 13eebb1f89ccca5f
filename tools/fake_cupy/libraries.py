"""Libraries of CUDA, as ``cupy_backends.cuda.libs`` binds them: cuBLAS, cuSOLVER and NVRTC.

Work goes to the current stream, as CuPy's modules send it there, and is done by the routines of simulated devices.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from fake_cupy.driver import FakeError, Machine
from fake_cupy.tensors import Cutensor
from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_gpu.cuda.cupy_api import Modules
from tensor_gpu.device.api import Gemm, Solver, Stack
from tensor_gpu.sim.blas import check_gemm, multiply
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory

OF_LETTERS: Final = {"s": F32, "d": F64, "c": C32, "z": C64}
WORKSPACE: Final = 7  # elements that routines say they need
TURNED: Final = "NTC"
Work = Callable[[SimulatedMemory], None]


def modules(machine: Machine, /) -> Modules:
    """All of them, for one machine.

    >>> modules(Machine()).libs.nvrtc.getVersion()
    (12, 9)
    """
    libs = SimpleNamespace(
        cublas=Cublas(machine), cusolver=Cusolver(machine), nvrtc=Nvrtc(machine), cutensor=Cutensor(machine)
    )
    return Modules("a fake", machine.cuda, machine.runtime, libs)


class _Library:
    """Handles, and work in the current stream."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._live: set[int] = set()
        self._made = 0

    def create(self) -> int:
        self._made += 1
        self._live.add(self._made)
        return self._made

    def destroy(self, handle: int) -> None:
        self._live.remove(handle)

    def _submit(self, name: str, handle: int, arguments: tuple[Any, ...], work: Work) -> None:
        if handle not in self._live:
            raise FakeError(f"{name}: no handle {handle}")
        self._machine.note(name, handle, *arguments)
        self._machine.submit(self._machine.current_streams[-1].ptr, work)


def _factors(dtype: DType, address: int) -> complex:
    """A number of the host."""
    return complex(np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype.numpy_name)[0])


def _expect(name: str, found: object, expected: object) -> None:
    if found != expected:
        raise FakeError(f"{name}: found {found}, expected {expected}")


class Cublas(_Library):
    """``cupy_backends.cuda.libs.cublas``."""

    CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
    CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER = 0, 1
    CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT = 0, 1
    CUBLAS_SIDE_LEFT = 0

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        for letter, dtype in OF_LETTERS.items():
            for name in ("gemmStridedBatched", "geam", "trsm", "trsmBatched", "getrfBatched", "getrsBatched"):
                setattr(self, letter + name, partial(getattr(self, f"_{name}"), letter + name, dtype))

    def _gemmStridedBatched(
        self, name: str, dtype: DType, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        A: int, lda: int, strideA: int, B: int, ldb: int, strideB: int, beta: int,
        C: int, ldc: int, strideC: int, batchCount: int,
    ) -> None:  # fmt: skip
        _expect(name, (_factors(dtype, alpha), _factors(dtype, beta)), (1, 0))
        lies = (A, lda, strideA, B, ldb, strideB, C, ldc, strideC, batchCount)
        call = Gemm(dtype, TURNED[transa], TURNED[transb], m, n, k, *lies)
        check_gemm(call)
        self._submit(name, handle, call[1:], lambda memory: multiply(memory, call))

    def _geam(
        self, name: str, dtype: DType, handle: int, transa: int, transb: int, m: int, n: int, alpha: int,
        A: int, lda: int, beta: int, B: int, ldb: int, C: int, ldc: int,
    ) -> None:  # fmt: skip
        _expect(name, (_factors(dtype, alpha), _factors(dtype, beta), B, ldb), (1, 0, C, ldc))
        _expect(name, (TURNED[transa], TURNED[transb], lda >= n), ("C", "N", True))

        def work(memory: SimulatedMemory) -> None:
            memory.view(C, dtype, (m, n), (1, ldc))[...] = memory.view(A, dtype, (n, m), (1, lda)).conj().T

        self._submit(name, handle, (m, n, A, lda, C, ldc), work)

    def _trsm(
        self, name: str, dtype: DType, handle: int, side: int, uplo: int, trans: int, diag: int, m: int, n: int,
        alpha: int, Aarray: int, lda: int, Barray: int, ldb: int,
    ) -> None:  # fmt: skip
        self._solve(name, dtype, handle, (side, uplo, trans, diag), m, n, alpha, (Aarray, lda), (Barray, ldb), 0)

    def _trsmBatched(
        self, name: str, dtype: DType, handle: int, side: int, uplo: int, trans: int, diag: int, m: int, n: int,
        alpha: int, Aarray: int, lda: int, Barray: int, ldb: int, batchCount: int,
    ) -> None:  # fmt: skip
        lies = (Aarray, lda), (Barray, ldb)
        self._solve(name, dtype, handle, (side, uplo, trans, diag), m, n, alpha, *lies, batchCount)

    def _getrfBatched(
        self, name: str, dtype: DType, handle: int, n: int, Aarray: int, lda: int, PivotArray: int, infoArray: int,
        batchSize: int,
    ) -> None:  # fmt: skip
        def work(memory: SimulatedMemory) -> None:
            for number, one in enumerate(_addresses(memory, Aarray, batchSize)):
                stacks = Stack(one, lda, 0), Stack(PivotArray + 4 * n * number, 1, 0)
                run_solver(memory, Solver("getrf", dtype, (n, n), stacks, infoArray + 4 * number, 1))

        self._submit(name, handle, (n, Aarray, lda, PivotArray, infoArray, batchSize), work)

    def _getrsBatched(
        self, name: str, dtype: DType, handle: int, trans: int, n: int, nrhs: int, Aarray: int, lda: int,
        devIpiv: int, Barray: int, ldb: int, info: int, batchSize: int,
    ) -> None:  # fmt: skip
        _expect(name, trans, 0)
        _expect(name, ctypes.c_int.from_address(info).value, 0)

        def work(memory: SimulatedMemory) -> None:
            pairs = zip(_addresses(memory, Aarray, batchSize), _addresses(memory, Barray, batchSize), strict=True)
            for number, (one, other) in enumerate(pairs):
                stacks = Stack(one, lda, 0), Stack(devIpiv + 4 * n * number, 1, 0), Stack(other, ldb, 0)
                _run(memory, Solver("getrs", dtype, (n, nrhs), stacks, 0, 1), None)

        self._submit(name, handle, (trans, n, nrhs, Aarray, lda, devIpiv, Barray, ldb, batchSize), work)

    def _solve(
        self, name: str, dtype: DType, handle: int, how: tuple[int, ...], m: int, n: int, alpha: int,
        a: tuple[int, int], b: tuple[int, int], count: int,
    ) -> None:  # fmt: skip
        side, uplo, trans, diag = how
        _expect(name, (side, _factors(dtype, alpha)), (0, 1))
        options = f"{'LU'[uplo]}{TURNED[trans]}{'NU'[diag]}"

        def work(memory: SimulatedMemory) -> None:
            for one, other in zip(_addresses(memory, a[0], count), _addresses(memory, b[0], count), strict=True):
                stacks = Stack(one, a[1], 0), Stack(other, b[1], 0)
                _run(memory, Solver("trsm", dtype, (m, n), stacks, 0, 1, options), None)

        self._submit(name, handle, (*how, m, n, *a, *b, count), work)


class Cusolver(_Library):
    """``cupy_backends.cuda.libs.cusolver``."""

    CUSOLVER_EIG_MODE_VECTOR = 1

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        for letter, dtype in OF_LETTERS.items():
            turned = dtype.kind == "complex"
            for name in ("potrf", "getrf", "getrs", "geqrf", "orgqr", "gesvd", "gesvdj", "syevd"):
                said = {"orgqr": "ungqr", "syevd": "heevd"}.get(name, name) if turned else name
                setattr(self, letter + said, partial(getattr(self, f"_{name}"), letter + said, dtype))
                sizes = getattr(self, f"_{name}_bufferSize", None)
                if sizes is not None:
                    setattr(self, f"{letter}{said}_bufferSize", sizes)
            setattr(self, f"{letter}potrfBatched", partial(self._potrfBatched, f"{letter}potrfBatched", dtype))
            name = f"{letter}{'heevj' if turned else 'syevj'}Batched"
            setattr(self, name, partial(self._syevjBatched, name, dtype))
            setattr(self, f"{name}_bufferSize", self._syevjBatched_bufferSize)

    def createGesvdjInfo(self) -> int:
        return self.create()

    def destroyGesvdjInfo(self, info: int) -> None:
        self.destroy(info)

    def createSyevjInfo(self) -> int:
        return self.create()

    def destroySyevjInfo(self, info: int) -> None:
        self.destroy(info)

    def _potrf_bufferSize(self, handle: int, uplo: int, n: int, A: int, lda: int) -> int:
        return WORKSPACE

    def _potrf(
        self, name: str, dtype: DType, handle: int, uplo: int, n: int, A: int, lda: int, work: int, lwork: int,
        devInfo: int,
    ) -> None:  # fmt: skip
        _expect(name, uplo, 0)
        self._run(name, handle, Solver("potrf", dtype, (n,), (Stack(A, lda, 0),), devInfo, 1), (work, lwork))

    def _potrfBatched(
        self, name: str, dtype: DType, handle: int, uplo: int, n: int, Aarray: int, lda: int, infoArray: int,
        batchSize: int,
    ) -> None:  # fmt: skip
        _expect(name, uplo, 0)

        def work(memory: SimulatedMemory) -> None:
            for number, one in enumerate(_addresses(memory, Aarray, batchSize)):
                run_solver(memory, Solver("potrf", dtype, (n,), (Stack(one, lda, 0),), infoArray + 4 * number, 1))

        self._submit(name, handle, (uplo, n, Aarray, lda, infoArray, batchSize), work)

    def _getrf_bufferSize(self, handle: int, m: int, n: int, A: int, lda: int) -> int:
        return WORKSPACE

    def _getrf(
        self, name: str, dtype: DType, handle: int, m: int, n: int, A: int, lda: int, work: int, devIpiv: int,
        devInfo: int,
    ) -> None:  # fmt: skip
        stacks = Stack(A, lda, 0), Stack(devIpiv, 1, 0)
        self._run(name, handle, Solver("getrf", dtype, (m, n), stacks, devInfo, 1), (work, WORKSPACE))

    def _getrs(
        self, name: str, dtype: DType, handle: int, trans: int, n: int, nrhs: int, A: int, lda: int, devIpiv: int,
        B: int, ldb: int, devInfo: int,
    ) -> None:  # fmt: skip
        _expect(name, trans, 0)
        stacks = Stack(A, lda, 0), Stack(devIpiv, 1, 0), Stack(B, ldb, 0)
        self._run(name, handle, Solver("getrs", dtype, (n, nrhs), stacks, devInfo, 1), None)

    def _geqrf_bufferSize(self, handle: int, m: int, n: int, A: int, lda: int) -> int:
        return WORKSPACE

    def _geqrf(
        self, name: str, dtype: DType, handle: int, m: int, n: int, A: int, lda: int, tau: int, work: int, lwork: int,
        devInfo: int,
    ) -> None:  # fmt: skip
        stacks = Stack(A, lda, 0), Stack(tau, 1, 0)
        self._run(name, handle, Solver("geqrf", dtype, (m, n), stacks, devInfo, 1), (work, lwork))

    def _orgqr_bufferSize(self, handle: int, m: int, n: int, k: int, A: int, lda: int, tau: int) -> int:
        return WORKSPACE

    def _orgqr(
        self, name: str, dtype: DType, handle: int, m: int, n: int, k: int, A: int, lda: int, tau: int, work: int,
        lwork: int, devInfo: int,
    ) -> None:  # fmt: skip
        stacks = Stack(A, lda, 0), Stack(tau, 1, 0)
        self._run(name, handle, Solver("orgqr", dtype, (m, n, k), stacks, devInfo, 1), (work, lwork))

    def _gesvd_bufferSize(self, handle: int, m: int, n: int) -> int:
        return WORKSPACE

    def _gesvd(
        self, name: str, dtype: DType, handle: int, jobu: int, jobvt: int, m: int, n: int, A: int, lda: int, S: int,
        U: int, ldu: int, VT: int, ldvt: int, Work: int, lwork: int, rwork: int, devInfo: int,
    ) -> None:  # fmt: skip
        _expect(name, (chr(jobu), chr(jobvt), m >= n, rwork), ("S", "S", True, 0))
        stacks = Stack(A, lda, 0), Stack(S, 1, 0), Stack(U, ldu, 0), Stack(VT, ldvt, 0)
        self._run(name, handle, Solver("gesvd", dtype, (m, n), stacks, devInfo, 1), (Work, lwork))

    def _gesvdj_bufferSize(
        self, handle: int, jobz: int, econ: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int,
        ldv: int, params: int,
    ) -> int:  # fmt: skip
        return WORKSPACE

    def _gesvdj(
        self, name: str, dtype: DType, handle: int, jobz: int, econ: int, m: int, n: int, A: int, lda: int, S: int,
        U: int, ldu: int, V: int, ldv: int, work: int, lwork: int, info: int, params: int,
    ) -> None:  # fmt: skip
        _expect(name, (jobz, econ, ldv >= n, params in self._live, lwork), (1, 1, True, True, WORKSPACE))

        def done(memory: SimulatedMemory) -> None:
            k = min(m, n)
            room = memory.allocate(k * n * dtype.itemsize)
            stacks = Stack(A, lda, 0), Stack(S, 1, 0), Stack(U, ldu, 0), Stack(room, k, 0)
            _run(memory, Solver("gesvdj", dtype, (m, n), stacks, info, 1), (work, lwork))
            memory.view(V, dtype, (n, k), (1, ldv))[...] = memory.view(room, dtype, (k, n), (1, k)).conj().T
            memory.release(room)

        self._submit(name, handle, (jobz, econ, m, n, A, lda, S, U, ldu, V, ldv, work, lwork, info), done)

    def _syevd_bufferSize(self, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int) -> int:
        return WORKSPACE

    def _syevd(
        self, name: str, dtype: DType, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int,
        lwork: int, info: int,
    ) -> None:  # fmt: skip
        _expect(name, (jobz, uplo), (1, 0))
        stacks = Stack(A, lda, 0), Stack(W, 1, 0)
        self._run(name, handle, Solver("syevd", dtype, (n,), stacks, info, 1), (work, lwork))

    def _syevjBatched_bufferSize(
        self, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, params: int, batchSize: int
    ) -> int:
        return WORKSPACE

    def _syevjBatched(
        self, name: str, dtype: DType, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int,
        lwork: int, info: int, params: int, batchSize: int,
    ) -> None:  # fmt: skip
        _expect(name, (jobz, uplo, params in self._live), (1, 0, True))
        stacks = Stack(A, lda, lda * n), Stack(W, 1, n)
        self._run(name, handle, Solver("syevd", dtype, (n,), stacks, info, batchSize), (work, lwork))

    def _run(self, name: str, handle: int, call: Solver, workspace: tuple[int, int] | None) -> None:
        given = (*call.sizes, *(part for one in call.arrays for part in one[:2]), *(workspace or ()), call.info)
        if workspace is not None:
            _expect(name, workspace[1], WORKSPACE)
        self._submit(name, handle, given, lambda memory: _run(memory, call, workspace))


def _run(memory: SimulatedMemory, call: Solver, workspace: tuple[int, int] | None) -> None:
    """One routine on one matrix; its workspace is written, to see that there is one."""
    if workspace is not None:
        address, size = workspace
        memory.bytes_at(address, size * call.dtype.itemsize)[...] = 0xEE
    if call.info:
        run_solver(memory, call)
        return
    info = memory.allocate(4)
    run_solver(memory, call._replace(info=info))
    memory.release(info)


def _addresses(memory: SimulatedMemory, table: int, count: int) -> list[int]:
    """What a table of pointers holds; without a count, the one address itself."""
    return memory.bytes_at(table, 8 * count).view(np.uint64).tolist() if count else [table]


class Nvrtc:
    """``cupy_backends.cuda.libs.nvrtc``: code is its source."""

    NVRTCError = FakeError
    _ARCHITECTURES = (80, 86, 90)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._sources: dict[int, str] = {}
        self._chosen: dict[int, str] = {}

    def getSupportedArchs(self) -> list[int]:
        return list(self._ARCHITECTURES)

    def getVersion(self) -> tuple[int, int]:
        return 12, 9

    def createProgram(self, src: str, name: str, headers: object, include_names: object) -> int:
        number = len(self._machine.calls) + 1
        self._machine.note("createProgram", name, headers, include_names)
        self._sources[number] = src
        return number

    def compileProgram(self, prog: int, options: tuple[str, ...]) -> None:
        self._machine.note("compileProgram", *options)
        if 'extern "C" __global__' not in self._sources[prog]:
            raise FakeError("NVRTC_ERROR_COMPILATION (6)")
        chosen = options[-1].partition("=")[2]
        if chosen not in (f"{kind}_{number}" for kind in ("sm", "compute") for number in self._ARCHITECTURES):
            raise FakeError("NVRTC_ERROR_INVALID_OPTION (5)")
        self._chosen[prog] = chosen

    def getPTX(self, prog: int) -> bytes:
        return self._sources[prog].encode()

    def getCUBIN(self, prog: int) -> bytes:
        if not self._chosen[prog].startswith("sm_"):
            raise FakeError("NVRTC_ERROR_INVALID_INPUT (3)")
        return self._sources[prog].encode()

    def getProgramLog(self, prog: int) -> str:
        return "no kernel is in it"

    def destroyProgram(self, prog: int) -> None:
        del self._sources[prog]
