"""Device code of programs, by CUDA's compiler as a library, as CuPy binds it."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import BackendError
from tensor_gpu.device.program import Program
from tensor_gpu.programs.source import OPTIONS

KNOWN: Final = (90,)
"""Architectures that each NVRTC of CUDA 12 knows, where it does not say which."""


def compiled(nvrtc: Any, program: Program, capability: tuple[int, int], /) -> bytes:
    """Code of a program for a device, by NVRTC: of its own architecture, or PTX where the compiler does not know that.

    Args:
        nvrtc: CuPy's module of the compiler.
        program: what is compiled.
        capability: of the device. Where it is newer than the compiler, the code is PTX for the newest architecture
            before it that the compiler knows, and the driver compiles that on.

    Raises:
        BackendError: the compiler refuses it; the message is its log.

    >>> from types import SimpleNamespace
    >>> compiler = SimpleNamespace(
    ...     createProgram=lambda *given: 1,
    ...     compileProgram=lambda number, options: print(options[-1]),
    ...     getCUBIN=lambda number: b"code",
    ...     getPTX=lambda number: b"text",
    ...     destroyProgram=lambda number: None,
    ...     getSupportedArchs=lambda: [80, 90],
    ...     NVRTCError=RuntimeError,
    ... )
    >>> nothing = Program("nothing", "", lambda memory, arguments: None)
    >>> compiled(compiler, nothing, (9, 0))
    --gpu-architecture=sm_90
    b'code'
    >>> compiled(compiler, nothing, (12, 0))
    --gpu-architecture=compute_90
    b'text'
    """
    device, known = capability[0] * 10 + capability[1], _known(nvrtc)
    older = [one for one in known if one <= device]
    # What is older than all is asked for by its own name, and the compiler's log then says that it is gone.
    exact = not older or device in known
    architecture = f"sm_{device}" if exact else f"compute_{max(older)}"
    number = nvrtc.createProgram(program.source, f"{program.entry}.cu", (), ())
    try:
        nvrtc.compileProgram(number, (*OPTIONS, f"--gpu-architecture={architecture}"))
        code: bytes = nvrtc.getCUBIN(number) if exact else nvrtc.getPTX(number)
        return code
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(number)
        raise BackendError(f"{program.entry} does not compile for {architecture}: {error}: {log}") from error
    finally:
        nvrtc.destroyProgram(number)


def _known(nvrtc: Any) -> tuple[int, ...]:
    """The architectures that the compiler says it makes code for."""
    try:
        return tuple(map(int, nvrtc.getSupportedArchs())) or KNOWN
    except (AttributeError, nvrtc.NVRTCError):
        return KNOWN
