"""Device code of programs, by CUDA's compiler as a library, as CuPy binds it."""

from __future__ import annotations

from typing import Any

from tensor_core.errors import BackendError
from tensor_gpu.device.program import Program
from tensor_gpu.programs.source import OPTIONS


def compiled(nvrtc: Any, program: Program, capability: tuple[int, int], /) -> bytes:
    """Device code of a program, by NVRTC.

    Args:
        nvrtc: CuPy's module of the compiler.
        program: what is compiled.
        capability: of the device.

    Raises:
        BackendError: the compiler refuses it; the message is its log.

    >>> from types import SimpleNamespace
    >>> compiler = SimpleNamespace(
    ...     createProgram=lambda *given: 1,
    ...     compileProgram=lambda number, options: print(options[-1]),
    ...     getCUBIN=lambda number: b"code",
    ...     destroyProgram=lambda number: None,
    ...     NVRTCError=RuntimeError,
    ... )
    >>> compiled(compiler, Program("nothing", "", lambda memory, arguments: None), (9, 0))
    --gpu-architecture=sm_90
    b'code'
    """
    architecture = "sm_{}{}".format(*capability)
    number = nvrtc.createProgram(program.source, f"{program.entry}.cu", (), ())
    try:
        nvrtc.compileProgram(number, (*OPTIONS, f"--gpu-architecture={architecture}"))
        code: bytes = nvrtc.getCUBIN(number)
        return code
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(number)
        raise BackendError(f"{program.entry} does not compile for {architecture}: {error}: {log}") from error
    finally:
        nvrtc.destroyProgram(number)
