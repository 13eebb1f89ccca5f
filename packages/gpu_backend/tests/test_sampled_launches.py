"""The same launches are sampled in every process, whatever is hashed how, or lies where."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import pytest

import gpu_programs

LAUNCHES: Final = """
import hashlib, sys
import gpu_programs.drawing as drawing
from gpu_programs.recording import recorded
drawing.elementwise_kernels = lambda: ("add", "cast", "convert")
with recorded() as recording:
    for kernel, dtype, _ in drawing.every_call(1, recording):
        for noted in recording.launches():
            told = kernel, dtype.name, noted.launch.program.source, noted.before
            print(hashlib.sha256(repr(told).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def usual() -> list[str]:
    return sampled("0")


def sampled(seed: str, *options: str) -> list[str]:
    tools = os.path.dirname(os.path.dirname(gpu_programs.__file__))
    paths = os.pathsep.join([tools, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *options, "-c", LAUNCHES],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


# Sets of classes are in the order of their addresses, which other imports and another allocator move.
@pytest.mark.parametrize(("seed", "options"), [("1", ()), ("77", ("-X", "dev")), ("0", ("-X", "importtime"))])
def test_another_process_samples_the_same_launches(usual: list[str], seed: str, options: tuple[str, ...]) -> None:
    assert len(usual) > 40
    assert sampled(seed, *options) == usual
