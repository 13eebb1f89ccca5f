"""cuSOLVER, as ``cupy_backends.cuda.libs.cusolver`` binds it."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Final

from fake_cupy.driver import Machine
from fake_cupy.library import OF_LETTERS, WORKSPACE, Library, addresses, expect, run_one
from tensor_core.dtypes import DType
from tensor_gpu.device.api import Solver, Stack
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory

ROUTINES: Final = (
    "potrf", "potrfBatched", "getrf", "getrs", "geqrf", "orgqr", "gesvd", "gesvdj", "gesvdjBatched",
    "gesvdaStridedBatched", "syevd", "syevj", "syevjBatched",
)  # fmt: skip
OF_COMPLEX: Final = {"orgqr": "ungqr", "syevd": "heevd", "syevj": "heevj", "syevjBatched": "heevjBatched"}


class Cusolver(Library):
    """``cupy_backends.cuda.libs.cusolver``."""

    CUSOLVER_EIG_MODE_VECTOR = 1

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        for letter, dtype in OF_LETTERS.items():
            turned = dtype.kind == "complex"
            for name in ROUTINES:
                said = OF_COMPLEX.get(name, name) if turned else name
                setattr(self, letter + said, partial(getattr(self, f"_{name}"), letter + said, dtype))
                sizes = getattr(self, f"_{name}_bufferSize", None)
                if sizes is not None:
                    setattr(self, f"{letter}{said}_bufferSize", sizes)

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
        expect(name, uplo, 0)
        self._run(name, handle, Solver("potrf", dtype, (n,), (Stack(A, lda, 0),), devInfo, 1), (work, lwork))

    def _potrfBatched(
        self, name: str, dtype: DType, handle: int, uplo: int, n: int, Aarray: int, lda: int, infoArray: int,
        batchSize: int,
    ) -> None:  # fmt: skip
        expect(name, uplo, 0)

        def work(memory: SimulatedMemory) -> None:
            for number, one in enumerate(addresses(memory, Aarray, batchSize)):
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
        expect(name, trans, 0)
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
        expect(name, (chr(jobu), chr(jobvt), m >= n, rwork), ("S", "S", True, 0))
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
        expect(name, (jobz, econ, ldv >= n, params in self._live, lwork), (1, 1, True, True, WORKSPACE))

        def done(memory: SimulatedMemory) -> None:
            k = min(m, n)
            room = memory.allocate(k * n * dtype.itemsize)
            stacks = Stack(A, lda, 0), Stack(S, 1, 0), Stack(U, ldu, 0), Stack(room, k, 0)
            run_one(memory, Solver("gesvdj", dtype, (m, n), stacks, info, 1), (work, lwork))
            memory.view(V, dtype, (n, k), (1, ldv))[...] = memory.view(room, dtype, (k, n), (1, k)).conj().T
            memory.release(room)

        self._submit(name, handle, (jobz, econ, m, n, A, lda, S, U, ldu, V, ldv, work, lwork, info), done)

    def _syevd_bufferSize(self, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int) -> int:
        return WORKSPACE

    def _syevd(
        self, name: str, dtype: DType, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int,
        lwork: int, info: int,
    ) -> None:  # fmt: skip
        expect(name, (jobz, uplo), (1, 0))
        stacks = Stack(A, lda, 0), Stack(W, 1, 0)
        self._run(name, handle, Solver("syevd", dtype, (n,), stacks, info, 1), (work, lwork))

    def _gesvdjBatched_bufferSize(
        self, handle: int, jobz: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int, ldv: int,
        params: int, batchSize: int,
    ) -> int:  # fmt: skip
        return WORKSPACE

    def _gesvdjBatched(
        self, name: str, dtype: DType, handle: int, jobz: int, m: int, n: int, A: int, lda: int, S: int, U: int,
        ldu: int, V: int, ldv: int, work: int, lwork: int, info: int, params: int, batchSize: int,
    ) -> None:  # fmt: skip
        expect(name, (jobz, params in self._live, max(m, n) <= 32), (1, True, True))
        stacks = Stack(A, lda, lda * n), Stack(S, 1, min(m, n)), Stack(U, ldu, ldu * m), Stack(V, ldv, ldv * n)
        call = Solver("gesvdjBatched", dtype, (m, n), stacks, info, batchSize)
        self._run(name, handle, call, (work, lwork))

    def _gesvdaStridedBatched_bufferSize(
        self, handle: int, jobz: int, rank: int, m: int, n: int, d_A: int, lda: int, strideA: int, d_S: int,
        strideS: int, d_U: int, ldu: int, strideU: int, d_V: int, ldv: int, strideV: int, batchSize: int,
    ) -> int:  # fmt: skip
        return WORKSPACE

    def _gesvdaStridedBatched(
        self, name: str, dtype: DType, handle: int, jobz: int, rank: int, m: int, n: int, d_A: int, lda: int,
        strideA: int, d_S: int, strideS: int, d_U: int, ldu: int, strideU: int, d_V: int, ldv: int, strideV: int,
        d_work: int, lwork: int, d_info: int, h_R_nrmF: int, batchSize: int,
    ) -> None:  # fmt: skip
        expect(name, (jobz, rank, m >= n), (1, n, True))
        ctypes.memset(h_R_nrmF, 0, 8 * batchSize)
        stacks = Stack(d_A, lda, strideA), Stack(d_S, 1, strideS), Stack(d_U, ldu, strideU), Stack(d_V, ldv, strideV)
        call = Solver("gesvda", dtype, (m, n), stacks, d_info, batchSize)
        self._run(name, handle, call, (d_work, lwork))

    def _syevj_bufferSize(
        self, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, params: int
    ) -> int:
        return WORKSPACE

    def _syevj(
        self, name: str, dtype: DType, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int,
        lwork: int, info: int, params: int,
    ) -> None:  # fmt: skip
        expect(name, (jobz, uplo, params in self._live), (1, 0, True))
        stacks = Stack(A, lda, 0), Stack(W, 1, 0)
        self._run(name, handle, Solver("syevj", dtype, (n,), stacks, info, 1), (work, lwork))

    def _syevjBatched_bufferSize(
        self, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, params: int, batchSize: int
    ) -> int:
        return WORKSPACE

    def _syevjBatched(
        self, name: str, dtype: DType, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int,
        lwork: int, info: int, params: int, batchSize: int,
    ) -> None:  # fmt: skip
        expect(name, (jobz, uplo, params in self._live), (1, 0, True))
        stacks = Stack(A, lda, lda * n), Stack(W, 1, n)
        self._run(name, handle, Solver("syevd", dtype, (n,), stacks, info, batchSize), (work, lwork))

    def _run(self, name: str, handle: int, call: Solver, workspace: tuple[int, int] | None) -> None:
        given = (*call.sizes, *(part for one in call.arrays for part in one[:2]), *(workspace or ()), call.info)
        if workspace is not None:
            expect(name, workspace[1], WORKSPACE)
        self._submit(name, handle, given, lambda memory: run_one(memory, call, workspace))
