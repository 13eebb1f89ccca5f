# mypy: disable-error-code="overload-overlap, overload-cannot-match"

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, TensorScalar
from tensor_runtime.static_types.numbers import Real, Whole
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensor

P = ParamSpec("P")
T = TypeVar("T", bound=TensorScalar)
OutT = TypeVar("OutT", bound=Tensor)
FloatingT = TypeVar("FloatingT", F32, F64, C32, C64)
ComplexT = TypeVar("ComplexT", C32, C64)
IntegerT = TypeVar("IntegerT", I32, I64)
RealT = TypeVar("RealT", F32, F64, I32, I64, Bool)
RealFloatingT = TypeVar("RealFloatingT", F32, F64)
Exact = TypedTensor[I32] | TypedTensor[I64] | TypedTensor[Bool]
Operand = Tensor | Number

# Each overload for ``out: Tensor`` keeps the checker from falling through to one that does not look at ``out``.

class Named(Protocol):
    """A function, which has a name."""

    __name__: str

class _Same(Named, Protocol[P]):
    """The operand's dtype."""

    @overload
    def __call__(self, a: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[T]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _SameInto(Named, Protocol[P]):
    """The operand's dtype, of a function that takes ``out`` by keyword."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[T]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _SameOut(Named, Protocol[P]):
    """The operand's dtype, of a function that takes ``out``."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[T]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Inexact(Named, Protocol[P]):
    """The operand's floating dtype; F64 of integers and Bool."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: TypedTensor[FloatingT], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(self, a: Exact, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Component(Named, Protocol[P]):
    """The real dtype of one component."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: TypedTensor[RealT], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[RealT]: ...
    @overload
    def __call__(self, a: TypedTensor[C32], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F32]: ...
    @overload
    def __call__(self, a: TypedTensor[C64], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _InexactComponent(Named, Protocol[P]):
    """The real dtype of one component; F64 of integers and Bool."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(
        self, a: TypedTensor[RealFloatingT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[RealFloatingT]: ...
    @overload
    def __call__(self, a: TypedTensor[C32], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F32]: ...
    @overload
    def __call__(self, a: TypedTensor[C64] | Exact, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Accumulator(Named, Protocol[P]):
    """The operand's floating dtype; I64 of integers and Bool."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: TypedTensor[FloatingT], /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(self, a: Exact, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[I64]: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Boolean(Named, Protocol[P]):
    """Bool, of one operand."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[Bool]: ...

class _Index(Named, Protocol[P]):
    """I64, of one operand."""

    @overload
    def __call__(self, a: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, out: OutT, /) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, out: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, a: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[I64]: ...

class _Comparison(Named, Protocol):
    """Bool, of two operands."""

    @overload
    def __call__(self, a: Operand, b: Operand, /, out: OutT) -> OutT: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, out: Tensor) -> Tensor: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, out: None = None) -> TypedTensor[Bool]: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, out: Tensor | None) -> Tensor: ...

class _Common(Named, Protocol[P]):
    """The dtype of both operands, or of the one beside a number."""

    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(
        self, a: TypedTensor[T], b: TypedTensor[T], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self, a: TypedTensor[IntegerT], b: Whole, /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[IntegerT]: ...
    @overload
    def __call__(
        self, a: Whole, b: TypedTensor[IntegerT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[IntegerT]: ...
    @overload
    def __call__(
        self, a: TypedTensor[FloatingT], b: Real, /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, a: Real, b: TypedTensor[FloatingT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, a: TypedTensor[ComplexT], b: Number, /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(
        self, a: Number, b: TypedTensor[ComplexT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Quotient(Named, Protocol[P]):
    """The floating dtype of both operands, or of the one beside a number; F64 of integers and Bool."""

    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(
        self, a: TypedTensor[FloatingT], b: TypedTensor[FloatingT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(self, a: Exact, b: Exact, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, a: Exact, b: Real, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(self, a: Real, b: Exact, /, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[F64]: ...
    @overload
    def __call__(
        self, a: TypedTensor[FloatingT], b: Real, /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, a: Real, b: TypedTensor[FloatingT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[FloatingT]: ...
    @overload
    def __call__(
        self, a: TypedTensor[ComplexT], b: Number, /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(
        self, a: Number, b: TypedTensor[ComplexT], /, *args: P.args, **kwargs: P.kwargs
    ) -> TypedTensor[ComplexT]: ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...

class _Integer(Named, Protocol[P]):
    """I64, of any operands."""

    @overload
    def __call__(self, a: Tensor, b: Tensor, /, *args: object, out: OutT, **kwargs: object) -> OutT: ...
    @overload
    def __call__(self, a: Tensor, b: Tensor, /, *args: object, out: Tensor, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> TypedTensor[I64]: ...

def same_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Same[P]:
    """The operand's dtype."""

def same_dtype_into(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _SameInto[P]:
    """The operand's dtype, of a function that takes ``out`` by keyword."""

def same_dtype_out(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _SameOut[P]:
    """The operand's dtype, of a function that takes ``out``."""

def inexact_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Inexact[P]:
    """The operand's floating dtype; F64 of integers and Bool."""

def component_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Component[P]:
    """The real dtype of one component."""

def inexact_component_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _InexactComponent[P]:
    """The real dtype of one component; F64 of integers and Bool."""

def accumulator_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Accumulator[P]:
    """The operand's floating dtype; I64 of integers and Bool."""

def boolean_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Boolean[P]:
    """Bool, of one operand."""

def index_dtype(f: Callable[Concatenate[Tensor, P], Tensor], /) -> _Index[P]:
    """I64, of one operand."""

def comparison_dtype(f: Callable[[Operand, Operand], Tensor], /) -> _Comparison:
    """Bool, of two operands."""

def common_dtype(f: Callable[Concatenate[Operand, Operand, P], Tensor], /) -> _Common[P]:
    """The dtype of both operands, or of the one beside a number."""

def quotient_dtype(f: Callable[Concatenate[Operand, Operand, P], Tensor], /) -> _Quotient[P]:
    """The floating dtype of both operands, or of the one beside a number; F64 of integers and Bool."""

def integer_dtype(f: Callable[P, Tensor], /) -> _Integer[P]:
    """I64, of any operands."""
