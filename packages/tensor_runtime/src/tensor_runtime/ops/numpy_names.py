"""What users of NumPy and PyTorch look for, and what it is called here.

NumPy's functions on tensors are refused by errors that name ours, and so are methods that a tensor has not; nothing of
this is on the way of a call that succeeds.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from tensor_core.dtypes import dtype_of_name
from tensor_core.errors import MissingAttributeError
from tensor_core.foreign import number_of, refuse_masked, shape_of
from tensor_runtime.backends.plugins.families import families
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.tensors.tensor import Tensor

OURS: Final[Mapping[str, str]] = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "around": "round",
    "ascontiguousarray": "to_contiguous", "asfortranarray": "to_contiguous", "bitwise_not": "bitwise_invert",
    "concat": "concatenate", "conjugate": "conj", "copyto": "copy_into", "diagonal": "extract_diagonal", "fabs": "abs",
    "float_power": "pow", "fmax": "maximum", "fmin": "minimum", "fromfile": "load_raw", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "matrix_transpose": "swapaxes", "mod": "remainder", "moveaxis": "move_axes",
    "permute_dims": "permute_axes", "power": "pow", "put": "put_along_axis", "right_shift": "bitwise_right_shift",
    "rint": "round", "true_divide": "divide",
}  # fmt: skip
"""NumPy's functions whose namesakes here bear another name."""

METHODS: Final[Mapping[str, str]] = {
    "H": "tensor_runtime.conj(x.T)",
    "astype": "tensor_runtime.convert(x, dtype), or cast(x, dtype) where values may be lost",
    "at": "tensor_runtime.mutable_view(x)[...] = value, or tensor_runtime.scatter(x, indices, updates, mode='add')",
    "backward": "your own derivative (of an einsum: plan.environments): no gradients are recorded",
    "bool": "tensor_runtime.not_equal(x, 0)",
    "clone": "tensor_runtime.copy(x)",
    "contiguous": "tensor_runtime.to_contiguous(x)",
    "cpu": "x.to('cpu')",
    "detach": "x itself: no gradients are recorded",
    "device": "x.placement",
    "dim": "x.ndim",
    "double": "tensor_runtime.convert(x, 'F64')",
    "expand": "tensor_runtime.broadcast_to(x, shape)",
    "fill": "tensor_runtime.mutable_view(x)[...] = value",
    "flat": "x.reshape(-1, order='C')",
    "float": "tensor_runtime.convert(x, 'F32')",
    "flatten": "x.reshape(-1, order='C')",
    "grad": "your own derivative (of an einsum: plan.environments): no gradients are recorded",
    "int": "tensor_runtime.cast(x, 'I32')",
    "itemsize": "x.dtype.itemsize",
    "long": "tensor_runtime.cast(x, 'I64')",
    "numel": "x.size",
    "numpy": "x.to_numpy()",
    "permute": "tensor_runtime.permute_axes(x, axes)",
    "ravel": "x.reshape(-1, order='C')",
    "requires_grad": "nothing: no gradients are recorded",
    "resize": "x.reshape(shape)",
    "t": "x.T",
    "tobytes": "x.to_numpy().tobytes()",
    "type": "tensor_runtime.convert(x, dtype)",
    "unsqueeze": "tensor_runtime.expand_dims(x, axis)",
    "view": "tensor_runtime.reshape_view(x, shape)",
}
"""Attributes of arrays that are no functions here, and what to write."""

