"""The sources of programs compile to device code, where the compiler's library is installed."""

from __future__ import annotations

import random

import pytest

from gpu_programs import nvrtc
from gpu_programs.sampling import maker_of, programs_of, samples
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.programs.source import header

DRAWN = 24
SMALL = 'extern "C" __global__ void f(double* x) { x[threadIdx.x] = sin(x[threadIdx.x]); }'


@pytest.fixture
def compiler() -> None:
    try:
        nvrtc.library()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not compiled to device code: {error}")


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
def test_programs_of_every_maker_and_some_more_compile(architecture: str) -> None:
    """``make test-gpu-sources`` compiles all of them."""
    programs = programs_of(samples(1))
    chosen = {maker_of(program): program for program in programs}
    for program in (*chosen.values(), *random.Random(architecture).sample(programs, DRAWN)):
        code = nvrtc.compiled(program.source, architecture)
        assert code.cubin.startswith(b"\x7fELF")
        assert f".entry {program.entry}(".encode() in code.ptx
        assert 0 < code.registers <= 255


@pytest.mark.usefixtures("compiler")
def test_products_and_sums_are_not_contracted() -> None:
    source = f'{header()}extern "C" __global__ void f(double* x) {{ x[0] = x[1] * x[2] + x[3]; }}'

    assert b"fma.rn.f64" not in nvrtc.compiled(source, "sm_90").ptx
    assert b"fma.rn.f64" in nvrtc.compiled(source, "sm_90", ()).ptx


@pytest.mark.usefixtures("compiler")
def test_a_wrong_source_is_refused_with_the_compilers_words() -> None:
    with pytest.raises(nvrtc.CompilationError, match=r'sm_90: (?s:.*)identifier "nonsense" is undefined'):
        nvrtc.compiled(SMALL.replace("sin", "nonsense"), "sm_90")
    with pytest.raises(nvrtc.CompilationError, match="sm_1"):
        nvrtc.compiled(SMALL, "sm_1")


def test_without_the_compiler_the_error_says_where_it_is_from(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc.library.cache_clear()
    monkeypatch.setenv(nvrtc.LIBRARY, "/nowhere/libnvrtc.so")
    with pytest.raises(BackendUnavailableError, match=r"requirements/nvrtc\.txt"):
        nvrtc.library()
    nvrtc.library.cache_clear()
