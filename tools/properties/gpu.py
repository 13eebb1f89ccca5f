"""Properties of the sources of programs for devices, run on the host; nothing here runs on a GPU.

There are none without a C++ compiler; the suite of ``tensor_gpu`` says so then.
"""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from gpu_programs.building import compiler
from gpu_programs.comparing import difference
from gpu_programs.drawing import drawn_call, elementwise_kernels, ulps_of
from gpu_programs.recording import recorded
from gpu_programs.running import Hosted
from gpu_programs.sampling import Sample, programs_of
from properties import Property
from tensor_core.dtypes import DTYPES
from tensor_core.errors import BackendUnavailableError

_CALLS: Final = 15  # of one kernel for one element type


def sources_do_what_programs_mean(rng: Random) -> None:
    """One elementwise kernel, for every element type and many shapes, strides and numbers."""
    kernel = rng.choice(elementwise_kernels())
    draw = np.random.default_rng(rng.randrange(1 << 32))
    found = []
    with recorded() as recording:
        for dtype in DTYPES:
            for turn in range(_CALLS):
                whole = turn % 3 != 0
                drawn_call(draw, recording.place, kernel, dtype, whole=whole)
                ulps = ulps_of(kernel, dtype, whole)
                found += [Sample(dtype.name, noted._replace(ulps=ulps)) for noted in recording.launches()]
    with Hosted(programs_of(found)) as hosted:
        left = hosted.run([sample.noted for sample in found], seed=rng.randrange(1 << 32))
    for sample, memory in zip(found, left, strict=True):
        differs = difference(sample.noted, memory)
        assert differs is None, f"{kernel} of {sample.call}: {differs}"


def _is_compiler_there() -> bool:
    try:
        compiler()
    except BackendUnavailableError:
        return False
    return True


PROPERTIES: Final = (
    (
        Property(
            "gpu-sources",
            "about 100 launches of an elementwise kernel on the host leave what its programs mean",
            sources_do_what_programs_mean,
            1,
            1_000,
            1,
        ),
    )
    if _is_compiler_there()
    else ()
)
