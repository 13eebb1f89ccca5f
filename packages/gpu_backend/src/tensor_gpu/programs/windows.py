"""Programs over windows: pooling and convolution, one thread for each element of the result, which is compact.

Arguments are the addresses (target, x, for a convolution the filters), the number of elements of the result; extents
and strides of x; for each spatial axis the windows, elements of a window, steps from window to window and from element
to element, and elements of padding before and behind; for a convolution the strides of the filters, channels of x in a
group, and channels of the result in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tensor_core.dtypes import DType
from tensor_core.shapes import compact_strides
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header, loaded, stored
from tensor_runtime.contracts.contraction import ConvolutionParams, PoolingParams
from tensor_runtime.ops.windows import Windows


class Given(NamedTuple):
    """The numbers of a launch."""

    shape: tuple[int, ...]  # of x
    strides: tuple[int, ...]
    windows: Windows
    rest: tuple[int, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """As arguments."""
        w = self.windows
        padding = (*(pair[0] for pair in w.padding), *(pair[1] for pair in w.padding))
        return *self.shape, *self.strides, *w.counts, *w.extents, *w.strides, *w.dilation, *padding, *self.rest


def given_of(rank: int, numbers: tuple[int, ...], /) -> Given:
    """The numbers of a launch over operands of a rank, from its arguments.

    >>> windows = Windows((2,), (1,), (1,), ((0, 0),), (3,))
    >>> given = Given((1, 4, 1), (1, 1, 4), windows, ())
    >>> given_of(3, given.numbers) == given
    True
    """
    spatial, at = rank - 2, 2 * rank
    counts, extents, steps, dilation, before, behind = (
        numbers[start : start + spatial] for start in range(at, at + 6 * spatial, spatial)
    )
    padding = tuple(zip(before, behind, strict=True))
    windows = Windows(extents, steps, dilation, padding, counts)
    return Given(numbers[:rank], numbers[rank:at], windows, numbers[at + 6 * spatial :])


@made_once
def pool_program(name: str, x: DType, result: DType, rank: int, /) -> Program:
    """The program of "max_pool" or "mean_pool"; no window is without an element.

    >>> from tensor_core import F64
    >>> pool_program("max_pool", F64, F64, 4).entry
    'max_pool'
    """
    kind, spatial = TYPES[result], range(rank - 2)
    largest = name == "max_pool"
    lines = [
        *_head(name, [f"{stored(result)}* target", f"const {stored(x)}* x"], rank, []),
        *_indices(rank),
    ]
    for axis in spatial:
        start, element = f"const long long start{axis} = k{axis + 1} * t{axis} - p{axis}", f"d{axis}"
        lines += [
            f"        {start};",
            f"        const long long first{axis} = start{axis} < 0 ? (-start{axis} + {element} - 1) / {element} : 0;",
            f"        const long long past{axis} = n{axis + 1} - start{axis} + {element} - 1;",
            f"        const long long end{axis} = past{axis} / {element} < e{axis} ? past{axis} / {element} : e{axis};",
        ]
    lines += [f"        {kind} total = to<{kind}>(0);", "        long long number = 0;"]
    for depth, axis in enumerate(reversed(spatial), 2):
        indent = "    " * depth
        lines.append(f"{indent}for (long long a{axis} = first{axis}; a{axis} < end{axis}; a{axis}++) {{")
    place = " + ".join(f"(start{axis} + a{axis} * d{axis}) * s{axis + 1}" for axis in spatial)
    indent = "    " * rank
    added = "number ? f_maximum(total, value) : value" if largest else "f_add(total, value)"
    lines += [
        f"{indent}const {kind} value = to<{kind}>({loaded(f'x[around + {place}]', x)});",
        f"{indent}total = {added};",
        f"{indent}number++;",
        *("    " * depth + "}" for depth in range(rank - 1, 1, -1)),
    ]
    if largest:
        lines.append("        target[i] = total;")
    elif result.kind == "complex":
        part = TYPES[result.component]
        lines.append(f"        target[i] = {{total.re / ({part})number, total.im / ({part})number}};")
    else:
        lines.append(f"        target[i] = total / ({kind})number;")

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, _, *numbers = (int(argument) for argument in arguments)
        given = given_of(rank, tuple(numbers))
        windows, shape = given.windows, (given.shape[0], *given.windows.counts, given.shape[-1])
        params = PoolingParams(windows.extents, windows.strides, windows.padding, windows.dilation)
        made = Elements(target, result, shape, compact_strides(shape))
        compute(memory, name, params, made, (Elements(source, x, given.shape, given.strides),))

    return Program(name, header() + "\n".join([*lines, "    }", "}"]) + "\n", meaning)


@made_once
def convolution_program(x: DType, filters: DType, result: DType, rank: int, /) -> Program:
    """The program of "conv": products of window and filter; padding is zeros, which are multiplied too.

    >>> from tensor_core import F64
    >>> convolution_program(F64, F64, F64, 3).entry
    'conv'
    """
    kind, spatial, last = TYPES[result], range(rank - 2), rank - 1
    rest = [*(f"f{axis}" for axis in range(rank)), "channels", "made"]
    pointers = [f"{stored(result)}* target", f"const {stored(x)}* x", f"const {stored(filters)}* filters"]
    lines = [
        *_head("conv", pointers, rank, rest),
        *_indices(rank, around=f"k0 * s0 + k{last} / made * channels * s{last}"),
        f"        {kind} total = to<{kind}>(0);",
        "        for (long long c = 0; c < channels; c++) {",
        f"            const long long of = c * f{rank - 2} + k{last} * f{last};",
    ]
    lines += [f"        for (long long a{axis} = 0; a{axis} < e{axis}; a{axis}++) {{" for axis in reversed(spatial)]
    for axis in spatial:
        at = f"k{axis + 1} * t{axis} - p{axis} + a{axis} * d{axis}"
        lines += [f"            const long long at{axis} = {at};"]
    inside = " && ".join(f"at{axis} >= 0 && at{axis} < n{axis + 1}" for axis in spatial)
    place = " + ".join(f"at{axis} * s{axis + 1}" for axis in spatial)
    of_filter = " + ".join(f"a{axis} * f{axis}" for axis in spatial)
    element = loaded(f"x[around + c * s{last} + {place}]", x)
    lines += [
        f"            const {kind} value = {inside} ? to<{kind}>({element}) : to<{kind}>(0);",
        f"            const {kind} factor = to<{kind}>({loaded(f'filters[of + {of_filter}]', filters)});",
        "            total = f_add(total, f_multiply(value, factor));",
        "        " + "}" * (rank - 1),
        "        target[i] = total;",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, weights, _, *numbers = (int(argument) for argument in arguments)
        given = given_of(rank, tuple(numbers))
        windows = given.windows
        *strides, channels, made = given.rest
        groups = given.shape[-1] // channels
        shape = (given.shape[0], *windows.counts, groups * made)
        params = ConvolutionParams(windows.strides, windows.padding, windows.dilation, groups)
        operands = (
            Elements(source, x, given.shape, given.strides),
            Elements(weights, filters, (*windows.extents, channels, groups * made), tuple(strides)),
        )
        compute(memory, "conv", params, Elements(target, result, shape, compact_strides(shape)), operands)

    return Program("conv", header() + "\n".join(lines) + "\n", meaning)


def _head(entry: str, pointers: list[str], rank: int, rest: list[str]) -> Iterator[str]:
    names = [f"{letter}{axis}" for letter in "ns" for axis in range(rank)]
    names += [f"{letter}{axis}" for letter in "wetdpq" for axis in range(rank - 2)]
    parameters = [*pointers, "long long size", *(f"long long {name}" for name in (*names, *rest))]
    yield f'extern "C" __global__ void {entry}({", ".join(parameters)}) {{'
    yield from loop_over("size")


def _indices(rank: int, around: str = "") -> Iterator[str]:
    """The index k of an element of the result along each axis, and the offset in x that needs no window."""
    yield "        long long rest = i;"
    for axis in range(rank - 1):
        extent = "n0" if axis == 0 else f"w{axis - 1}"
        yield f"        const long long k{axis} = rest % {extent}; rest /= {extent};"
    yield f"        const long long k{rank - 1} = rest;"
    yield f"        const long long around = {around or f'k0 * s0 + k{rank - 1} * s{rank - 1}'};"
