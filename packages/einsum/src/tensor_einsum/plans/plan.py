"""Plans: everything about a contraction that shapes decide, before any data is touched.

A plan is data: labels, shapes, dtypes and a path, and the steps and costs that follow from them. It holds no kernel, so
it can be hashed, pickled, written as JSON, and used on any backend; ``tensor_einsum.execution.executor`` binds it to
the forms of operands. Where it was made for tensors that lie otherwise than usual, it remembers theirs to tell memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from tensor_core.dtypes import DType, TensorScalar
from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_einsum.cached_calls import cached_call
from tensor_einsum.execution.progress import OnStep
from tensor_einsum.notation.interleaved import LabelLists
from tensor_einsum.notation.label_names import written
from tensor_einsum.notation.network import Labels, Network, read_network
from tensor_einsum.options import RunOptions
from tensor_einsum.plans.calls import call_plan, check_known, plan_calls, run_plan
from tensor_einsum.plans.methods import PlanMethods
from tensor_einsum.plans.stored import parts_of_json, parts_of_pickle, pickled, to_json
from tensor_einsum.search.engine import Searched, was_interrupted
from tensor_einsum.search.optimizers import OWN, Order, find_order
from tensor_einsum.search.options import DEFAULT, SearchOptions
from tensor_einsum.search.path import Path, to_linear
from tensor_einsum.search.problem import SearchRecord
from tensor_einsum.slices.methods import SliceMethods
from tensor_einsum.steps.arithmetic import SUMS_OF_PRODUCTS, Arithmetic
from tensor_einsum.steps.report import counted, plan_table, rounded
from tensor_einsum.steps.steps import Step, plain_steps
from tensor_runtime.algebras import Semiring
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable
from tensor_runtime.backends.workspaces import threads_in_force

if TYPE_CHECKING:
    from tensor_runtime import Tensor
    from tensor_runtime.form import Form
    from tensor_runtime.tensors.tensor import Number, TypedTensor

T = TypeVar("T", bound=TensorScalar)
Target = TypeVar("Target", bound="Tensor")


class Plan(PlanMethods, SliceMethods):
    """A contraction, decided. Immutable; equal when notation, shapes, dtypes, arithmetic, path and slices are.

    Attributes:
        notation: as the user wrote it.
        inputs, output: labels as numbers; ``names`` shows them.
        shapes, dtypes: of the operands.
        algebra, conj: what is added and multiplied with (``tensor_runtime.algebras``), which operands are conjugated.
        output_shape, output_dtype: of the result.
        path: pairs of positions, as opt_einsum writes them; accepted by ``optimize=``. As it was given or found:
            ``steps`` take factors that only scale where they cost least (``tensor_einsum.steps.scalings``).
        sliced: labels that are cut, as numbers, each with the extent of its parts; () for a plan without slices.
        shared_bytes: the most that is kept of what slices share; None for all of it, as without slices.
        copies_within: the limit that an unsliced plan keeps only if kernels copy less than they would; else None.
        steps: what is executed, in order (:class:`Step`); of a sliced plan, for one full slice.
        flops: additions and multiplications of all steps of all slices, one each: 2 per product that is summed, 1 per
            product that is not.
        opt_einsum_flops, largest_intermediate: the path as opt_einsum counts it; elements of the largest step's result.
        intermediate_bytes: the most bytes of intermediates and result alive at once, which shapes alone decide: neither
            operands nor workspaces of kernels are counted. ``peak_bytes`` tells with those.
        search: what our own search tried, how long it took, how flops and size fell, and whether it would pay to search
            longer (:class:`SearchRecord`). None where nothing was searched, or by others, and of a plan that was read.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    >>> p.path, p.flops, p.largest_intermediate, p.peak_bytes
    (((0, 1), (0, 1)), 128, 10, 144)
    """

    __slots__ = (
        "_executed", "_forms", "_hash", "_ids", "_network", "_searched", "algebra", "conj", "copies_within", "dtypes",
        "extents", "flops", "inputs", "intermediate_bytes", "largest_intermediate", "names", "notation", "output",
        "opt_einsum_flops", "output_dtype", "output_shape", "path", "search", "shapes", "shared_bytes", "sliced",
        "steps",
    )  # fmt: skip

    notation: str
    inputs: tuple[Labels, ...]
    output: Labels
    names: tuple[str, ...]
    extents: tuple[int, ...]
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]
    output_shape: Shape
    output_dtype: DType
    algebra: Semiring
    conj: tuple[int, ...]
    path: Path
    sliced: tuple[tuple[int, int], ...]
    shared_bytes: int | None
    copies_within: int | None
    steps: tuple[Step, ...]
    flops: int
    opt_einsum_flops: int
    largest_intermediate: int
    intermediate_bytes: int
    search: SearchRecord | None
    _executed: Path
    _forms: tuple[Form, ...]
    _ids: Path
    _network: Network
    _searched: Searched | None
    _hash: int

    def __init__(self, network: Network, dtypes: Sequence[DType], order: Order, arithmetic: Arithmetic) -> None:
        _FILL["_network"](self, network)
        _FILL["_ids"](self, order.ids)
        _FILL["_searched"](self, order.search)
        _FILL["_forms"](self, ())
        _FILL["dtypes"](self, dtypes if type(dtypes) is tuple else tuple(dtypes))
        _FILL["output_dtype"](self, dtypes[0] if len({*dtypes}) == 1 else promote(*dtypes))
        _FILL["algebra"](self, arithmetic.algebra)
        _FILL["conj"](self, arithmetic.conj)
        _FILL["shared_bytes"](self, None)
        _FILL["copies_within"](self, order.copies_within)
        _FILL["sliced"](self, ())
        if order.sliced:
            self._fill_sliced(order)

    if not TYPE_CHECKING:  # where it would say that every attribute is there

        def __getattr__(self, name: str) -> Any:
            """What nobody asked for yet: a slot that is empty."""
            if name in _OF_THE_NETWORK:
                _FILL[name](self, getattr(self._network, name))
            elif name in _DERIVED:
                _FILL[name](self, _DERIVED[name](self))
            elif name in _OF_THE_STEPS:
                steps = plain_steps(self._network, self._ids, self.output_dtype.itemsize, self.conj)
                if len(steps) == 1:
                    (step,) = steps
                    self._fill_steps(self._ids, steps, step.flops, step.opt_einsum_flops, step.bytes)
                else:
                    from tensor_einsum.steps.scalings import decided

                    itemsize = self.output_dtype.itemsize
                    self._fill_steps(*decided(self._network, self._ids, steps, itemsize, self.conj))
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return object.__getattribute__(self, name)

    def _fill_sliced(self, order: Order) -> None:
        from tensor_einsum.slices.cutting import ordered_cuts, sliced_steps

        cuts = ordered_cuts(self._network, order.sliced)
        itemsize, kept = self.output_dtype.itemsize, order.shared_bytes if cuts else None
        _FILL["sliced"](self, cuts)
        _FILL["shared_bytes"](self, kept)
        self._fill_steps(*sliced_steps(self._network, cuts, self._ids, itemsize, self.conj, kept))

    def _fill_steps(
        self, executed: Path, steps: tuple[Step, ...], flops: int, opt_einsum_flops: int, peak: int
    ) -> None:
        _FILL["_executed"](self, executed)
        _FILL["flops"](self, flops)
        _FILL["opt_einsum_flops"](self, opt_einsum_flops)
        _FILL["largest_intermediate"](self, max(map(prod, map(_SHAPE, steps))))
        _FILL["intermediate_bytes"](self, peak)
        _FILL["steps"](self, steps)

    @property
    def subscripts(self) -> str:
        """The notation with the ellipsis and the implicit output written out."""
        return f"{','.join(written(term, self.names) for term in self.inputs)}->{written(self.output, self.names)}"

    @overload
    def __call__(
        self,
        /,
        *operands: Tensor,
        strip_exponent: Literal[True],
        on_step: OnStep | None = ...,
        **options: Unpack[RunOptions],
    ) -> tuple[Tensor, float]: ...
    @overload
    def __call__(
        self,
        /,
        *operands: Tensor,
        out: Target,
        alpha: Number = ...,
        beta: Number = ...,
        on_step: OnStep | None = ...,
        **options: Unpack[RunOptions],
    ) -> Target: ...
    @overload
    def __call__(
        self,
        /,
        *operands: TypedTensor[T],
        on_step: OnStep | None = ...,
        strip_exponent: Literal[False] = ...,
        **options: Unpack[RunOptions],
    ) -> TypedTensor[T]: ...
    @overload
    def __call__(
        self,
        /,
        *operands: Tensor,
        alpha: Number = ...,
        on_step: OnStep | None = ...,
        strip_exponent: Literal[False] = ...,
        **options: Unpack[RunOptions],
    ) -> Tensor: ...
    @cached_call(plan_calls)
    def __call__(self, /, *operands: Tensor, **options: Any) -> Any:
        """Contract tensors of the shapes and dtypes that this plan was made for.

        Args:
            operands: tensors, all in one place; any layout.
            options: ``out``, ``alpha``, ``beta``, ``strip_exponent``, ``progress``, ``force``, ``checkpoint``,
                ``checkpoint_seconds`` as for ``einsum``; and
                ``on_step``, called as ``on_step(done, total)`` after each step. An exception that it raises, or Ctrl-C,
                stops the contraction there, and frees what it made.

        Returns:
            The result; ``out`` if it is given; with ``strip_exponent=True`` mantissa and exponent.

        Raises:
            ShapeError: other shapes, or another number of operands.
            DTypeError: other dtypes.
            PlacementError: operands in different places.
            OutOfMemoryError: ``peak_bytes_on`` these operands is more memory than this process may have in all,
                whatever is taken at the moment; nothing has been computed then. Or memory ran out on the way; the
                message says in which step.
        """
        if options:
            check_known(options)
            return call_plan(self, operands, **options)
        return run_plan(self, operands, None)

    def to_json(self) -> str:
        """The plan as JSON text; :meth:`from_json` reads it on any machine."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes, /) -> Plan:
        """The plan that :meth:`to_json` wrote; all of it is checked again.

        Raises:
            FormatError: not such a text.

        >>> from tensor_einsum import plan
        >>> p = plan("ij,j", (2, 3), (3,))
        >>> Plan.from_json(p.to_json()) == p
        True
        """
        return cls(*parts_of_json(text))

    def table(self, max_steps: int | None = None) -> str:
        """The plan as text: totals, then one line per step; ``max_steps`` leaves out the middle of a long plan."""
        return plan_table(self, max_steps)

    def __str__(self) -> str:
        return self.table(40)

    def _repr_html_(self) -> str:
        from tensor_einsum.pictures.notebook import page

        return page(self, 40)

    def __repr__(self) -> str:
        text = self.notation if len(self.notation) <= 40 else self.notation[:39] + "…"
        slices = f"{self.slices.count} slices, " if self.sliced else ""
        return (
            f"<Plan {text!r}: {slices}{len(self.steps)} steps, {rounded(self.flops)} flops, largest intermediate "
            f"{counted(self.largest_intermediate)} elements, {counted(self.intermediate_bytes)} bytes of intermediates "
            "at once>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self is other or (self._hash == other._hash and self._content() == other._content())

    def __hash__(self) -> int:
        return self._hash

    def _made_for(self, forms: Sequence[Form]) -> Plan:
        """An equal plan that tells what it takes beside operands of these forms; () for compact ones on ``cpu``."""
        if tuple(forms) == self._forms:
            return self
        made = object.__new__(Plan)
        for name in Plan.__slots__:
            with suppress(AttributeError):  # what was not asked for yet is made when it is
                object.__setattr__(made, name, vars(Plan)[name].__get__(self))
        object.__setattr__(made, "_forms", tuple(forms))
        return made

    def _content(self) -> tuple[object, ...]:
        """All that a plan is; the rest follows from it."""
        described = self.notation, self.names, self.inputs, self.output
        sliced = self.sliced, self.shared_bytes, self.copies_within
        return *described, self.shapes, self.dtypes, self.path, self.algebra, self.conj, sliced

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan is immutable; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, pickled(self)


_SHAPE: Final = attrgetter("shape")
_FILL: Final[Mapping[str, Callable[[Plan, Any], None]]] = {name: vars(Plan)[name].__set__ for name in Plan.__slots__}
"""How slots are filled, past the refusal to set attributes."""
_OF_THE_NETWORK: Final = frozenset(("extents", "inputs", "names", "notation", "output", "shapes"))
_OF_THE_STEPS: Final = frozenset(
    ("_executed", "flops", "intermediate_bytes", "largest_intermediate", "opt_einsum_flops", "steps")
)
_DERIVED: Final[Mapping[str, Callable[[Plan], Any]]] = {
    "_hash": lambda plan: hash((plan._network, plan.dtypes, plan.path, plan.algebra, plan.conj, plan.sliced)),
    "output_shape": lambda plan: tuple(map(plan.extents.__getitem__, plan.output)),
    "path": lambda plan: plan._ids if len(plan._ids) < 2 else to_linear(plan._ids, len(plan.inputs)),
    "search": lambda plan: None if plan._searched is None else plan._searched.record,
}
"""Slots that are filled when they are first read; what these hold follows from the others."""

plan_cache: Final = BoundedCache("plan_cache")
"""The plans of this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""
plans: Final[CacheTable[Plan]] = CacheTable(plan_cache)
_PLAN_BYTES: Final = 2000  # a plan without steps; measured with tracemalloc
_STEP_BYTES: Final = 700  # a step, its labels and its text


def cached_plan(
    operation: str,
    source: str | LabelLists,
    shapes: tuple[Shape, ...],
    dtypes: tuple[DType, ...],
    options: SearchOptions,
    arithmetic: Arithmetic = SUMS_OF_PRODUCTS,
    forms: Sequence[Form] = (),
) -> Plan:
    """The plan of a contraction, from the cache if it is there and may be kept.

    Under a memory limit it depends on the forms of the operands and on the threads that are set: kernels for them say
    what they take. Without one, forms decide but what the plan tells of its memory; () for compact ones on ``cpu``.

    >>> from tensor_core import F64
    >>> cached_plan("plan", "ij,jk", ((2, 3), (3, 4)), (F64, F64), DEFAULT).output_shape
    (2, 4)
    """
    key = (source, shapes, dtypes, options, arithmetic, *forms, options.limit is not None and threads_in_force.value)
    keeps = options is DEFAULT or options.keeps
    if keeps and (known := plans.find(key)) is not None:
        return known
    if options.limit is None and forms:
        plan = cached_plan(operation, source, shapes, dtypes, options, arithmetic)._made_for(forms)
    elif options.limit is None:
        plan = make_plan(operation, source, shapes, dtypes, options, arithmetic)
    else:
        from tensor_einsum.slices.limit import plan_within

        begun = perf_counter()
        plan = plan_within(
            lambda other: make_plan(operation, source, shapes, dtypes, other, arithmetic), options, forms, operation
        )
        if plan.search is not None:
            _FILL["search"](plan, plan.search._replace(limit_seconds=perf_counter() - begun - plan.search.seconds))
    if not keeps or (plan._searched is not None and was_interrupted(plan._searched)):
        return plan
    return plans.insert(key, plan, _PLAN_BYTES + _STEP_BYTES * len(shapes) + 2 * len(plan.notation))


def make_plan(
    operation: str,
    source: str | LabelLists,
    shapes: tuple[Shape, ...],
    dtypes: Sequence[DType],
    options: SearchOptions,
    arithmetic: Arithmetic = SUMS_OF_PRODUCTS,
) -> Plan:
    """Plan a contraction; nothing is cached here.

    >>> make_plan("plan", "ij,jk", ((2, 3), (3, 4)), [promote("F64")] * 2, DEFAULT).output_shape
    (2, 4)
    """
    network, order = read_network(operation, source, shapes)
    searches = type(options.optimize) is str and options.optimize in OWN
    if len(shapes) == 2 and searches and order is None:  # nothing to choose
        return Plan(network, dtypes, Order(((0, 1),)), arithmetic)
    return Plan(network, dtypes, find_order(network, order, promote(*dtypes), options, operation), arithmetic)


def _restore(*stored: Any) -> Plan:
    """What a pickle calls."""
    return Plan(*parts_of_pickle(*stored))
