# mypy: disable-error-code="overload-overlap"

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, SupportsIndex, TypeVar, overload

from tensor_core.dtypes import F64, I64, DTypeLike, TensorScalar
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.static_types.numbers import Extents, Real, Whole
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)

class _Shaped(Protocol):
    """``zeros`` and its like."""

    __name__: str

    @overload
    def __call__(self, shape: Extents, /, dtype: type[T], *, placement: Placement | str = CPU) -> TypedTensor[T]: ...
    @overload
    def __call__(self, shape: Extents, /, *, placement: Placement | str = CPU) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, shape: Extents, /, dtype: DTypeLike, *, placement: Placement | str = CPU) -> Tensor: ...

class _Eye(Protocol):
    """``eye``."""

    __name__: str

    @overload
    def __call__(
        self,
        rows: SupportsIndex,
        columns: SupportsIndex | None = None,
        /,
        k: SupportsIndex = 0,
        *,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        rows: SupportsIndex,
        columns: SupportsIndex | None = None,
        /,
        k: SupportsIndex = 0,
        *,
        placement: Placement | str = CPU,
    ) -> TypedTensor[F64]: ...
    @overload
    def __call__(
        self,
        rows: SupportsIndex,
        columns: SupportsIndex | None = None,
        /,
        k: SupportsIndex = 0,
        *,
        dtype: DTypeLike,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Filled(Protocol):
    """``full``."""

    __name__: str

    @overload
    def __call__(
        self, shape: Extents, value: Number, /, dtype: type[T], *, placement: Placement | str = CPU
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        shape: Extents,
        value: Number,
        /,
        dtype: DTypeLike | None = None,
        *,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Read(Protocol):
    """``tensor``."""

    __name__: str

    @overload
    def __call__(self, data: object, /, dtype: type[T], *, placement: Placement | str = CPU) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, data: object, /, dtype: DTypeLike | None = None, *, placement: Placement | str = CPU
    ) -> Tensor: ...

class _Borrowed(Protocol):
    """``asarray``."""

    __name__: str

    @overload
    def __call__(
        self, x: object, /, dtype: type[T], *, copy: bool | None = None, placement: Placement | str | None = None
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        x: object,
        /,
        dtype: DTypeLike | None = None,
        *,
        copy: bool | None = None,
        placement: Placement | str | None = None,
    ) -> Tensor: ...

class _Flat(Protocol):
    """``from_flat``."""

    __name__: str

    @overload
    def __call__(
        self,
        data: Sequence[Number],
        shape: Sequence[int],
        /,
        *,
        dtype: type[T],
        order: Literal["F", "C"] = "F",
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        data: Sequence[Number],
        shape: Sequence[int],
        /,
        *,
        dtype: DTypeLike | None = None,
        order: Literal["F", "C"] = "F",
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Range(Protocol):
    """``arange``."""

    __name__: str

    @overload
    def __call__(
        self,
        start: Real,
        stop: Real | None = None,
        step: Real = 1,
        /,
        *,
        inclusive: bool = False,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        start: Whole,
        stop: Whole | None = None,
        step: Whole = 1,
        /,
        *,
        inclusive: bool = False,
        placement: Placement | str = CPU,
    ) -> TypedTensor[I64]: ...
    @overload
    def __call__(
        self,
        start: Real,
        stop: Real | None = None,
        step: Real = 1,
        /,
        *,
        inclusive: bool = False,
        dtype: DTypeLike | None = None,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Spaced(Protocol):
    """``linspace``."""

    __name__: str

    @overload
    def __call__(
        self,
        start: Number,
        stop: Number,
        /,
        num: SupportsIndex = 50,
        *,
        endpoint: bool = True,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        start: Real,
        stop: Real,
        /,
        num: SupportsIndex = 50,
        *,
        endpoint: bool = True,
        placement: Placement | str = CPU,
    ) -> TypedTensor[F64]: ...
    @overload
    def __call__(
        self,
        start: Number,
        stop: Number,
        /,
        num: SupportsIndex = 50,
        *,
        endpoint: bool = True,
        dtype: DTypeLike | None = None,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Drawn(Protocol):
    """``uniform`` and ``normal``."""

    __name__: str

    @overload
    def __call__(
        self,
        shape: Extents,
        /,
        *,
        seed: SupportsIndex,
        stream: SupportsIndex = 0,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, shape: Extents, /, *, seed: SupportsIndex, stream: SupportsIndex = 0, placement: Placement | str = CPU
    ) -> TypedTensor[F64]: ...
    @overload
    def __call__(
        self,
        shape: Extents,
        /,
        *,
        seed: SupportsIndex,
        stream: SupportsIndex = 0,
        dtype: DTypeLike,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Tabulated(Protocol):
    """``tabulate``."""

    __name__: str

    @overload
    def __call__(
        self, n: SupportsIndex, f: Callable[[int], Number], /, *, dtype: type[T], placement: Placement | str = CPU
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        n: SupportsIndex,
        f: Callable[[int], Number],
        /,
        *,
        dtype: DTypeLike | None = None,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _OfIndices(Protocol):
    """``from_function``."""

    __name__: str

    @overload
    def __call__(
        self,
        shape: Extents,
        f: Callable[..., Number],
        /,
        *,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        shape: Extents,
        f: Callable[..., Number],
        /,
        *,
        dtype: DTypeLike | None = None,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _DrawnIntegers(Protocol):
    """``integers``."""

    __name__: str

    @overload
    def __call__(
        self,
        shape: Extents,
        low: SupportsIndex,
        high: SupportsIndex,
        /,
        *,
        seed: SupportsIndex,
        stream: SupportsIndex = 0,
        dtype: type[T],
        placement: Placement | str = CPU,
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        shape: Extents,
        low: SupportsIndex,
        high: SupportsIndex,
        /,
        *,
        seed: SupportsIndex,
        stream: SupportsIndex = 0,
        placement: Placement | str = CPU,
    ) -> TypedTensor[I64]: ...
    @overload
    def __call__(
        self,
        shape: Extents,
        low: SupportsIndex,
        high: SupportsIndex,
        /,
        *,
        seed: SupportsIndex,
        stream: SupportsIndex = 0,
        dtype: DTypeLike,
        placement: Placement | str = CPU,
    ) -> Tensor: ...

class _Converted(Protocol):
    """``convert`` and ``typed``."""

    __name__: str

    @overload
    def __call__(self, x: Tensor, dtype: type[T], /) -> TypedTensor[T]: ...
    @overload
    def __call__(self, x: Tensor, dtype: DTypeLike, /) -> Tensor: ...

class _Cast(Protocol):
    """``cast``."""

    __name__: str

    @overload
    def __call__(self, x: Tensor, dtype: type[T], /, overflow: str = "error") -> TypedTensor[T]: ...
    @overload
    def __call__(self, x: Tensor, dtype: DTypeLike, /, overflow: str = "error") -> Tensor: ...

class _Like(Protocol):
    """``zeros_like`` and its like."""

    __name__: str

    @overload
    def __call__(self, x: Tensor, /, dtype: type[T], *, placement: Placement | str | None = None) -> TypedTensor[T]: ...
    @overload
    def __call__(self, x: TypedTensor[T], /, *, placement: Placement | str | None = None) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, x: Tensor, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None
    ) -> Tensor: ...

class _FullLike(Protocol):
    """``full_like``."""

    __name__: str

    @overload
    def __call__(
        self, x: Tensor, value: Number, /, dtype: type[T], *, placement: Placement | str | None = None
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, x: TypedTensor[T], value: Number, /, *, placement: Placement | str | None = None
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, x: Tensor, value: Number, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None
    ) -> Tensor: ...

def typed_zeros(f: Callable[..., Tensor], /) -> _Shaped:
    """Of ``zeros``."""

def typed_eye(f: Callable[..., Tensor], /) -> _Eye:
    """Of ``eye``."""

def typed_full(f: Callable[..., Tensor], /) -> _Filled:
    """Of ``full``."""

def typed_tensor(f: Callable[..., Tensor], /) -> _Read:
    """Of ``tensor``."""

def typed_asarray(f: Callable[..., Tensor], /) -> _Borrowed:
    """Of ``asarray``."""

def typed_from_flat(f: Callable[..., Tensor], /) -> _Flat:
    """Of ``from_flat``."""

def typed_arange(f: Callable[..., Tensor], /) -> _Range:
    """Of ``arange``."""

def typed_linspace(f: Callable[..., Tensor], /) -> _Spaced:
    """Of ``linspace``."""

def typed_uniform(f: Callable[..., Tensor], /) -> _Drawn:
    """Of ``uniform``."""

def typed_tabulate(f: Callable[..., Tensor], /) -> _Tabulated:
    """Of ``tabulate``."""

def typed_from_function(f: Callable[..., Tensor], /) -> _OfIndices:
    """Of ``from_function``."""

def typed_integers(f: Callable[..., Tensor], /) -> _DrawnIntegers:
    """Of ``integers``."""

def typed_convert(f: Callable[..., Tensor], /) -> _Converted:
    """Of ``convert``."""

def typed_cast(f: Callable[..., Tensor], /) -> _Cast:
    """Of ``cast``."""

def typed_typed(f: Callable[..., Tensor], /) -> _Converted:
    """Of ``typed``."""

def typed_zeros_like(f: Callable[..., Tensor], /) -> _Like:
    """Of ``zeros_like``."""

def typed_full_like(f: Callable[..., Tensor], /) -> _FullLike:
    """Of ``full_like``."""
