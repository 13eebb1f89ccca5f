"""Device code from sources, by NVRTC: the compiler of CUDA as a library, which needs neither a device nor a driver.

The library is opened when something is compiled; nothing else here needs it.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tensor_core.errors import BackendUnavailableError, TensorError
from tensor_gpu.programs.source import OPTIONS

LIBRARY: Final = "TENSOR_GPU_NVRTC"
"""Variable of the environment: the file of the library, where it is not found."""
ARCHITECTURES: Final = ("sm_70", "sm_80", "sm_90")
"""Volta, Ampere and Hopper; NVRTC 12 is the last one that knows the first."""
REPORTING: Final = ("--ptxas-options=--verbose", "--disable-warnings")


class CompilationError(TensorError, ValueError):
    """A source that the compiler refuses; the message is its log."""


class Compiled(NamedTuple):
    """What the compiler makes of one source for one architecture."""

    cubin: bytes  # what a driver loads
    ptx: bytes
    log: str

    @property
    def registers(self) -> int:
        """Of each thread."""
        return max(map(int, re.findall(r"Used (\d+) registers", self.log)), default=0)

    @property
    def spilled(self) -> int:
        """Bytes that each thread stores for want of registers."""
        return sum(map(int, re.findall(r"(\d+) bytes spill stores", self.log)))


@cache
def library() -> ctypes.CDLL:
    """NVRTC.

    Raises:
        BackendUnavailableError: it is not installed, or cannot be opened.
    """
    tried = []
    for name in candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(str(error))
    raise BackendUnavailableError(
        "NVRTC is not installed; accepted: the wheel in requirements/nvrtc.txt, a CUDA toolkit of version 12, or the "
        f"library's file in {LIBRARY} ({'; '.join(tried)})"
    )


def candidates() -> Iterator[str]:
    """Files that may be the library."""
    named = os.environ.get(LIBRARY)
    if named:
        yield named
        return
    for folder in map(Path, sys.path):
        yield from map(str, sorted(folder.glob("nvidia/cuda_nvrtc/lib/libnvrtc.so.*")))
    yield "libnvrtc.so.12"


def version() -> tuple[int, int]:
    """Of the compiler."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def compiled(source: str, architecture: str, options: Sequence[str] = (*OPTIONS, *REPORTING), /) -> Compiled:
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
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"program.cu", 0, None, None))
    try:
        given = [f"--gpu-architecture={architecture}", *options]
        texts = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        status = nvrtc.nvrtcCompileProgram(program, len(given), texts)
        log = taken(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if status:
            raise CompilationError(f"{architecture}: {log or word(status)}")
        return Compiled(taken(program, "CUBIN"), taken(program, "PTX"), log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def taken(program: ctypes.c_void_p, what: str) -> bytes:
    """One of the things that the compiler keeps with a program."""
    size = ctypes.c_size_t()
    check(getattr(library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(getattr(library(), f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def check(status: int) -> None:
    """Raise what a status other than 0 says."""
    if status:
        raise CompilationError(f"NVRTC: {word(status)}")


def word(status: int) -> str:
    """The compiler's own word for a status."""
    text = library().nvrtcGetErrorString
    text.restype = ctypes.c_char_p
    found: bytes = text(status)
    return found.decode()
