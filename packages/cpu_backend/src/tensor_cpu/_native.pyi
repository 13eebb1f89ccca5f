"""Types of the extension module; what its functions do stands beside them in csrc/*/*.c.

Kernels are unsafe by contract: they trust that arrays are of the forms they were bound to (csrc/core/kernel.h). Binders
in ``tensor_cpu.kernels`` make them; the modules of threads and memory call the rest.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Self

from tensor_cpu.kernels.reduction.native import Loops

CACHE_LINE: int
CACHED_BYTES: int
MOST_AXES: int
PAIR_TABLE: int
FEWEST_LANES: int
SHORTEST_RUN: int
FEWEST_PACKED: int
PACKED_BYTES: int
LONGEST_TABLE: int
FARTHEST_NEXT: int
REPEATING_ROW: int
LONG_LANES: int
MOST_PACKED_BYTES: int
MOST_OPERANDS: int
MOST_REGISTERS: int
MOST_INSTRUCTIONS: int

def allocator_stats() -> dict[str, int]: ...
def allocator_clear() -> None: ...
def allocator_set_limit(limit_bytes: int, /) -> None: ...
def allocator_set_poisoning(on: bool, /) -> None: ...
def use_caching_allocator() -> None: ...
def empty(shape: tuple[int, ...], dtype: str, /) -> Any: ...
def lie_inside(array: Any, low: float, /) -> bool: ...
def bind_view(shape: tuple[int, ...], strides: tuple[int, ...], /) -> Kernel: ...
def restride(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], /) -> Any: ...
def address(array: Any, /) -> int: ...
def threads() -> int: ...
def set_threads(count: int, /) -> None: ...
def set_most_threads(count: int, /) -> None: ...
def set_call_checks(on: bool, /) -> None: ...
def instruction_set() -> str: ...
def set_instruction_set(name: str, /) -> None: ...
def is_amd() -> bool: ...
def streamed_bytes() -> int: ...
def far_bytes() -> int: ...
def set_streamed_bytes(count: int, /) -> None: ...
def bind_tiny_binary(
    name: str,
    shape: tuple[int, ...],
    result: str,
    operands: str,
    steps: tuple[int, int],
    are_numbers: tuple[bool, bool],
    fallback: Callable[[Any, Any], Any],
    /,
) -> Kernel | None: ...
def bind_tiny_unary(name: str, shape: tuple[int, ...], dtype: str, /) -> Kernel | None: ...
def bind_tiny_contraction(
    dtype: str,
    most_terms: int,
    labels_a: tuple[int, ...],
    extents_a: tuple[int, ...],
    strides_a: tuple[int, ...],
    labels_b: tuple[int, ...],
    extents_b: tuple[int, ...],
    strides_b: tuple[int, ...],
    labels_out: tuple[int, ...],
    /,
) -> Kernel | None: ...
def bind_copied(
    dtype: str,
    shape: tuple[int, ...],
    kernel: Kernel,
    first: Kernel | None,
    second: Kernel | None,
    result: Kernel | None,
    /,
) -> Kernel: ...
def bind_scattered(
    dtype: str,
    shape: tuple[int, ...],
    kernel: Kernel,
    outer: tuple[tuple[int, int, int, int], ...],
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    /,
) -> Kernel: ...
def bind_repeated(dtype: str, shape: tuple[int, ...], kernel: Kernel, blocks: tuple[int, int, int], /) -> Kernel: ...
def bind_copy(
    extents: tuple[int, ...], strides: tuple[int, ...], dtype: str, shape: tuple[int, ...] = ..., /
) -> Kernel: ...
def bind_copy_into(
    extents: tuple[int, ...], target_strides: tuple[int, ...], source_strides: tuple[int, ...], dtype: str, /
) -> Kernel: ...
def bind_joined(
    shape: tuple[int, ...], dtype: str, axis: int, parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], /
) -> Kernel | None: ...
def bind_padded(
    shape: tuple[int, ...],
    dtype: str,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    lows: tuple[int, ...],
    /,
) -> Kernel: ...
def bind_rolled(shape: tuple[int, ...], dtype: str, strides: tuple[int, ...], axes: tuple[int, ...], /) -> Kernel: ...
def bind_triangle(
    shape: tuple[int, ...], dtype: str, strides: tuple[int, ...], slow: int, fast: int, shift: int, behind: bool, /
) -> Kernel: ...
def bind_convert(
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: str,
    target: str,
    fallback: Callable[[Any], Any] | None,
    /,
) -> Kernel | None: ...
def copy_method(
    extents: tuple[int, ...], target_strides: tuple[int, ...], source_strides: tuple[int, ...], dtype: str, /
) -> tuple[str, tuple[int, ...]]: ...
def bind_batched_simd(
    routine: str,
    dtype: str,
    sides: tuple[int, int],
    right: int,
    count: int,
    results: tuple[tuple[tuple[int, ...], str], ...],
    single: bool,
    fallback: Callable[..., Any],
    check: bool = True,
    tolerance: float = 0.0,
    jacobi: int = 16,
) -> Kernel: ...

Kernel = Callable[..., Any]

def bind_sequence(
    operands: int,
    steps: Sequence[tuple[Kernel, int, int]],
    results: int | tuple[int, ...],
    failed: Callable[[int, Exception], BaseException],
    /,
) -> Kernel | None: ...
def sequence_facts(sequence: Kernel, /) -> dict[str, int]: ...
def blas_open(path: str, prefix: str, suffix: str, bits: int, ours: bool, /) -> str | None: ...
def blas_provide(mappings: tuple[Any, ...], /) -> None: ...
def blas_control_threads(path: str, getter: str, setter: str, here: str, ours: bool, /) -> str | None: ...
def blas_is_loaded(path: str, /) -> bool: ...
def blas_threads() -> int: ...
def bind_lapack(
    routine: str,
    dtype: str,
    rows: int,
    columns: int,
    right: int,
    batch: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_strides: tuple[int, ...],
    results: tuple[tuple[tuple[int, ...], str], ...],
    check: bool,
    fallback: Callable[..., Any],
    overwrite: bool = False,
    in_floats: bool = False,
) -> Kernel: ...
def bind_substitution(
    dtype: str,
    sides: tuple[int, int],
    batch: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_strides: tuple[int, ...],
    shape: tuple[int, ...],
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    check: bool,
    fallback: Callable[..., Any],
    overwrite: bool = False,
) -> Kernel: ...
def bind_factorization(
    routine: str,
    dtype: str,
    computed: str,
    sides: tuple[int, int],
    right: tuple[int, int],
    span: tuple[int, int],
    batch: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_strides: tuple[int, ...],
    results: tuple[tuple[tuple[int, ...], str], ...],
    check: bool,
    fallback: Callable[..., Any],
) -> Kernel: ...

_Group = tuple[tuple[int, int, int, int], ...]

def bind_semiring(
    algebra: str,
    dtype: str,
    shape: tuple[int, ...],
    groups: tuple[_Group, ...],
    swapped: bool,
    /,
) -> Kernel: ...
def bind_pair(
    dtype: str, shape: tuple[int, ...], kept: _Group, contracted: _Group, conjugated: bool = False, /
) -> Kernel: ...
def bind_turned(
    dtype: str,
    shape: tuple[int, ...],
    axes: _Group,
    parts: tuple[int, ...],
    first_is_turned: bool,
    second_is_turned: bool,
    /,
) -> Kernel: ...
def bind_products(
    dtype: str,
    shape: tuple[int, ...] | None,
    extents: tuple[int, int, int],
    stack: _Group,
    a: tuple[int, int],
    b: tuple[int, int],
    c: tuple[int, int],
    conjugated: int = ...,
    without_transpose: bool = ...,
    /,
) -> Kernel | None: ...
def bind_gemm(
    dtype: str,
    shape: tuple[int, ...],
    stack: _Group,
    rows: _Group,
    columns: _Group,
    inner: _Group,
    near: _Group,
    rows_are_second: bool,
    /,
) -> Kernel: ...
def bind_lines(
    operation: str, dtype: str, lines: tuple[int, int, int], shape: tuple[int, ...], result: str, /
) -> Kernel | None: ...
def bind_short_lines(
    fold: str,
    dtype: str,
    lines: tuple[int, int, int],
    shape: tuple[int, ...],
    result: str,
    divisor: float,
    root: bool,
    /,
) -> Kernel | None: ...
def bind_search(side: str, dtype: str, length: int, shape: tuple[int, ...], /) -> Kernel: ...
def bind_true(length: int, /) -> Kernel: ...
def bind_sort(dtype: str, axis: int, shape: tuple[int, ...], /) -> Kernel: ...
def settle_zeros(ordered: Any, source: Any, /) -> None: ...
def fill_uniform(array: Any, seed: int, stream: int, /) -> None: ...
def fill_integers(array: Any, seed: int, stream: int, low: int, number: int, /) -> None: ...
def fill_normal(array: Any, seed: int, stream: int, /) -> None: ...
def fill_spaced(array: Any, start: float, step: float, /) -> None: ...
def has_negative_zero(array: Any, /) -> bool: ...
def keep_distinct(ordered: Any, one_nan: bool, counts: Any, /) -> int: ...
def bind_argsort(dtype: str, extents: tuple[int, int, int], descending: bool, shape: tuple[int, ...], /) -> Kernel: ...
def bind_places(
    mode: str,
    dtype: str,
    index_dtype: str,
    entries: tuple[int, ...],
    axes: tuple[int, ...],
    components: tuple[int, ...],
    shape: tuple[int, ...],
    fallback: Callable[..., Any],
    /,
) -> Kernel: ...
def bind_take_along(
    dtype: str, extents: tuple[int, int, int, int], shape: tuple[int, ...], fallback: Callable[[Any, Any], Any], /
) -> Kernel: ...
def bind_normalization(
    name: str,
    dtype: str,
    lines: tuple[int, int, int],
    shape: tuple[int, ...],
    epsilon: float,
    fallback: Callable[..., Any],
    /,
) -> Kernel | None: ...
def bind_place(operation: str, dtype: str, extents: tuple[int, ...], shape: tuple[int, ...], /) -> Kernel | None: ...
def bind_stack(
    dtype: str,
    shape: tuple[int, ...],
    stack: _Group,
    near: _Group,
    rows: _Group,
    columns: _Group,
    inner: _Group,
    rows_are_second: bool,
    /,
) -> Kernel: ...
def bind_elementwise(
    shape: tuple[int, ...],
    dtype: str,
    operands: tuple[tuple[tuple[int, ...], str], ...],
    program: tuple[tuple[str, str, *tuple[int, ...]], ...],
    constants: tuple[bytes, ...],
    arguments: tuple[tuple[int, bool], ...] = ...,
    argument_count: int = ...,
    fallback: Callable[..., Any] = ...,
    /,
) -> Kernel: ...
def bind_loop(
    ufunc: Any,
    shape: tuple[int, ...],
    dtype: str,
    operands: tuple[tuple[str, int, bool], ...],
    nanoseconds: float,
    divides: bool,
    fallback: Callable[..., Any],
    /,
) -> Kernel | None: ...
def elementwise_operations() -> dict[str, list[str]]: ...
def bind_reduce(
    operation: str,
    operand_dtype: str,
    shape: tuple[int, ...],
    dtype: str,
    loops: Loops,
    divisor: float = ...,
    root: bool = ...,
    /,
) -> Kernel: ...

CALLS: tuple[str, ...]

class Call:
    def __new__(
        cls,
        kind: str,
        function: Callable[..., Any],
        tensor: type,
        mutable_view: type,
        form: type,
        spec: type,
        placement: object,
        found: dict[bytes, Any],
        insert: Callable[[bytes, Any], object],
        fail: Callable[[str, Exception, Any], object],
        transfers: ContextVar[Any],
        dtypes: tuple[object, ...],
        /,
    ) -> Self: ...
    def __call__(self, *arguments: Any, **options: Any) -> Any: ...
