# mypy: disable-error-code="overload-overlap, overload-cannot-match"

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, TensorScalar
from tensor_runtime.static_types.numbers import Real, Whole
from tensor_runtime.static_types.results import Named, Operand
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensor, TypedTensorViewMut

P = ParamSpec("P")
T = TypeVar("T", bound=TensorScalar)
OutT = TypeVar("OutT", bound=Tensor)
FloatingT = TypeVar("FloatingT", F32, F64, C32, C64)
ComplexT = TypeVar("ComplexT", C32, C64)
IntegerT = TypeVar("IntegerT", I32, I64)

class _Contraction(Protocol):
    """The dtype of all operands of ``einsum``; a pair with ``strip_exponent``."""

    __name__: str

    @overload
    def __call__(self, *arguments: Any, strip_exponent: Literal[True], **options: Any) -> tuple[Tensor, float]: ...
    @overload
    def __call__(self, *arguments: Any, out: OutT, **options: Any) -> OutT: ...
    @overload
    def __call__(self, *arguments: Any, out: Tensor, **options: Any) -> Tensor: ...
    @overload
    def __call__(
        self, notation: str, /, *operands: TypedTensor[T], alpha: int = ..., **options: Any
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, notation: str, /, *operands: TypedTensor[FloatingT], alpha: float, **options: Any
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(self, *arguments: Any, **options: Any) -> Tensor: ...

class _Mutable(Protocol):
    """A mutable view of the operand's dtype."""

    __name__: str

    @overload
    def __call__(self, x: TypedTensor[T], /) -> TypedTensorViewMut[T]: ...
    @overload
    def __call__(self, x: Tensor, /) -> TypedTensorViewMut[TensorScalar]: ...

class _Product(Named, Protocol[P]):
    """The dtype of both tensors, of a function that takes no numbers."""

    @overload
    def __call__(self, a: Tensor, b: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, b: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(
        self, a: TypedTensor[T], b: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(self, a: Tensor, b: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Selection(Named, Protocol):
    """The dtype of both choices, or of the one beside a number."""

    @overload
    def __call__(self, condition: Tensor | bool, a: Operand, b: Operand, /, out: OutT) -> OutT: ...
    @overload
    def __call__(self, condition: Tensor | bool, a: Operand, b: Operand, /, out: Tensor) -> Tensor: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: TypedTensor[T], b: TypedTensor[T], /, out: None = None
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: TypedTensor[IntegerT], b: Whole, /, out: None = None
    ) -> TypedTensor[IntegerT]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: Whole, b: TypedTensor[IntegerT], /, out: None = None
    ) -> TypedTensor[IntegerT]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: TypedTensor[FloatingT], b: Real, /, out: None = None
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: Real, b: TypedTensor[FloatingT], /, out: None = None
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: TypedTensor[ComplexT], b: Number, /, out: None = None
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(
        self, condition: Tensor | bool, a: Number, b: TypedTensor[ComplexT], /, out: None = None
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(self, condition: Tensor | bool, a: Operand, b: Operand, /, out: Tensor | None = None) -> Tensor: ...

class _Joined(Named, Protocol[P]):
    """The dtype of all tensors."""

    @overload
    def __call__(self, tensors: Iterable[Tensor], /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, tensors: Iterable[Tensor], /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, tensors: Iterable[TypedTensor[T]], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[T]: ...
    @overload
    def __call__(self, tensors: Iterable[Tensor], /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Parts(Named, Protocol[P]):
    """Tensors of the operand's dtype."""

    @overload
    def __call__(self, a: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs) -> tuple[TypedTensor[T], ...]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Tensor, ...]: ...

class _Paired(Named, Protocol):
    """The complex dtype of two real parts."""

    @overload
    def __call__(self, re: Operand, im: Operand, /, out: OutT) -> OutT: ...
    @overload
    def __call__(self, re: Operand, im: Operand, /, out: Tensor) -> Tensor: ...
    @overload
    def __call__(self, re: TypedTensor[F32], im: TypedTensor[F32] | Real, /, out: None = None) -> TypedTensor[C32]: ...
    @overload
    def __call__(self, re: Real, im: TypedTensor[F32], /, out: None = None) -> TypedTensor[C32]: ...
    @overload
    def __call__(self, re: TypedTensor[F64], im: TypedTensor[F64] | Real, /, out: None = None) -> TypedTensor[C64]: ...
    @overload
    def __call__(self, re: Real, im: TypedTensor[F64], /, out: None = None) -> TypedTensor[C64]: ...
    @overload
    def __call__(self, re: Operand, im: Operand, /, out: Tensor | None = None) -> Tensor: ...

def contraction_dtype(f: Callable[..., Any], /) -> _Contraction:
    """The dtype of all operands of ``einsum``; a pair with ``strip_exponent``."""

def mutable_dtype(f: Callable[[Tensor], TypedTensorViewMut[Any]], /) -> _Mutable:
    """A mutable view of the operand's dtype."""

def product_dtype(f: Callable[Concatenate[Tensor, Tensor, P], Tensor], /) -> _Product[P]:
    """The dtype of both tensors, of a function that takes no numbers."""

def selection_dtype(f: Callable[..., Tensor], /) -> _Selection:
    """The dtype of both choices, or of the one beside a number."""

def joined_dtype(f: Callable[Concatenate[Iterable[Tensor], P], Tensor], /) -> _Joined[P]:
    """The dtype of all tensors."""

def parts_dtype(f: Callable[Concatenate[Tensor, P], tuple[Tensor, ...]], /) -> _Parts[P]:
    """Tensors of the operand's dtype."""

def paired_dtype(f: Callable[[Operand, Operand], Tensor], /) -> _Paired:
    """The complex dtype of two real parts."""
