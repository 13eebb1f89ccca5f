"""Libraries of CUDA, as ``cupy_backends.cuda.libs`` binds them: cuBLAS, cuSOLVER and NVRTC.

Work goes to the current stream, as CuPy's modules send it there, and is done by the routines of simulated devices.
"""

from __future__ import annotations

import ctypes
from functools import partial
from types import SimpleNamespace

from fake_cupy.driver import FakeError, Machine
from fake_cupy.library import OF_LETTERS, TURNED, Library, addresses, expect, factors, run_one
from fake_cupy.solvers import Cusolver
from fake_cupy.tensors import Cutensor
from tensor_core.dtypes import DType
from tensor_gpu.cuda.cupy_api import Modules
from tensor_gpu.device.api import Gemm, Solver, Stack
from tensor_gpu.sim.blas import check_gemm, multiply
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory


def modules(machine: Machine, /) -> Modules:
    """All of them, for one machine.

    >>> modules(Machine()).libs.nvrtc.getVersion()
    (12, 9)
    """
    libs = SimpleNamespace(
        cublas=Cublas(machine), cusolver=Cusolver(machine), nvrtc=Nvrtc(machine), cutensor=Cutensor(machine)
    )
    return Modules("a fake", machine.cuda, machine.runtime, machine.driver, libs)


class Cublas(Library):
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
        expect(name, (factors(dtype, alpha), factors(dtype, beta)), (1, 0))
        lies = (A, lda, strideA, B, ldb, strideB, C, ldc, strideC, batchCount)
        call = Gemm(dtype, TURNED[transa], TURNED[transb], m, n, k, *lies)
        check_gemm(call)
        self._submit(name, handle, call[1:], lambda memory: multiply(memory, call))

    def _geam(
        self, name: str, dtype: DType, handle: int, transa: int, transb: int, m: int, n: int, alpha: int,
        A: int, lda: int, beta: int, B: int, ldb: int, C: int, ldc: int,
    ) -> None:  # fmt: skip
        expect(name, (factors(dtype, alpha), factors(dtype, beta), B, ldb), (1, 0, C, ldc))
        expect(name, (TURNED[transa], TURNED[transb], lda >= n), ("C", "N", True))

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
            for number, one in enumerate(addresses(memory, Aarray, batchSize)):
                stacks = Stack(one, lda, 0), Stack(PivotArray + 4 * n * number, 1, 0)
                run_solver(memory, Solver("getrf", dtype, (n, n), stacks, infoArray + 4 * number, 1))

        self._submit(name, handle, (n, Aarray, lda, PivotArray, infoArray, batchSize), work)

    def _getrsBatched(
        self, name: str, dtype: DType, handle: int, trans: int, n: int, nrhs: int, Aarray: int, lda: int,
        devIpiv: int, Barray: int, ldb: int, info: int, batchSize: int,
    ) -> None:  # fmt: skip
        expect(name, trans, 0)
        expect(name, ctypes.c_int.from_address(info).value, 0)

        def work(memory: SimulatedMemory) -> None:
            pairs = zip(addresses(memory, Aarray, batchSize), addresses(memory, Barray, batchSize), strict=True)
            for number, (one, other) in enumerate(pairs):
                stacks = Stack(one, lda, 0), Stack(devIpiv + 4 * n * number, 1, 0), Stack(other, ldb, 0)
                run_one(memory, Solver("getrs", dtype, (n, nrhs), stacks, 0, 1), None)

        self._submit(name, handle, (trans, n, nrhs, Aarray, lda, devIpiv, Barray, ldb, batchSize), work)

    def _solve(
        self, name: str, dtype: DType, handle: int, how: tuple[int, ...], m: int, n: int, alpha: int,
        a: tuple[int, int], b: tuple[int, int], count: int,
    ) -> None:  # fmt: skip
        side, uplo, trans, diag = how
        expect(name, (side, factors(dtype, alpha)), (0, 1))
        options = f"{'LU'[uplo]}{TURNED[trans]}{'NU'[diag]}"

        def work(memory: SimulatedMemory) -> None:
            for one, other in zip(addresses(memory, a[0], count), addresses(memory, b[0], count), strict=True):
                stacks = Stack(one, a[1], 0), Stack(other, b[1], 0)
                run_one(memory, Solver("trsm", dtype, (m, n), stacks, 0, 1, options), None)

        self._submit(name, handle, (*how, m, n, *a, *b, count), work)


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
