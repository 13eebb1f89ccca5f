"""Plans: everything about a contraction that shapes decide, before any data is touched.

A plan is data: labels, shapes, dtypes and a path, and the steps and costs that follow from them. It holds no form and
no kernel, so it can be hashed, pickled, written as JSON, and used on any backend; ``tensor_einsum.executor`` takes it
and the forms of actual operands, binds it and runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tensor_core.dtypes import DType
from tensor_core.promotion import promote
from tensor_einsum.executor import run_plan
from tensor_einsum.network import Labels, Network, Shape, resolve
from tensor_einsum.notation import LabelLists, Notation, notations, read_notation, written
from tensor_einsum.optimizers import Order, find_order
from tensor_einsum.path import Path, to_ids, to_linear
from tensor_einsum.report import plan_table
from tensor_einsum.search.problem import SearchRecord
from tensor_einsum.search_options import DEFAULT, SearchOptions
from tensor_einsum.steps import Step, build_steps, peak_bytes
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable

if TYPE_CHECKING:
    from tensor_einsum.slices.cutting import Slices
    from tensor_runtime import Tensor
    from tensor_runtime.form import Form


class Plan:
    """A contraction, decided. Immutable; equal when notation, shapes, dtypes, path and slices are.

    Attributes:
        notation: as the user wrote it.
        inputs, output: labels as numbers; ``names`` shows them.
        shapes, dtypes: of the operands.
        output_shape, output_dtype: of the result.
        path: pairs of positions, as opt_einsum writes them; accepted by ``optimize=``.
        sliced: labels that are cut, as numbers, each with the extent of its parts; () for a plan without slices.
        steps: what is executed, in order (:class:`Step`); of a sliced plan, for one full slice.
        flops: additions and multiplications of all steps of all slices, one each: 2 per product that is summed, 1 per
            product that is not.
        opt_einsum_flops: the same contraction as opt_einsum counts it.
        largest_intermediate: elements of the largest step's result.
        peak_bytes: the most bytes of intermediates and result alive at once; neither operands nor what kernels take
            while they run are counted.
        search: what our own search tried, how long it took, how flops and size fell, and whether it would pay to search
            longer (:class:`SearchRecord`). None where nothing was searched, or by others, and of a plan that was read.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    >>> p.path, p.flops, p.largest_intermediate, p.peak_bytes
    (((0, 1), (0, 1)), 128, 10, 144)
    """

    __slots__ = (
        "_hash", "_network", "dtypes", "extents", "flops", "inputs", "largest_intermediate", "names", "notation",
        "opt_einsum_flops", "output", "output_dtype", "output_shape", "path", "peak_bytes", "search", "shapes",
        "sliced", "steps",
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
    path: Path
    sliced: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]
    flops: int
    opt_einsum_flops: int
    largest_intermediate: int
    peak_bytes: int
    search: SearchRecord | None
    _network: Network
    _hash: int

    def __init__(self, network: Network, dtypes: Sequence[DType], order: Order) -> None:
        ids = order.ids
        fill = super().__setattr__
        output_dtype = _common(dtypes)
        operands = len(network.inputs)
        cuts: tuple[tuple[int, int], ...] = ()
        if order.sliced:
            from tensor_einsum.slices.cutting import ordered_cuts, slice_network, sliced_cost

            cuts = ordered_cuts(network, order.sliced)
            steps = build_steps(slice_network(network, cuts), ids, output_dtype.itemsize)
            flops, opt_einsum_flops, peak = sliced_cost(network, cuts, ids, steps, output_dtype.itemsize)
        else:
            steps = build_steps(network, ids, output_dtype.itemsize)
            flops = opt_einsum_flops = 0
            for step in steps:
                flops += step.flops
                opt_einsum_flops += step.opt_einsum_flops
            peak = peak_bytes(steps, operands)
        fill("notation", network.notation)
        fill("inputs", network.inputs)
        fill("output", network.output)
        fill("names", network.names)
        fill("extents", network.extents)
        fill("shapes", network.shapes)
        fill("dtypes", tuple(dtypes))
        fill("output_shape", tuple(map(network.extents.__getitem__, network.output)))
        fill("output_dtype", output_dtype)
        fill("path", ids if len(ids) < 2 else to_linear(ids, operands))
        fill("sliced", cuts)
        fill("steps", steps)
        fill("flops", flops)
        fill("opt_einsum_flops", opt_einsum_flops)
        fill("largest_intermediate", max([prod(step.shape) for step in steps]))
        fill("peak_bytes", peak)
        fill("search", order.search)
        fill("_network", network)
        fill("_hash", hash((network, self.dtypes, self.path, cuts)))

    @property
    def subscripts(self) -> str:
        """The notation with the ellipsis and the implicit output written out."""
        return f"{','.join(written(term, self.names) for term in self.inputs)}->{written(self.output, self.names)}"

    @property
    def slices(self) -> Slices:
        """How many slices there are, and which labels are cut (:class:`Slices`); one of a plan that is not sliced."""
        from tensor_einsum.slices.cutting import slices_of

        return slices_of(self.names, self.extents, self.sliced)

    def with_slices(self, labels: Iterable[Any] | Mapping[Any, int], /) -> Plan:
        """The same contraction along the same path, slice by slice.

        Args:
            labels: labels to cut into parts of extent 1, or a mapping from each label to the extent of its parts. What
                is cut now is forgotten; () gives a plan without slices.

        Raises:
            ArgumentError: a label that the notation has not, or a part that is no int of 1 or more.

        >>> from tensor_einsum import plan
        >>> p = plan("ij,jk,kl->il", (9, 9), (9, 9), (9, 9))
        >>> p.with_slices("j").slices.count, p.with_slices({"i": 4}).slices.shape
        (9, (3,))
        """
        from tensor_einsum.slices.cutting import named_cuts

        ids = to_ids(self.path, len(self.inputs))
        return Plan(self._network, self.dtypes, Order(ids, self.search, named_cuts(labels, self.names, self.extents)))

    def __call__(
        self, /, *operands: Tensor, on_step: Callable[[int, int], object] | None = None, force: bool = False
    ) -> Tensor:
        """Contract tensors of the shapes and dtypes that this plan was made for.

        Args:
            operands: tensors, all in one place; any layout.
            on_step: called as ``on_step(done, total)`` after each step; an exception it raises, or Ctrl-C, stops the
                contraction there.
            force: start even what needs more memory than this process may have.

        Raises:
            ShapeError: other shapes, or another number of operands.
            DTypeError: other dtypes.
            PlacementError: operands in different places.
            OutOfMemoryError: ``peak_bytes``, with what kernels take besides (copies of operands that they cannot read
                as they lie), is more memory than this process may have in all, whatever is taken at the moment; nothing
                has been computed then. Or memory ran out on the way; the message says in which step.
        """
        if self.sliced:
            from tensor_einsum.slices.running import run_sliced

            return run_sliced(self, operands, on_step, force)
        return run_plan(self, operands, on_step, force)

    def peak_bytes_on(self, *operands: Tensor) -> int:
        """``peak_bytes`` and what the kernels for these tensors take besides, such as copies of operands; in bytes.

        Args:
            operands: tensors that the plan was made for; none for compact ones on ``cpu``.

        Raises:
            ExtentError, DTypeError, PlacementError: tensors that the plan was not made for.

        >>> from tensor_einsum import plan
        >>> plan("ij,jk->ik", (20, 30), (30, 40)).peak_bytes_on()
        6400
        """
        from tensor_einsum.slices.limit import needed_bytes
        from tensor_runtime.tensors.tensor import unwrap

        return needed_bytes(self, [unwrap("peak_bytes_on", operand)[0] for operand in operands])

    def run_slice(
        self,
        number: int,
        /,
        *operands: Tensor,
        on_step: Callable[[int, int], object] | None = None,
        force: bool = False,
    ) -> Tensor:
        """The part of the result that one slice gives; arguments and errors as for a call.

        Args:
            number: 0 to ``slices.count`` - 1; the last of ``slices.labels`` runs fastest.

        Returns:
            An owned, compact tensor: the axes of the output, those of labels cut into parts of extent 1 left out.

        Raises:
            ArgumentError: no such slice.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> p, x = plan("ij,jk->ik", (2, 3), (3, 4)).with_slices("k"), (ones((2, 3)), ones((3, 4)))
        >>> p.gather(p.run_slice(number, *x) for number in range(p.slices.count)).shape
        (2, 4)
        """
        from tensor_einsum.slices.running import run_slice

        return run_slice(self, number, operands, on_step, force)

    def gather(self, parts: Iterable[Tensor], /) -> Tensor:
        """The result of all slices, from their parts in order; an iterable is read one part at a time.

        Sums of parts have the order, and so the bits, that a call gives them.

        Raises:
            ExtentError, DTypeError: parts that are none of this plan, or not as many as there are slices.
            PlacementError: parts in different places.
        """
        from tensor_einsum.slices.running import gather

        return gather(self, parts)

    def to_json(self) -> str:
        """The plan as JSON text; :meth:`from_json` reads it on any machine."""
        from tensor_einsum.plan_storage import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes, /) -> Plan:
        """The plan that :meth:`to_json` wrote; what decides the result is checked again, the notation's text is not.

        Raises:
            FormatError: not such a text.

        >>> from tensor_einsum import plan
        >>> p = plan("ij,j", (2, 3), (3,))
        >>> Plan.from_json(p.to_json()) == p
        True
        """
        from tensor_einsum.plan_storage import read_json

        network, dtypes, ids, sliced = read_json(text)
        return cls(network, dtypes, Order(ids, None, sliced))

    def table(self, max_steps: int | None = None) -> str:
        """The plan as text: totals, then one line per step; ``max_steps`` leaves out the middle of a long plan."""
        return plan_table(self, max_steps)

    def __str__(self) -> str:
        return self.table(40)

    def __repr__(self) -> str:
        text = self.notation if len(self.notation) <= 40 else self.notation[:39] + "…"
        slices = f"{self.slices.count} slices, " if self.sliced else ""
        return (
            f"<Plan {text!r}: {slices}{len(self.steps)} steps, {self.flops:.3g} flops, largest intermediate "
            f"{self.largest_intermediate} elements, peak {self.peak_bytes} bytes>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self is other or (self._hash == other._hash and self._content() == other._content())

    def __hash__(self) -> int:
        return self._hash

    def _content(self) -> tuple[object, ...]:
        """All that a plan is; the rest follows from it, and ``plan_storage`` writes it."""
        return self.notation, self.names, self.inputs, self.output, self.shapes, self.dtypes, self.path, self.sliced

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan is immutable; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        from tensor_einsum.plan_storage import to_pickle

        return _restore, to_pickle(self)

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: object) -> Plan:
        return self


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
    forms: Sequence[Form] = (),
) -> Plan:
    """The plan of a contraction, from the cache if it is there and the options let it be kept.

    Under a memory limit it depends on the forms of the operands too: kernels for them say what they take.

    >>> from tensor_core import F64
    >>> cached_plan("plan", "ij,jk", ((2, 3), (3, 4)), (F64, F64), DEFAULT).output_shape
    (2, 4)
    """
    key = (source, shapes, dtypes, options, *forms)
    keeps = options is DEFAULT or options.keeps
    known = plans.find(key) if keeps else None
    if known is not None:
        return known
    plan = make_plan(operation, notations.find(source) or read_notation(source), shapes, dtypes, options)
    if options.limit is not None:
        from tensor_einsum.slices.limit import within

        plan = within(plan, options.limit, forms)
    return (
        plans.insert(key, plan, _PLAN_BYTES + _STEP_BYTES * len(plan.steps) + 2 * len(plan.notation)) if keeps else plan
    )


def make_plan(
    operation: str, notation: Notation, shapes: Sequence[Shape], dtypes: Sequence[DType], options: SearchOptions
) -> Plan:
    """Plan a contraction; nothing is cached here.

    >>> from tensor_core import F64
    >>> from tensor_einsum.notation import parse
    >>> make_plan("plan", parse("ij,jk"), [(2, 3), (3, 4)], [F64, F64], DEFAULT).output_shape
    (2, 4)
    """
    network = resolve(operation, notation, shapes)
    if len(shapes) == 2 and notation.order is None and options is DEFAULT:  # nothing to choose
        return Plan(network, dtypes, Order(((0, 1),)))
    return Plan(network, dtypes, find_order(network, notation.order, _common(dtypes), options))


def _common(dtypes: Sequence[DType]) -> DType:
    return dtypes[0] if len({*dtypes}) == 1 else promote(*dtypes)


def _restore(*stored: Any) -> Plan:
    """What a pickle calls; one of another version is refused."""
    from tensor_einsum.plan_storage import read_pickle

    network, dtypes, ids, sliced = read_pickle(*stored)
    return Plan(network, dtypes, Order(ids, None, sliced))
