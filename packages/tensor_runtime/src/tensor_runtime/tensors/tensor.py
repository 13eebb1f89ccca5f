"""The runtime tensor: a form and the backend's own array.

Tensors carry data and metadata; computation is free functions. Operators, indexing and the few methods declared here
are thin sugar over those functions; ``tensor_runtime.ops.methods`` attaches them, so that this module stands below all
operations.

At run time there is one class, ``Tensor``. ``TypedTensor[T]`` and ``TypedTensorView[T]`` are the same class,
narrowed for the type checker. Its one subclass, ``TypedTensorViewMut``, is a view whose elements may be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol, SupportsIndex, TypeVar

from tensor_core.dtypes import DType, DTypeLike, Element
from tensor_core.errors import DTypeError
from tensor_core.foreign import refuse_masked
from tensor_core.layout import TensorLayout
from tensor_core.shapes import Shape
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.buffer import BackendBuffer, HostBuffer

if TYPE_CHECKING:
    import numpy as np

    from tensor_core.dtypes import Bool

N = TypeVar("N", covariant=True)


class ForeignNumber(Protocol[N]):
    """A number of another library, such as a scalar of NumPy: unlike an array it never has an axis."""

    @property
    def ndim(self) -> Literal[0]:
        """Number of axes."""

    def item(self, /) -> N:
        """The Python number that it equals."""


Number = bool | int | float | complex | ForeignNumber[complex]
"""What stands for a number wherever one is taken."""


class Tensor:
    """Dense elements of one dtype, in one place.

    Made by ``tensor``, ``zeros``, ``asarray`` and the like, never by calling the class, which says so. Code of this
    library takes a :func:`blank` one and fills its slots, or calls :func:`wrap`: an ``__init__`` would cost more than
    the look-up of a kernel. The third slot is filled for views and for memory that another library lends
    (:func:`wrap_borrowed`); a tensor where it is empty owns its memory.

    >>> x = tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.dtype, x.shape, x.strides, x.placement, x.nbytes
    (F64, (2, 2), (1, 2), cpu, 32)
    >>> x.T[0].layout
    TensorLayout(shape=(2,), strides=(1,), offset=0)
    """

    __slots__ = ("__weakref__", "_array", "_borrowed", "_form")

    _form: Form
    _array: Any  # the backend's n-d array, which knows the offset of a view
    _borrowed: bool  # True, or empty

    def __class_getitem__(cls, item: object) -> type[Tensor]:
        return cls

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._form.dtype

    @property
    def shape(self) -> Shape:
        """Extents."""
        return self._form.shape

    @property
    def strides(self) -> Shape:
        """Signed steps between neighbours along each axis, in elements."""
        return self._form.strides

    @property
    def placement(self) -> Placement:
        """Where the elements are."""
        return self._form.placement

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self._form.shape)

    @property
    def ndim(self) -> int:
        """Number of axes, under NumPy's name."""
        return len(self._form.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._form.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps."""
        return self._form.nbytes

    @property
    def layout(self) -> TensorLayout:
        """Shape, strides and offset; the offset, in elements, is counted from the start of the allocation."""
        offset = registry.backend_for(self._form.placement).offset_of(self._array)
        return TensorLayout(self._form.shape, self._form.strides, offset)

    @property
    def is_compact(self) -> bool:
        """Whether the elements lie column-major without gaps."""
        return self._form.is_compact

    __hash__ = None  # type: ignore[assignment]  # == compares element by element

    if TYPE_CHECKING:  # attached by tensor_runtime.ops.methods

        @property
        def T(self) -> Tensor: ...  # noqa: N802
        @property
        def buffer(self) -> HostBuffer | BackendBuffer: ...
        def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex], order: str = "F") -> Tensor: ...
        def to(self, place: Any, /) -> Tensor: ...
        def item(self) -> Element: ...
        def tolist(self) -> Any: ...
        def to_numpy(self) -> np.ndarray[Any, Any]: ...
        def mutable_view(self) -> TypedTensorViewMut[Any]: ...
        def __getitem__(self, index: Any, /) -> Tensor: ...
        def __delitem__(self, index: Any, /) -> NoReturn: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...
        def __format__(self, specification: str, /) -> str: ...
        def __round__(self, digits: int | None = None, /) -> Element: ...
        def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
        @property
        def mT(self) -> Tensor: ...  # noqa: N802
        @property
        def device(self) -> Placement: ...
        def to_device(self, device: Placement | str, /, *, stream: None = None) -> Tensor: ...
        def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType: ...
        def __dlpack__(
            self,
            *,
            stream: None = None,
            max_version: tuple[int, int] | None = None,
            dl_device: tuple[int, int] | None = None,
            copy: bool | None = None,
        ) -> object: ...
        def __dlpack_device__(self) -> tuple[int, int]: ...
        @property
        def __cuda_array_interface__(self) -> dict[str, object]: ...
        def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any: ...
        def __array_function__(self, function: Any, types: Any, arguments: tuple[Any, ...], options: Any, /) -> Any: ...
        def __dir__(self) -> list[str]: ...
        def __copy__(self) -> Tensor: ...
        def __deepcopy__(self, memo: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __add__(self, other: Tensor | Number, /) -> Tensor: ...
        def __radd__(self, other: Number, /) -> Tensor: ...
        def __sub__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rsub__(self, other: Number, /) -> Tensor: ...
        def __mul__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rmul__(self, other: Number, /) -> Tensor: ...
        def __truediv__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rtruediv__(self, other: Number, /) -> Tensor: ...
        def __floordiv__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rfloordiv__(self, other: Number, /) -> Tensor: ...
        def __mod__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rmod__(self, other: Number, /) -> Tensor: ...
        def __pow__(self, other: Tensor | Number, /) -> Tensor: ...
        def __rpow__(self, other: Number, /) -> Tensor: ...
        def __divmod__(self, other: Tensor | Number, /) -> tuple[Tensor, Tensor]: ...
        def __rdivmod__(self, other: Number, /) -> tuple[Tensor, Tensor]: ...
        def __invert__(self) -> Tensor: ...
        def __and__(self, other: Tensor | int | ForeignNumber[int], /) -> Tensor: ...
        def __rand__(self, other: int | ForeignNumber[int], /) -> Tensor: ...
        def __or__(self, other: Tensor | int | ForeignNumber[int], /) -> Tensor: ...
        def __ror__(self, other: int | ForeignNumber[int], /) -> Tensor: ...
        def __xor__(self, other: Tensor | int | ForeignNumber[int], /) -> Tensor: ...
        def __rxor__(self, other: int | ForeignNumber[int], /) -> Tensor: ...
        def __lshift__(self, other: Tensor | int | ForeignNumber[int], /) -> Tensor: ...
        def __rlshift__(self, other: int | ForeignNumber[int], /) -> Tensor: ...
        def __rshift__(self, other: Tensor | int | ForeignNumber[int], /) -> Tensor: ...
        def __rrshift__(self, other: int | ForeignNumber[int], /) -> Tensor: ...
        def __matmul__(self, other: Tensor, /) -> Tensor: ...
        def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
        def __eq__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...  # type: ignore[override]
        def __ne__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...  # type: ignore[override]
        def __lt__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...
        def __le__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...
        def __gt__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...
        def __ge__(self, other: Tensor | Number, /) -> TypedTensor[Bool]: ...


if TYPE_CHECKING:
    from tensor_runtime.static_types.tensors import TypedTensor as TypedTensor
    from tensor_runtime.static_types.tensors import TypedTensorView as TypedTensorView
    from tensor_runtime.static_types.tensors import TypedTensorViewMut as TypedTensorViewMut
else:

    def _refuse(cls: type, *data: object, **options: object) -> NoReturn:
        raise DTypeError(
            f"{cls.__name__}: the class makes no tensors; write tensor(data) for numbers and nested lists, "
            "asarray(array) to share memory, zeros(shape) or empty(shape) for a new one, mutable_view(x) to write"
        )

    Tensor.__new__ = staticmethod(_refuse)  # which type checkers need not see: they know no arguments
    TypedTensor = TypedTensorView = Tensor

    class TypedTensorViewMut(Tensor):
        """A view whose elements may be written: ``view[...] = x``."""

        __slots__ = ()


blank: Final[Callable[[type[Tensor]], Any]] = object.__new__
"""Makes a tensor of a class, whose form and array are to be filled at once."""


def wrap(form: Form, array: Any, /) -> Tensor:
    """The tensor of a form and the array that its backend laid out so.

    >>> x = tensor([1.0, 2.0])
    >>> wrap(x._form, x._array).to_numpy().tolist()
    [1.0, 2.0]
    """
    result: Tensor = blank(Tensor)
    result._form = form
    result._array = array
    return result


def wrap_borrowed(form: Form, array: Any, /) -> Tensor:
    """As :func:`wrap`, of memory that is not the tensor's own: a view of a tensor, or what another library lends.

    >>> x = tensor([1.0, 2.0])
    >>> owns(wrap_borrowed(x._form, x._array)), owns(x)
    (False, True)
    """
    result = wrap(form, array)
    result._borrowed = True
    return result


def owned(x: Tensor, /) -> Tensor:
    """A view of memory that was made just now, and that nobody else knows, as the tensor that owns it.

    >>> x = tensor([1.0, 2.0])
    >>> owns(owned((x + 1.0)[:]))
    True
    """
    return wrap(x._form, x._array)


def owns(x: Tensor, /) -> bool:
    """Whether a tensor's memory was made for it, and it is no view.

    >>> x = tensor([1.0, 2.0])
    >>> owns(x), owns(x[:]), owns(x.mutable_view()), owns(x[:] + 1.0)
    (True, False, False, True)
    """
    return not (hasattr(x, "_borrowed") or isinstance(x, TypedTensorViewMut))


def unwrap(operation: str, x: Tensor, /) -> tuple[Form, Any]:
    """Form and array of a tensor, or an error that names the operation.

    >>> unwrap("exp", tensor([1.0]))[0]
    Form(F64, (1,), cpu)
    """
    if isinstance(x, Tensor):
        return x._form, x._array
    from tensor_runtime.errors import ForeignOperandError

    refuse_masked(operation, x)
    raise ForeignOperandError(
        f"{operation}: found {type(x).__name__}; accepted: a tensor; asarray() makes one", operation=operation
    )
