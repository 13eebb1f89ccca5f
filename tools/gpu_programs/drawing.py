"""Calls of elementwise functions on tensors of a device, drawn from a seed: element types, shapes, strides and numbers.

A call binds a kernel and so submits launches; what is drawn here is for a device that notes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
import tensor_runtime.primitives as primitives
from gpu_programs.recording import Recording
from tensor_core.dtypes import DTYPES, Bool, DType
from tensor_core.errors import DTypeError, LossyConversionError
from tensor_gpu import kernel_table
from tensor_runtime.backends.kernel_facts import stated
from tensor_runtime.placement import Placement

Array = np.ndarray[Any, Any]
Random = np.random.Generator

ROUNDED: Final = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "rsqrt", "sigmoid", "silu",
    "sin", "sinh", "softplus", "sqrt", "tan", "tanh",
})  # fmt: skip
"""Kernels whose results are some rounding units apart on different machines; all others give the same bits, of complex
numbers those with whole parts."""
ROUNDED_PARTS: Final = frozenset({"abs", "sign", "divide"})
"""Kernels of which that is true for complex numbers, whole or not."""
ROUNDED_ANGLES: Final = frozenset({"exp2", "pow"})
"""Kernels that multiply an angle, of complex numbers: the host does that in their own type, a device in F64."""
REFUSING_ZERO: Final = frozenset({"floor_divide", "remainder", "fmod", "trunc_divide", "div", "rem"})
"""Kernels whose divisors, if they are integers, are not 0."""
CHAINS: Final = frozenset({"elementwise_program"})
ULPS: Final = 8  # 4 of either side
CANCELLING: Final = frozenset({"logaddexp"})
"""Kernels whose results near 0 are sums of terms near 1."""
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 1e-3, 0.99, 30.0, float("inf"), float("-inf"), float("nan"))
WITHOUT_ZERO_SIGNS: Final = frozenset({"maximum", "minimum", "clip", "relu"})
"""Of two zeros, either may be the larger one."""


def elementwise_kernels() -> tuple[str, ...]:
    """Every elementwise kernel for devices, but chains of them.

    >>> {"add", "exp", "where"} <= set(elementwise_kernels())
    True
    """
    facts = stated()
    return tuple(
        name for name in sorted(kernel_table.rows().keys() - CHAINS) if name in facts and facts[name].elementwise
    )


def function_of(kernel: str, /) -> Callable[..., Any]:
    """The public function of a kernel."""
    name = kernel.removesuffix("_unchecked")
    function: Callable[..., Any] = getattr(tr if hasattr(tr, name) else primitives, name)
    return function if name == kernel else lambda x, y, /: function(x, y, check=False)


def operand_count(kernel: str, /) -> int:
    """Tensors that the function of a kernel takes.

    >>> operand_count("negative"), operand_count("floor_divide_unchecked"), operand_count("where")
    (1, 2, 3)
    """
    if kernel in ("convert", "cast", "clip"):
        return 3 if kernel == "clip" else 1
    parameters = inspect.signature(function_of(kernel)).parameters.values()
    return sum(one.kind is one.POSITIONAL_ONLY for one in parameters)


def ulps_of(kernel: str, dtype: DType, whole: bool, /) -> int:
    """Rounding units that a result may differ by.

    >>> from tensor_core import C64, F64
    >>> ulps_of("multiply", F64, False), ulps_of("multiply", C64, False), ulps_of("multiply", C64, True)
    (0, 8, 0)
    """
    complex_ = dtype.kind == "complex"
    if complex_ and kernel in ROUNDED_ANGLES:
        return 1024
    return ULPS if kernel in ROUNDED or (complex_ and (kernel in ROUNDED_PARTS or not whole)) else 0


def drawn_call(random: Random, place: Placement, kernel: str, dtype: DType, /, *, whole: bool) -> bool:
    """Call the function of a kernel once; False where it does not take elements of this type.

    Args:
        random: draws everything else.
        place: where the tensors lie.
        kernel: one of :func:`elementwise_kernels`.
        dtype: of the operands.
        whole: small whole numbers in strided tensors of a drawn shape, and now and then a Python number, in place of
            all kinds of numbers one after the other.
    """
    count = operand_count(kernel)
    shape = tuple(int(n) for n in random.integers(1, 5, random.integers(0, 4))) if whole else (200,)
    number = int(random.integers(-1, count)) if whole and count > 1 and hasattr(tr, kernel) else -1
    operands: list[Any] = []
    for position in range(count):
        own = Bool if kernel == "where" and position == 0 else dtype
        if position == number and own is dtype:
            operands.append(values(random, own, (), whole, kernel, position).item())
        else:
            operands.append(strided(random, place, own, shape, whole, kernel, position))
    try:
        if kernel in ("convert", "cast"):
            for target in DTYPES:
                _converted(kernel, operands[0], target, whole)
        else:
            function_of(kernel)(*operands)
    except DTypeError:
        return False
    return True


def _converted(kernel: str, x: Any, target: DType, whole: bool) -> None:
    if kernel == "convert":
        try:
            tr.convert(x, target)
        except LossyConversionError:
            return
    else:
        for overflow in ("error",) if whole else ("wrap", "saturate"):
            tr.cast(x, target, overflow=overflow)


def values(random: Random, dtype: DType, shape: tuple[int, ...], whole: bool, kernel: str, position: int, /) -> Array:
    """Elements for one operand of a kernel, none of which it refuses."""
    if dtype is Bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "complex":
        parts = [values(random, dtype.component, shape, whole, kernel, position) for _ in range(2)]
        return _joined(parts, dtype)
    found: Array = random.integers(-4, 5, shape)
    if dtype.kind == "int" and not whole:
        facts = np.iinfo(dtype.numpy_name)
        ends = random.integers(facts.min, facts.max, shape, endpoint=True)
        found = np.where(random.random(shape) < 0.3, ends, found)
        found = np.where(
            random.random(shape) < 0.1, random.choice([facts.min, facts.max, 31, 32, 63, 64], shape), found
        )
    elif not whole and kernel == "pow":  # complex powers of infinities are left open
        found = random.normal(size=shape)
    elif not whole:
        found = np.where(random.random(shape) < 0.4, random.choice(SPECIAL, shape), 3 * random.normal(size=shape))
        if kernel in WITHOUT_ZERO_SIGNS:
            found = found + 0.0
    if dtype.kind == "int" and position == 1 and not kernel.endswith("_unchecked"):
        if kernel == "pow":
            found = np.abs(found % 7)
        elif kernel in REFUSING_ZERO:
            found = np.where(found == 0, 1, found)
    return found.astype(dtype.numpy_name)


def _joined(parts: list[Array], dtype: DType) -> Array:
    found = np.empty(parts[0].shape, dtype.numpy_name)
    found.real, found.imag = parts
    return found


def strided(
    random: Random, place: Placement, dtype: DType, shape: tuple[int, ...], whole: bool, kernel: str, position: int, /
) -> Any:
    """A tensor of a shape on a device: with ``whole``, one whose strides are of either sign, or zero, or leave gaps."""
    steps = [int(random.choice([1, 1, 2, -1, -3, 0])) if whole else 1 for _ in shape]
    lying = tuple((extent - 1) * abs(step) + 1 for extent, step in zip(shape, steps, strict=True))
    order = random.permutation(len(shape))
    base = values(random, dtype, tuple(lying[axis] for axis in order), whole, kernel, position)
    tensor = tr.to(tr.tensor(np.asarray(base), dtype), place)
    if not shape:
        return tensor
    tensor = tr.permute_axes(tensor, tuple(int(axis) for axis in np.argsort(order)))
    tensor = tensor[tuple(slice(None, None, step or 1) for step in steps)]
    return tr.broadcast_to(tensor, shape)


def every_call(seed: int, recording: Recording, /) -> Iterator[tuple[str, DType, int]]:
    """Calls every elementwise kernel for every element type, once with whole numbers and once with all kinds.

    Yields:
        After each call the kernel, the element type, and the rounding units that its results may differ by.
    """
    random = np.random.default_rng(seed)
    for kernel in elementwise_kernels():
        for dtype in DTYPES:
            for whole in (True, False):
                drawn_call(random, recording.place, kernel, dtype, whole=whole)
                yield kernel, dtype, ulps_of(kernel, dtype, whole)
