"""``einsum`` and ``plan``, as users call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, TypeVar, Unpack, overload

from tensor_core.dtypes import DTypeLike, TensorScalar
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.promotion import promote, promote_scalar
from tensor_einsum.cached_calls import cached_call
from tensor_einsum.errors import ExtentError
from tensor_einsum.execution.accumulation import Accumulation, check_multiple
from tensor_einsum.execution.executor import bind_call
from tensor_einsum.execution.filling import fill
from tensor_einsum.notation.interleaved import LabelLists, split_interleaved
from tensor_einsum.options import EinsumOptions, PlanOptions
from tensor_einsum.plans.calls import bind_any
from tensor_einsum.plans.operands import dtypes_of, forms_of, lie_as_usual, shapes_of
from tensor_einsum.plans.plan import Plan, cached_plan
from tensor_einsum.search.engine import was_interrupted
from tensor_einsum.search.options import DEFAULT, read_options
from tensor_einsum.steps.arithmetic import SUMS_OF_PRODUCTS, arithmetic_of
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import MISSES, fail
from tensor_runtime.dispatch.conversion import as_number
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops.creation import full
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensor, blank

T = TypeVar("T", bound=TensorScalar)
Target = TypeVar("Target", bound=Tensor)

_calls: Final[CacheTable[Binding]] = CacheTable(binding_cache)
_found: Final = _calls.found  # read directly on the hot path


@overload
def einsum(
    notation: Any, /, *operands: Any, strip_exponent: Literal[True], **options: Unpack[EinsumOptions]
) -> tuple[Tensor, float]: ...
@overload
def einsum(
    notation: Any,
    /,
    *operands: Any,
    out: Target,
    alpha: Number = ...,
    beta: Number = ...,
    **options: Unpack[EinsumOptions],
) -> Target: ...
@overload
def einsum(
    notation: str,
    /,
    *operands: TypedTensor[T],
    strip_exponent: Literal[False] = ...,
    **options: Unpack[EinsumOptions],
) -> TypedTensor[T]: ...
@overload
def einsum(
    notation: Any,
    /,
    *operands: Any,
    alpha: Number = ...,
    strip_exponent: Literal[False] = ...,
    **options: Unpack[EinsumOptions],
) -> Tensor: ...
@cached_call(_calls)
def einsum(notation: Any, /, *operands: Any, **options: Any) -> Any:
    """Sum of products over labelled axes: Einstein's convention, with an explicit or an implicit output.

    Args:
        notation: ``"ij,jk->ik"``. Without ``->`` the output is NumPy's: labels that occur once, sorted. ``...``
            stands for axes without a name; parentheses, ``"ij,(jk,kl)->il"``, fix the order; a label repeated in an
            operand takes a diagonal (``"ii->i"``, ``"ii->"``), one repeated in the output writes it (``"i->ii"``,
            zeros elsewhere); a label may occur in any number of operands. Longer names stand in brackets, ``"[left
            bond]i,i[right bond]->[left bond][right bond]"``. Or the interleaved form ``einsum(a, ("left", "bond"), b,
            ("bond", "right"), ("left", "right"))`` with any hashable labels.
        operands: tensors in one place, any layout and dtypes; Python numbers stand for rank 0. Extents of a label are
            equal, or 1 in some operands.
        optimize: what decides the order; every order gives the same sum, up to rounding. "auto" (also True) searches
            about a tenth as long as contracting takes by what it has found, and gives the same order in every run;
            "greedy" does not search further; the name of an opt_einsum search ("optimal", "dp", "random-greedy-32",
            ...); a path as opt_einsum writes it; an optimizer of opt_einsum or cotengra, or a tree; False for left to
            right.
        seconds: how long "auto" searches instead, by the clock, the choice of slices under ``memory_limit`` included.
            Ctrl-C ends the search, not the call,
            unless slices are being chosen.
        objective: what "auto" minimises: "time" as the cost model estimates it, "flops", "size" of the largest
            intermediate, weights of both such as ``{"flops": 1, "elements": 64}``, or a calibration, which is time as
            it was measured on a machine.
        memory_limit: bytes, or text such as ``"2GiB"``, that intermediates, workspaces of kernels and the result may
            take at once; operands do not count. It is kept by contracting in slices, which the search chooses together
            with the order.
        algebra: what is added and multiplied with, one of ``tensor_runtime.algebras``. Embedding writes its zero.
        conj: positions of operands that are taken conjugated: ``conj=0``, ``conj=(0, 2)``. A plan forgets those of
            real operands.
        out: a mutable view or an owned tensor of the result's shape, which receives the result and is returned. Its
            dtype can hold the result's; it may be one of the operands, but not overlap a part of one.
        alpha, beta: Python numbers; the result is alpha times the sum, plus beta times what ``out`` held. With a
            ``beta`` of 0 that is not read. The kind of alpha, and of a beta other than 0, decides whether the dtype
            gets wider, which ``out`` must hold, and without ``out`` there must be room for the result in both dtypes;
            else nothing further is taken. ``alpha`` is rounded to the dtype of the contraction, ``beta`` to ``out``'s.
        strip_exponent: return a pair: the result divided by its largest magnitude, and log10 of that magnitude, a
            float. Intermediates are rescaled on the way, by powers of two: nothing overflows, and what underflows is
            more than 2**800 (F32, C32: 2**80) below the product of the largest magnitudes of the tensors of its step.
            Of zeros, the exponent is 0. Operands out of range are copied, and the copies count as operands.
        progress: True shows a bar with the time left (by tqdm, the extra ``progress``); a function is called with a
            :class:`tensor_einsum.Progress` after each step. What it raises stops the contraction, as Ctrl-C does.
        force: True starts even what needs more memory than this process may have.
        checkpoint: the name of a file in which a contraction in slices keeps its sum, every ``checkpoint_seconds`` (60)
            and when it is stopped. The same call goes on from it, also after the process was killed, to the bits of an
            unbroken run; a file of another plan or of other operands is refused. It is removed at the end. What needs
            no slices keeps none.

    Returns:
        An owned, compact tensor with the axes of the output, in its order, in the promoted dtype of all operands.
        Integers wrap; of Bool, the or of ands. Only steps of one or two operands are executed.

    Raises:
        SubscriptsError: a malformed notation; the message shows where.
        ExtentError: shapes that the labels do not allow.
        PathError: an invalid path, or a search that failed.
        ArgumentError: ``seconds`` or ``objective`` is none.
        PlacementError: operands in different places.
        MemoryLimitError: no slices keep ``memory_limit``; the message has the smallest one found that some do.
        DTypeError: a dtype that the algebra, or ``strip_exponent``, is not defined for.
        ArgumentError: options that do not go together, or are out of range.
        ReadOnlyError, OverlappingViewError, LossyConversionError: what ``out`` cannot receive; nothing is written then.
        CastRangeError: ``alpha`` or ``beta`` is an int that the dtype does not hold; nothing has been computed then.
        OutOfMemoryError: the peak of the plan, with the workspaces of its kernels, is more memory than this process
            may have in all; nothing has been computed then. Or memory ran out on the way; the message says where.

    >>> from tensor_runtime import tensor
    >>> a = tensor([[1, 2], [3, 4]])
    >>> einsum("ij,kj->ik", a, a).to_numpy().tolist()
    [[5, 11], [11, 25]]
    >>> einsum("ii->", a).item(), einsum(a, ("row", "column"), ("column",)).to_numpy().tolist()
    (5, [4, 6])
    >>> from tensor_runtime.algebras import MIN_PLUS
    >>> miles = tensor([[0.0, 3.0, 9.0], [3.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    >>> einsum("ij,jk->ik", miles, miles, algebra=MIN_PLUS).to_numpy().tolist()  # shortest ways of at most two steps
    [[0.0, 3.0, 7.0], [3.0, 0.0, 4.0], [7.0, 4.0, 0.0]]
    >>> z = tensor([1 + 2j, 3j])
    >>> einsum("i,i->", z, z, conj=0).item()
    (14+0j)
    >>> total = tensor([10.0, 10.0, 10.0])
    >>> einsum("ij->j", miles, out=total, alpha=2.0, beta=1.0).to_numpy().tolist()
    [34.0, 24.0, 36.0]
    >>> mantissa, exponent = einsum("i,i,i->", *[tensor([1e200, 1e200])] * 3, strip_exponent=True)
    >>> mantissa.item(), round(exponent, 4)
    (1.0, 600.301)
    """
    if options:
        return _einsum_general(notation, operands, options)
    result: Tensor = blank(Tensor)
    # One, two and three operands have lines of their own: building lists costs more than the look-up.
    count = len(operands)
    try:
        if count == 2:
            a, b = operands
            kernel, result._form = _found[notation, a._form, b._form]
        elif count == 3:
            a, b, c = operands
            kernel, result._form = _found[notation, a._form, b._form, c._form]
        elif count == 1:
            (a,) = operands
            kernel, result._form = _found[notation, a._form]
        else:
            kernel, result._form = _found[(notation, *[operand._form for operand in operands])]
    except MISSES:  # not bound yet, or not a string and tensors
        pass
    else:
        try:
            if count == 2:
                result._array = kernel(a._array, b._array)  # type: ignore[possibly-undefined]
            elif count == 3:
                result._array = kernel(a._array, b._array, c._array)  # type: ignore[possibly-undefined]
            elif count == 1:
                result._array = kernel(a._array)  # type: ignore[possibly-undefined]
            else:
                result._array = kernel(*[operand._array for operand in operands])
        except Exception as error:
            fail("einsum", error, result._form)
        return result
    return _einsum_general(notation, operands, options)


def plan(
    notation: object,
    /,
    *operands: object,
    dtype: DTypeLike | Sequence[DTypeLike] | None = None,
    optimize: object = "auto",
    seconds: float | None = None,
    objective: object = "time",
    memory_limit: int | str | None = None,
    algebra: Semiring = PLUS_TIMES,
    conj: int | Sequence[int] = (),
) -> Plan:
    """Decide how to contract, from shapes alone; no data is needed or touched.

    Args:
        notation: as for :func:`einsum`, also interleaved.
        operands: shapes, tensors, or anything with a ``shape``.
        dtype: of all operands, or a list with one per operand; None takes that of each tensor or array, and F64 for
            shapes.
        optimize, seconds, objective: as for :func:`einsum`. A path optimizer is asked again at every call, and after
            Ctrl-C the next call searches again; everything else is cached.
        memory_limit: as for :func:`einsum`. Workspaces are those of kernels for the tensors given, or for compact
            operands on ``cpu``, with the threads that are set now; ``plan.peak_bytes`` tells what is needed with those
            that are set when it is asked for, ``plan.peak_bytes_on`` for other tensors.
        algebra, conj: as for :func:`einsum`.

    Returns:
        A :class:`Plan`: print it, keep it, call it with tensors.

    Raises:
        SubscriptsError, ExtentError, PathError, ArgumentError, MemoryLimitError: as for :func:`einsum`.
        DTypeError: an unknown dtype, or one that the algebra is not defined for.

    >>> p = plan("ij,jk,kl->il", (2, 30), (30, 40), (40, 5))
    >>> p
    <Plan 'ij,jk,kl->il': 2 steps, 5.6e+03 flops, largest intermediate 80 elements, 720 bytes of intermediates at once>
    """
    source, items = _arguments("plan", notation, operands)
    keywords = {"optimize": optimize, "seconds": seconds, "objective": objective, "memory_limit": memory_limit}
    options = read_options("plan", keywords)
    shapes = shapes_of(items)
    dtypes = dtypes_of(items, dtype)
    arithmetic = arithmetic_of("plan", algebra, conj, dtypes)
    usual = options.limit is None and lie_as_usual(items)
    forms = () if usual else forms_of(items, shapes, dtypes)
    return cached_plan("plan", source, shapes, dtypes, options, arithmetic, forms)


def _arguments(operation: str, notation: Any, operands: Sequence[Any]) -> tuple[str | LabelLists, Sequence[Any]]:
    """The notation in either form, which is part of keys, and the operands."""
    if isinstance(notation, str):
        source: str | LabelLists = notation if type(notation) is str else str.__str__(notation)  # keys are plain
    else:
        source, operands = split_interleaved(operation, (notation, *operands))
    if not operands:
        raise ExtentError(f"{operation}: found no operand; accepted: one or more", operands=(), shapes=())
    return source, operands


def _einsum_general(notation: Any, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Every call but those that are found at once: with options, interleaved, with numbers, not bound yet, mistaken.

    Straight down: read the arguments, plan, bind, run.
    """
    key = _key_of(notation, operands, keywords) if keywords else None
    binding = None if key is None else _calls.get(key)
    if binding is None:
        options, arithmetic, others, keeps = DEFAULT, SUMS_OF_PRODUCTS, _NO_NAMES, True
        if keywords:
            others = keywords.keys() - _OF_THE_PLAN
            _check_known(others)
            options = read_options("einsum", keywords)
            keeps = options.keeps and others <= _WRITING
        source, items = _arguments("einsum", notation, operands)
        operands = _as_tensors(items)
        forms, shapes, dtypes = [], [], []
        for tensor in operands:
            form = tensor._form
            forms.append(form)
            shapes.append(form.shape)
            dtypes.append(form.dtype)
        if "algebra" in keywords or "conj" in keywords:
            arithmetic = arithmetic_of("einsum", keywords.get("algebra", PLUS_TIMES), keywords.get("conj", ()), dtypes)
        if key is None and keeps:
            if options is not DEFAULT or arithmetic is not SUMS_OF_PRODUCTS:
                key = _READ, source, options, arithmetic, *forms
            elif source is notation:
                key = source, *forms
            else:
                key = _READ, source, *forms
            binding = _calls.get(key)
        limit = options.limit if "alpha" in others and keywords.get("out") is None else None  # also of its multiple
        if binding is None:
            limited = () if options.limit is None else forms
            found = cached_plan("einsum", source, tuple(shapes), tuple(dtypes), options, arithmetic, limited)
            if limit is not None:
                result_form = form_of(found.output_dtype, found.output_shape, forms[0].placement)
                check_multiple(result_form, keywords["alpha"], limit)
            if not others <= _WRITING:
                return found(*operands, **{name: keywords[name] for name in others})
            bind = bind_any if found.sliced else bind_call  # straight down
            if key is None or (found._searched and was_interrupted(found._searched)):
                binding = bind(found, forms)
            elif options.limit is None:
                binding = _calls.insert(key, bind(found, forms))
            else:
                from tensor_einsum.plans.limited import LimitedCall, bind_limited

                call = LimitedCall("einsum", source, tuple(shapes), tuple(dtypes), options, arithmetic, tuple(forms))
                binding = _calls.insert(key, bind_limited(call))
        elif limit is not None:
            check_multiple(binding[1], keywords["alpha"], limit)
    kernel, form = binding
    accumulation = None
    if keywords and not _WRITING.isdisjoint(keywords):
        out, alpha, beta = keywords.get("out"), keywords.get("alpha", True), keywords.get("beta", 0)
        algebra = keywords.get("algebra", PLUS_TIMES)
        if fill(binding, operands, out, alpha, beta, algebra):
            return out
        accumulation = Accumulation(form, algebra, operands, out, alpha, beta)
    result: Tensor = blank(Tensor)
    result._form = form
    try:
        result._array = kernel(*[tensor._array for tensor in operands])
    except Exception as error:
        fail("einsum", error, form)
    return result if accumulation is None else accumulation.finish(result)


def _key_of(notation: Any, operands: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Under which a binding is kept, from what was given alone, as it is looked up natively; None if that takes more.

    Nothing is checked here: what is found was accepted once. True equals 1, so that its kind stands beside it.
    """
    names = keywords.keys()
    if type(notation) is not str or not names <= _KEPT or names >= _LIMITED_MULTIPLE:
        return None
    if names <= _WRITING:
        keywords = _NOTHING
    elif not names <= _DECIDING:
        keywords = {name: value for name, value in keywords.items() if name in _DECIDING}
    values: list[Any] = []
    for value in keywords.values():
        kind = type(value)
        if kind is bool:
            values.append((bool, value))
        elif kind is str or kind is int or kind is Semiring or (kind is tuple and {*map(type, value)} <= {int}):
            values.append(value)
        else:
            return None
    try:
        forms = [operand._form for operand in operands]
    except AttributeError:
        return None
    return (notation, *forms, tuple(keywords), *values) if values else (notation, *forms)


_READ: Final = object()
"""Begins the keys of calls whose arguments had to be read, so that no notation of a user is taken for one."""
_NO_NAMES: Final[AbstractSet[str]] = frozenset()
_NOTHING: Final[Mapping[str, Any]] = {}
_DECIDING: Final = frozenset(("optimize", "objective", "memory_limit", "algebra", "conj"))
_WRITING: Final = frozenset(("out", "alpha", "beta"))
_KEPT: Final = _DECIDING | _WRITING
_LIMITED_MULTIPLE: Final = frozenset(("memory_limit", "alpha"))  # of which every call is looked at
_OF_THE_PLAN: Final = frozenset(PlanOptions.__annotations__)
_OPTIONS: Final = _WRITING | {*EinsumOptions.__annotations__, "strip_exponent"}


def _check_known(names: AbstractSet[str]) -> None:
    if not names <= _OPTIONS:
        raise TypeError(
            f"einsum() got an unexpected keyword argument {min(names - _OPTIONS)!r}; accepted: "
            f"{', '.join(sorted(_OPTIONS))}"
        )


def _as_tensors(items: Sequence[Any]) -> Sequence[Tensor]:
    """Operands as tensors; a Python number becomes one of rank 0, in the dtype that the tensors' dtype gives it."""
    forms = []
    for position, item in enumerate(items):
        if isinstance(item, Tensor):
            forms.append(item._form)
        elif number_of(item) is None:
            refuse_masked("einsum", item)
            raise ForeignOperandError(
                f"einsum: operand {position} is {type(item).__name__}; accepted: tensors, and Python's bool, int, "
                "float and complex; asarray() makes a tensor of an array",
                operation="einsum",
            )
    if len(forms) == len(items):
        return items
    if not forms:
        raise ForeignOperandError("einsum: no operand is a tensor; make one with tensor()", operation="einsum")
    return [item if isinstance(item, Tensor) else _number_as_tensor(item, forms) for item in items]


def _number_as_tensor(scalar: Number, forms: Sequence[Form]) -> Tensor:
    number = as_number("einsum", scalar)
    dtype = promote_scalar(promote(*[form.dtype for form in forms]), type(number))
    return full((), number, dtype=dtype, placement=forms[0].placement)
