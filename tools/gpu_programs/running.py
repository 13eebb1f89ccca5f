"""Runs launches on the host that were noted on a simulated device, and compares what both leave in memory."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gpu_programs.building import build
from gpu_programs.recording import CAPACITY, Noted
from tensor_core.errors import TensorError
from tensor_gpu.device.program import Program
from tensor_gpu.sim.memory import BASE

_ENVIRONMENT: Final = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=0:abort_on_error=0:detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class RunError(TensorError, RuntimeError):
    """A launch that ended the program that ran it; the message is a sanitizer's, or the shim's."""


class Hosted:
    """Programs that were compiled for the host; usable as a context, which removes the file."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hosted")
        self._file = Path(self._folder.name) / "programs"
        self._places = {program.source: number for number, program in enumerate(programs)}
        try:
            build(programs, self._file)
        except TensorError:
            self.__exit__()
            raise

    def __enter__(self) -> Hosted:
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def run(self, launches: Sequence[Noted], /, *, seed: int = 0) -> list[tuple[bytes, ...]]:
        """What each launch leaves in the allocations that it was given, in their order.

        Args:
            launches: of the programs that were built.
            seed: of the order in which blocks and threads take turns.

        Raises:
            RunError: a launch did what a sanitizer finds, or waits for a thread that never comes.
        """
        given = [struct.pack("<2Q", BASE, CAPACITY)]
        for number, one in enumerate(launches):
            launch = one.launch
            place = self._places[launch.program.source]
            sizes = launch.blocks, launch.threads, len(launch.arguments), len(one.before)
            given.append(struct.pack("<6Q", place, *sizes, seed + number))
            given.extend(struct.pack("<d" if isinstance(x, float) else "<q", x) for x in launch.arguments)
            given.extend(struct.pack("<2Q", address, len(data)) for address, data in one.before)
            given.extend(data for _, data in one.before)
        done = subprocess.run(
            [str(self._file)], input=b"".join(given), capture_output=True, check=False, env=_ENVIRONMENT
        )
        if done.returncode:
            raise RunError(done.stderr.decode(errors="replace")[:6000])
        left, position = [], 0
        for one in launches:
            parts = []
            for _, data in one.before:
                parts.append(done.stdout[position : position + len(data)])
                position += len(data)
            left.append(tuple(parts))
        return left