FUNCTIONS: Final[Mapping[str, str]] = {
    "append": "concatenate([x, y])",
    "argwhere": "stack(nonzero(x), -1)",
    "array": "tensor(data), or asarray(array), which shares memory",
    "as_tensor": "asarray(x)",
    "astype": "convert(x, dtype), or cast(x, dtype) where values may be lost",
    "bmm": "matmul(x, y)",
    "cat": "concatenate(tensors, axis)",
    "clamp": "clip(x, low, high)",
    "diag": "extract_diagonal(x), or embed_diagonal(x)",
    "double": "F64",
    "e": "math.e",
    "finfo": "numpy.finfo(x.dtype.numpy_name)",
    "flatnonzero": "nonzero(x.reshape(-1, order='C'))[0]",
    "flatten": "x.reshape(-1, order='C')",
    "fliplr": "x[:, ::-1]",
    "flipud": "x[::-1]",
    "float": "F64, or F32",
    "from_numpy": "asarray(array)",
    "fromfunction": "from_function(shape, f)",
    "identity": "eye(rows)",
    "iinfo": "numpy.iinfo(x.dtype.numpy_name)",
    "inf": "math.inf",
    "int": "I64",
    "inv": "tensor_linalg.inv(x)",
    "inner": "tensordot(x, y, ((-1,), (-1,)))",
    "linalg": "import tensor_linalg, whose batches come last: [M, N, B...]",
    "manual_seed": "seed= of uniform, normal and integers",
    "mm": "matmul(x, y)",
    "mT": "x.mT",
    "matrix_transpose": "x.mT",
    "ndim": "x.rank",
    "nan": "math.nan",
    "ndarray": "Tensor",
    "newaxis": "None",
    "no_grad": "nothing: no gradients are recorded",
    "pi": "math.pi",
    "rand": "uniform(shape, seed=seed)",
    "randint": "integers(shape, low, high, seed=seed)",
    "randn": "normal(shape, seed=seed)",
    "random": "uniform(shape, seed=seed), normal(shape, seed=seed) or integers(shape, low, high, seed=seed)",
    "ravel": "x.reshape(-1, order='C')",
    "reshape": "x.reshape(shape), column-major, or x.reshape(shape, order='C') as in NumPy",
    "shape": "x.shape",
    "size": "x.size",
    "svd": "tensor_linalg.svd(x)",
    "unsqueeze": "expand_dims(x, axis)",
    "vstack": "concatenate(tensors, 0), or of vectors stack(tensors)",
    "hstack": "concatenate(tensors, 1), or of vectors concatenate(tensors)",
}
"""Names of NumPy's and PyTorch's that are no functions of ``tensor_runtime``, and what to write."""

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod,
    "power": operator.pow, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "equal": operator.eq, "not_equal": operator.ne,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
_METADATA: Final = frozenset({"ndim", "shape", "size"})


def array_ufunc(x: Tensor, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """NumPy's protocol for its elementwise functions, by which it asks for ``scalar * x`` too; all else is refused.

    Raises:
        ForeignOperandError: always, but for an operator between a NumPy scalar and a tensor.

    >>> import numpy as np
    >>> array_ufunc(x := tensor([1.0]), np.multiply, "__call__", np.float64(2), x).item()
    2.0
    """
    name = ufunc.__name__
    if method == "__call__" and not options and len(inputs) == 2 and inputs[1] is x and name in _OPERATORS:
        scalar = inputs[0]
        if name in elementwise.COMPARISONS and shape_of(scalar) == () and hasattr(scalar, "__array_interface__"):
            scalar = scalar[()]  # NumPy compares its scalars as arrays of rank 0
        number = None if isinstance(scalar, Tensor) else number_of(scalar)
        if number is not None and number is not scalar:
            return _OPERATORS[name](number, x)
    raise _refused(f"numpy.{name}", name, inputs)


def array_function(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], options: Any, /) -> Any:
    """NumPy's protocol for its other functions; only shape, rank and size are told.

    Raises:
        ForeignOperandError: for all others.

    >>> import numpy as np
    >>> np.shape(tensor([1.0]))
    (1,)
    """
    name = function.__name__
    if name in _METADATA and len(arguments) == 1 and not options:
        return getattr(x, name)
    raise _refused(f"{function.__module__}.{name}", name, arguments)


def masked_data(x: Tensor, /) -> NoReturn:
    """What ``numpy.ma`` asks any operand for before it reads it as an array: there is none.

    Raises:
        ForeignOperandError: always.
    """
    raise ForeignOperandError(
        "numpy.ma: found a masked array beside a tensor, and a tensor has no mask; accepted: x.filled(value), which "
        "gives the masked elements a value, or x.data, which ignores the mask"
    )


def _refused(called: str, name: str, arguments: Sequence[Any]) -> ForeignOperandError:
    for one in arguments:
        refuse_masked(called, one)
    ours = _written(OURS.get(name, name))
    remedy = f"{ours} computes it" if ours else "to_numpy(), or np.asarray(x), gives NumPy the elements"
    met = "found a tensor, which is no array of NumPy's"
    for one in arguments:
        if hasattr(one, "__array_interface__") and number_of(one) is None:
            met = f"a tensor meets a {type(one).__module__}.{type(one).__name__}"
            remedy = "make it a tensor with asarray(), or the tensor an array with to_numpy()"
            remedy += f"; of tensors, {ours} computes it" if ours else ""
            break
    return ForeignOperandError(f"{called}: {met}; {remedy}", operation=called)


