"""Device code from sources, by NVRTC: the compiler of CUDA as a library, which needs neither a device nor a driver.

The library is opened when something is compiled; nothing else here needs it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from tensor_core.errors import BackendUnavailableError, TensorError
from tensor_gpu.programs.source import OPTIONS

LIBRARY: Final = "TENSOR_GPU_NVRTC"
"""Variable of the environment: the file of the library, where it is not found."""


class CompilationError(TensorError, ValueError):
    """A source that the compiler refuses; the message is its log."""


class Compiled(NamedTuple):
    """What the compiler makes of one source for one architecture."""

    code: bytes  # a cubin, which a driver loads
    ptx: bytes
    log: str


@cache
def library() -> ctypes.CDLL:
    """NVRTC.

    Raises:
        BackendUnavailableError: it is not installed, or cannot be opened.
    """
    tried = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(f"{name}: {error}")
    raise BackendUnavailableError(
        "NVRTC is not installed; accepted: the package nvidia-cuda-nvrtc-cu12, a CUDA toolkit, or the library's file "
        f"in {LIBRARY} ({'; '.join(tried)})"
    )


def _candidates() -> Iterator[str]:
    named = os.environ.get(LIBRARY)
    if named:
        yield named
        return
    for folder in sys.path:
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "cu*", "lib", "libnvrtc.so.*")), reverse=True)
    yield "libnvrtc.so.12"
    yield "libnvrtc.so"


def version() -> tuple[int, int]:
    """Of the compiler."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def compiled(source: str, architecture: str, options: Sequence[str] = OPTIONS, /) -> Compiled:
    """Device code of a source.

    Args:
        source: C++ for CUDA.
        architecture: such as "sm_90".
        options: of the compiler.

    Raises:
        BackendUnavailableError: NVRTC is not installed.
        CompilationError: the source is wrong.
    """
    nvrtc = library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"program.cu", 0, None, None))
    try:
        given = [f"--gpu-architecture={architecture}", *options]
        texts = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        status = nvrtc.nvrtcCompileProgram(program, len(given), texts)
        log = _taken(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if status:
            raise CompilationError(f"{architecture}: {log or _word(status)}")
        return Compiled(_taken(program, "CUBIN"), _taken(program, "PTX"), log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _taken(program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(library(), f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(status: int) -> None:
    if status:
        raise CompilationError(f"NVRTC: {_word(status)}")


def _word(status: int) -> str:
    text = library().nvrtcGetErrorString
    text.restype = ctypes.c_char_p
    found: bytes = text(status)
    return found.decode()
