"""Programs that sum products, in any algebra: one thread for each element of the result.

Arguments of a launch are the addresses of the result and of the operands, the numbers of elements of the result and of
terms, then extents and strides of the result's axes (of the result and of each operand), then those of the summed axes
(of each operand). An operand that lacks an axis has stride 0 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from tensor_core.dtypes import Bool, DType
from tensor_gpu.device.program import Argument, Flops, HostMemory, Program, made_once
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header, literal, loaded, stored
from tensor_runtime.algebras import MAX_TIMES, PLUS_TIMES, Semiring


class SumOfProducts(NamedTuple):
    """What is summed: one operand, or products of two."""

    operands: tuple[DType, ...]
    result: DType
    algebra: Semiring = PLUS_TIMES

    @property
    def addition(self) -> str:
        """The function that combines terms; of Bool an or."""
        return "logical_or" if self.result is Bool else self.algebra.addition

    @property
    def multiplication(self) -> str:
        """The function that makes a term; of Bool an and."""
        return "logical_and" if self.result is Bool else self.algebra.multiplication

    def added(self, total: str, term: str, first: str, /) -> str:
        """The expression of a sum and a further term, of which ``first`` says whether it is the first one.

        The largest product of negative numbers is below the zero of its algebra, so there a sum begins with a term.

        >>> from tensor_core import F64
        >>> from tensor_runtime.algebras import MAX_TIMES
        >>> SumOfProducts((F64, F64), F64).added("sum", "term", "j == 0")
        'to<double>(f_add(sum, term))'
        >>> SumOfProducts((F64, F64), F64, MAX_TIMES).added("sum", "term", "j == 0")
        'j == 0 ? term : to<double>(f_maximum(sum, term))'
        """
        result = TYPES[self.result]
        usual = f"to<{result}>(f_{self.addition}({total}, {term}))"
        return f"{first} ? {term} : {usual}" if self.algebra is MAX_TIMES else usual


class SummedArguments(NamedTuple):
    """The arguments of a launch, by what they are."""

    addresses: tuple[int, ...]  # of the result, then of the operands
    kept: tuple[int, ...]  # extents
    kept_strides: tuple[tuple[int, ...], ...]  # of the result, then of the operands
    summed: tuple[int, ...]
    summed_strides: tuple[tuple[int, ...], ...]  # of the operands

    def flat(self) -> tuple[int, ...]:
        """As they are given to a launch.

        >>> SummedArguments((4096, 8192), (2,), ((1,), (3,)), (3,), ((1,),)).flat()
        (4096, 8192, 2, 3, 2, 1, 3, 3, 1)
        """
        along = (
            *self.kept,
            *(stride for strides in self.kept_strides for stride in strides),
            *self.summed,
            *(stride for strides in self.summed_strides for stride in strides),
        )
        return (*self.addresses, prod(self.kept), prod(self.summed), *along)


@made_once
def sum_of_products(what: SumOfProducts, kept: int, summed: int, /) -> Program:
    """The program for so many axes of the result and so many summed ones.

    >>> from tensor_core import F64
    >>> sum_of_products(SumOfProducts((F64, F64), F64), 2, 1).entry
    'sum_of_products'
    """

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        compute_sums(memory, what, decoded(len(what.operands), kept, summed, arguments))

    source = header() + "\n".join(_lines(what, kept, summed)) + "\n"
    return Program("sum_of_products", source, meaning, flops_of(what, summed))


def flops_of(what: SumOfProducts, summed: int, /) -> Flops:
    """The operations of a launch: multiplications, and additions where there are summed axes.

    >>> from tensor_core import F64
    >>> flops_of(SumOfProducts((F64, F64), F64), 1)((0, 0, 0, 10, 3))
    60
    """
    each = len(what.operands) - 1 + bool(summed)

    def flops(arguments: tuple[Argument, ...]) -> int:
        results, terms = arguments[len(what.operands) + 1 :][:2]
        return each * int(results) * int(terms)

    return flops


def decoded(operands: int, kept: int, summed: int, arguments: tuple[Argument, ...], /) -> SummedArguments:
    """What the arguments of a launch are.

    >>> given = SummedArguments((4096, 8192), (2,), ((1,), (3,)), (3,), ((1,),))
    >>> decoded(1, 1, 1, given.flat()) == given
    True
    """
    numbers = iter([int(argument) for argument in arguments])

    def taken(count: int) -> tuple[int, ...]:
        return tuple(next(numbers) for _ in range(count))

    addresses, _ = taken(operands + 1), taken(2)
    extents, strides = taken(kept), tuple(taken(kept) for _ in range(operands + 1))
    return SummedArguments(addresses, extents, strides, taken(summed), tuple(taken(summed) for _ in range(operands)))


def compute_sums(memory: HostMemory, what: SumOfProducts, given: SummedArguments, /) -> None:
    """What a launch means: the sums, by kernels of the CPU backend.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 12)
    >>> x, total = (Elements(memory.allocate(24), F64, shape, (1,) * len(shape)) for shape in ((3,), ()))
    >>> x.of(memory)[...] = [1.0, 2.0, 4.0]
    >>> given = SummedArguments((total.address, x.address), (), ((), ()), (3,), ((1,),))
    >>> compute_sums(memory, SumOfProducts((F64,), F64), given)
    >>> total.of(memory).item()
    7.0
    """
    shape = (*given.kept, *given.summed)
    inner, labels = tuple(range(len(given.kept))), tuple(range(len(shape)))
    target = Elements(given.addresses[0], what.result, given.kept, given.kept_strides[0])
    operands = []
    for place, dtype in enumerate(what.operands):
        strides = given.kept_strides[place + 1] + given.summed_strides[place]
        operands.append(Elements(given.addresses[place + 1], dtype, shape, strides))
    params: tuple[object, ...] = (*[labels] * len(operands), inner)
    kernel = "contract" if len(operands) == 2 else "unary_einsum"
    if what.algebra is not PLUS_TIMES:
        params, kernel = (*params, what.algebra), f"semiring_{kernel}"
    compute(memory, kernel, params, target, operands)


def _lines(what: SumOfProducts, kept: int, summed: int) -> Iterator[str]:
    names = [f"x{place}" for place in range(len(what.operands))]
    result = TYPES[what.result]
    yield f'extern "C" __global__ void sum_of_products({", ".join(sum_parameters(what, names, kept, summed))}) {{'
    yield "    const long long stride = (long long)gridDim.x * blockDim.x;"
    yield "    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {"
    yield f"        long long rest = i, ot = 0{''.join(f', o{name} = 0' for name in names)};"
    yield from _walked("n", kept, ["t", *names], "o", "        ")
    yield f"        {result} sum = {literal(what.algebra.zero_of(what.result), what.result)};"
    yield "        for (long long j = 0; j < terms; ++j) {"
    yield f"            long long rest = j{''.join(f', p{name} = o{name}' for name in names)};"
    yield from _walked("m", summed, names, "p", "            ")
    factors = [factor_of(f"{name}[p{name}]", dtype, result) for name, dtype in zip(names, what.operands, strict=True)]
    term = factors[0] if len(factors) == 1 else f"f_{what.multiplication}({', '.join(factors)})"
    yield f"            const {result} term = to<{result}>({term});"
    yield f"            sum = {what.added('sum', 'term', 'j == 0')};"
    yield "        }"
    yield "        target[ot] = sum;"
    yield "    }"
    yield "}"


def factor_of(element: str, dtype: DType, result: str, /) -> str:
    """An element in memory as a number of the type in which sums are made.

    >>> from tensor_core import F32
    >>> factor_of("x[i]", Bool, "double"), factor_of("x[i]", F32, "double")
    ('to<double>(x[i] != 0)', 'to<double>(x[i])')
    """
    return f"to<{result}>({loaded(element, dtype)})"


def _walked(extents: str, rank: int, arrays: list[str], offset: str, indent: str) -> Iterator[str]:
    """Lines that add the offsets of index ``rest`` along some axes, the first one fastest."""
    for axis in range(rank):
        innermost = axis == rank - 1
        steps = " ".join(f"{offset}{array} += k * {extents}s{array}_{axis};" for array in arrays)
        index = "rest" if innermost else f"rest % {extents}{axis}"
        yield f"{indent}{{ const long long k = {index}; {steps}" + (
            " }" if innermost else f" rest /= {extents}{axis}; }}"
        )
    if not rank:
        yield f"{indent}(void)rest;"


def sum_parameters(what: SumOfProducts, names: list[str], kept: int, summed: int, /) -> Iterator[str]:
    """The parameters of a program that sums: those that :meth:`SummedArguments.flat` gives.

    >>> from tensor_core import F64
    >>> list(sum_parameters(SumOfProducts((F64,), F64), ["x"], 0, 1))[2:]
    ['long long size', 'long long terms', 'long long m0', 'long long msx_0']
    """
    yield f"{stored(what.result)}* target"
    yield from (f"const {stored(dtype)}* {name}" for name, dtype in zip(names, what.operands, strict=True))
    yield "long long size"
    yield "long long terms"
    for extents, rank, arrays in (("n", kept, ["t", *names]), ("m", summed, names)):
        yield from (f"long long {extents}{axis}" for axis in range(rank))
        for array in arrays:
            yield from (f"long long {extents}s{array}_{axis}" for axis in range(rank))
