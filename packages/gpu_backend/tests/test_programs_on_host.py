"""The sources of programs do what the programs mean: compiled for the host, under sanitizers, on the same memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_programs.building import BuildError, compiler
from gpu_programs.comparing import difference
from gpu_programs.drawing import elementwise_kernels
from gpu_programs.recording import CAPACITY, Noted
from gpu_programs.running import Hosted, RunError
from gpu_programs.sampling import maker_of, makers, programs_of, samples
from tensor_core.dtypes import ALL
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.device.api import Launch
from tensor_gpu.device.program import Argument, HostMemory, Program
from tensor_gpu.programs.source import header
from tensor_gpu.sim.memory import SimulatedMemory

try:
    compiler()
except BackendUnavailableError as error:
    pytest.skip(f"sources are not run on the host: {error}", allow_module_level=True)


@pytest.mark.parametrize("parts", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_programs_do_what_they_mean(parts: int) -> None:
    """An eighth of all programs here; all of them by ``make test-gpu-sources``."""
    found = samples(1, 1, parts)
    with Hosted(programs_of(found)) as hosted:
        left = hosted.run([sample.noted for sample in found])

    wrong = [
        f"{sample.call}: {differs}"
        for sample, memory in zip(found, left, strict=True)
        if (differs := difference(sample.noted, memory)) is not None
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_samples_hold_every_program_and_every_kernel_of_every_dtype() -> None:
    found = samples(1)
    called = {sample.call for sample in found}

    assert set(makers()) <= {maker_of(program) for program in programs_of(found)}
    assert {call.partition(" of ")[0] for call in called} >= set(elementwise_kernels())
    for dtype in ALL:
        assert f"copy of {dtype.name}" in called
        assert f"exp of {dtype.name}" in called
    strides = {number for sample in found for number in sample.noted.launch.arguments}
    assert strides >= {-3, -1, 0, 1, 2}


def meaningless(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
    """For programs whose results are looked at here."""


SOURCES = {
    "turn": """{
    __shared__ long long kept[64];
    kept[threadIdx.x] = threadIdx.x;
    __syncthreads();
    target[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}""",
    "turn_without_barrier": """{
    __shared__ long long kept[64];
    kept[threadIdx.x] = threadIdx.x;
    target[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}""",
    "beside": "{ target[number] = 1; }",
    "beside_shared": """{
    __shared__ long long kept[4];
    kept[number] = 1;
    target[0] = kept[number];
}""",
    "overflow": "{ target[0] = (int)number + (int)number; }",
    "half": """{
    if (threadIdx.x < 16) __syncthreads();
    target[threadIdx.x] = number;
}""",
    "pass_on": """{
    long long sum = threadIdx.x;
    for (unsigned int lanes = 16; lanes > 0; lanes /= 2) sum += shuffle_down(sum, lanes);
    const complex64 x = shuffle_xor(complex64{(double)threadIdx.x, -1.0}, 1);
    const long long whole = shuffle_from(sum, (unsigned int)number);
    target[threadIdx.x] = shuffle_from(threadIdx.x % 32 == 5, 5) ? 1000 * whole + (long long)(x.re * -x.im) : 0;
}""",
    "count": """{
    unsigned long long *words = (unsigned long long *)target;
    atomicAdd(words, 1ull);
    atomicMin(words + 1, (unsigned long long)threadIdx.x);
    const unsigned long long seen = *(volatile unsigned long long *)(words + 3);
    atomicMax(words + 2, (unsigned long long)threadIdx.x);
    words[3] = seen + (unsigned long long)number;
}""",
}
PROGRAMS = {
    name: Program(
        name, f'{header()}extern "C" __global__ void {name}(long long* target, long long number) {body}\n', meaningless
    )
    for name, body in SOURCES.items()
}


@pytest.fixture(scope="module")
def hosted() -> Iterator[Hosted]:
    with Hosted(list(PROGRAMS.values())) as built:
        yield built


def words_left(hosted: Hosted, name: str, words: int, threads: int, number: int = 0, runs: int = 10) -> list[list[int]]:
    """What runs of one block, with different orders of its threads, leave in so many words that were 0."""
    memory = SimulatedMemory(0, CAPACITY)
    address = memory.allocate(8 * words)
    launch = Launch(PROGRAMS[name], 1, threads, (address, number))
    before = ((address, bytes(8 * words)),)
    found = hosted.run([Noted(launch, before, before, (None,), 0)] * runs)
    return [memoryview(data).cast("q").tolist() for (data,) in found]


def test_a_barrier_that_is_missing_is_found(hosted: Hosted) -> None:
    expected = list(range(63, -1, -1))

    assert all(found == expected for found in words_left(hosted, "turn", 64, 64))
    assert not any(found == expected for found in words_left(hosted, "turn_without_barrier", 64, 64))


def test_an_element_beside_an_allocation_is_found(hosted: Hosted) -> None:
    assert words_left(hosted, "beside", 3, 1, 2) == [[0, 0, 1]] * 10
    for place in (-1, 3, 1 << 20):
        with pytest.raises(RunError, match=r"AddressSanitizer: use-after-poison(?s:.*)launch 0, of room_2::program_2"):
            words_left(hosted, "beside", 3, 1, place)


def test_an_element_beside_shared_memory_is_found(hosted: Hosted) -> None:
    assert words_left(hosted, "beside_shared", 1, 1, 3) == [[1]] * 10
    with pytest.raises(RunError, match="index 4 out of bounds"):
        words_left(hosted, "beside_shared", 1, 1, 4)


def test_overflow_of_integers_is_found(hosted: Hosted) -> None:
    with pytest.raises(RunError, match="signed integer overflow"):
        words_left(hosted, "overflow", 1, 1, 2**31 - 1)


def test_a_barrier_that_not_all_threads_reach_is_found(hosted: Hosted) -> None:
    with pytest.raises(RunError, match="a barrier that this thread does not reach"):
        words_left(hosted, "half", 32, 32)


def test_lanes_of_a_warp_exchange_numbers(hosted: Hosted) -> None:
    sums = [496] * 32 + [496 + 32 * 32] * 32
    expected = [1000 * total + (k ^ 1) for k, total in enumerate(sums)]

    assert words_left(hosted, "pass_on", 64, 64) == [expected] * 10
    with pytest.raises(RunError, match="exchange between lanes that not all of the mask reach"):
        words_left(hosted, "pass_on", 40, 40)


def test_atomic_operations_lose_nothing_and_others_do(hosted: Hosted) -> None:
    for count, least, most, lost in words_left(hosted, "count", 4, 64, 1):
        assert (count, least, most) == (64, 0, 63)
        assert lost < 64


def test_a_source_that_is_wrong_is_told() -> None:
    program = Program("wrong", 'extern "C" __global__ void wrong(double* x) { *x = nonsense; }', meaningless)

    with pytest.raises(BuildError, match="nonsense"):
        Hosted([program])


def test_without_a_compiler_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.cache_clear()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BackendUnavailableError, match="install g"):
        compiler()
    compiler.cache_clear()