def _written(name: str) -> str:
    """The call of a function of ours, as a user writes it; "" where none bears that name."""
    runtime = sys.modules["tensor_runtime"]
    if name in runtime.__all__ and callable(getattr(runtime, name)):
        return f"tensor_runtime.{name}({', '.join(_required(getattr(runtime, name)))})"
    for family in families():
        if name in family.operations:
            return f"{family.operations[name].partition(':')[0].partition('.')[0]}.{name}(x)"
    return ""


def _required(function: Any) -> list[str]:
    """Names of the parameters that a call must give; the tensors first among them are x and y."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ["x"]
    names = [*code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())]]
    if _takes_a_tensor(function):
        names[:2] = ["x", "y"][: len(names)] if names[1:] in (["b"], ["x"]) else ["x", *names[1:2]]
    return names


def _takes_a_tensor(function: Any) -> bool:
    """Whether its first parameter is one, as its annotation says."""
    code, said = getattr(function, "__code__", None), getattr(function, "__annotations__", {})
    first = str(said.get(code.co_varnames[0], "")) if code is not None and code.co_argcount else ""
    return first.startswith(("Tensor", "TypedTensor"))


class _Absent:
    """What stands for an attribute that tensors have not, so that the error names the function instead.

    A ``__getattr__`` would cost each attribute that is there 25 ns.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        name, kind = self.name, owner.__name__
        found = f"{kind!r} object has no attribute {name!r}"
        if name in METHODS:
            raise MissingAttributeError(f"{found}; write {METHODS[name]}", name=name)
        ours = OURS.get(name, name)
        function = vars(sys.modules["tensor_runtime"]).get(ours)
        if not _takes_a_tensor(function):
            raise MissingAttributeError(found, name=name)
        what = f"{name!r} is a function" if ours == name else f"{name!r} is the function {ours!r} here"
        raise MissingAttributeError(f"{found}: {what}: {_written(ours)}", name=name)


def tell_of_functions(names: Iterable[str], /) -> None:
    """Let the attributes of tensors that are not there name the functions of these names, and what NumPy calls them.

    >>> x = tensor([1.0])
    >>> x.sum()
    Traceback (most recent call last):
        ...
    tensor_core.errors.MissingAttributeError: 'Tensor' object has no attribute 'sum': 'sum' is a function: \
tensor_runtime.sum(x)
    >>> hasattr(x, "sum"), "sum" in dir(x)
    (False, False)
    """
    taken = vars(Tensor)
    for name in (*names, *OURS, *METHODS):
        if name not in taken:
            setattr(Tensor, name, _Absent(name))


def missing_function(name: str, /) -> NoReturn:
    """What a name raises that ``tensor_runtime`` lacks; where NumPy or PyTorch has it, with what it is called here.

    >>> missing_function("array")
    Traceback (most recent call last):
        ...
    tensor_core.errors.MissingAttributeError: module 'tensor_runtime' has no attribute 'array'; write tensor(data), or \
asarray(array), which shares memory
    """
    found, remedy = f"module 'tensor_runtime' has no attribute {name!r}", FUNCTIONS.get(name, "")
    if not remedy:
        dtype = dtype_of_name(name) if len(name) > 1 else None
        ours = dtype.name if dtype is not None else OURS.get(name, "")
        remedy = ours if ours in sys.modules["tensor_runtime"].__all__ else ""
    if not remedy and name in getattr(numpy := sys.modules.get("numpy"), "__all__", ()):
        theirs = getattr(numpy, name)
        remedy = f"asarray(numpy.{name}(x.to_numpy()))" if callable(theirs) and not isinstance(theirs, type) else ""
    raise MissingAttributeError(f"{found}; write {remedy}" if remedy else found, name=name)


def attributes(x: Tensor, /) -> list[str]:
    """The names of the attributes that a tensor has; what ``dir(x)`` lists.

    >>> "shape" in attributes(tensor([1.0])), "sum" in attributes(tensor([1.0]))
    (True, False)
    """
    absent = {name for name, value in vars(Tensor).items() if isinstance(value, _Absent)}
    return sorted(set(dir(type(x))) - absent)
