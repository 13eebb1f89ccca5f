"""Compiles the source of every program for devices to device code: ``make test-gpu-sources``.

Neither a device nor a driver is needed; that the code does what it should is shown on the host, by the suite. Exit
status 1 if a source is refused, with the compiler's log.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from gpu_programs import nvrtc
from gpu_programs.sampling import Sample, programs_of, samples
from tensor_gpu.device.program import Program


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, and print what the code takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=nvrtc.ARCHITECTURES, help="such as sm_90")
    parser.add_argument("--seed", type=int, default=1, help="of the samples")
    parser.add_argument("--rounds", type=int, default=1, help="conformance cases of each operation")
    options = parser.parse_args(arguments)
    found = samples(options.seed, options.rounds)
    programs = programs_of(found)
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(outcome, *zip(*product(programs, options.architectures), strict=True)))
    seconds = time.perf_counter() - start
    refused = [one for one in outcomes if isinstance(one, nvrtc.CompilationError)]
    for error in refused:
        print(error, file=sys.stderr)
    print(f"NVRTC {'.'.join(map(str, nvrtc.version()))}: {len(programs)} programs, {seconds:.0f} s")
    print("| architecture | programs | cubins, bytes | most registers | their program | most spilled bytes |")
    print("|---|--:|--:|--:|---|--:|")
    for architecture in options.architectures:
        print(row(architecture, [one for one in outcomes if isinstance(one, tuple) and one[1] == architecture], found))
    return 1 if refused else 0


Outcome = tuple[Program, str, nvrtc.Compiled]


def outcome(program: Program, architecture: str, /) -> Outcome | nvrtc.CompilationError:
    """What the compiler makes of one program."""
    try:
        return program, architecture, nvrtc.compiled(program.source, architecture)
    except nvrtc.CompilationError as error:
        return error


def row(architecture: str, outcomes: Sequence[Outcome], found: Sequence[Sample], /) -> str:
    """One row of the table."""
    if not outcomes:
        return f"| {architecture} | 0 | | | | |"
    size = sum(len(code.cubin) for _, _, code in outcomes)
    program, _, most = max(outcomes, key=lambda one: one[2].registers)
    call = next(sample.call for sample in found if sample.noted.launch.program.source == program.source)
    spilled = max(code.spilled for _, _, code in outcomes)
    return f"| {architecture} | {len(outcomes)} | {size:,} | {most.registers} | {call} | {spilled} |"


if __name__ == "__main__":
    sys.exit(main())
