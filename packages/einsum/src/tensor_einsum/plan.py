"""Plans: everything about a contraction that shapes decide, before any data is touched.

A plan holds labels, shapes, dtypes and a path, and the steps that follow from them. It holds no form and no kernel,
so it can be hashed, pickled, written as JSON, and used on any backend; ``tensor_einsum.execute`` binds it to the
forms of actual operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import FormatError, TensorError
from tensor_core.promotion import promote
from tensor_core.shapes import as_shape
from tensor_einsum.execute import run_plan
from tensor_einsum.extents import Labels, Network, Shape, resolve
from tensor_einsum.notation import Notation
from tensor_einsum.path import Path, find_path, in_pairs, to_ids, to_linear
from tensor_einsum.report import plan_table
from tensor_einsum.steps import Step, build_steps, peak_bytes
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable

if TYPE_CHECKING:
    from tensor_runtime import Tensor

_FORMAT: Final = "tensor_einsum.plan/1"
_PLAN_BYTES: Final = 2000  # a plan without steps; measured with tracemalloc
_STEP_BYTES: Final = 700  # a step, its labels and its text


class Plan:
    """A contraction, decided. Immutable; equal when notation, shapes, dtypes and path are.

    Attributes:
        notation: as the user wrote it.
        inputs, output: labels as numbers; ``names`` shows them.
        shapes, dtypes: of the operands.
        output_shape, output_dtype: of the result.
        path: pairs of positions, as opt_einsum writes them; accepted by ``optimize=``.
        steps: what is executed, in order (:class:`Step`).
        flops: additions and multiplications of all steps, one each: 2 per product that is summed, 1 per product that
            is not.
        opt_einsum_flops: the same contraction as opt_einsum counts it.
        largest_intermediate: elements of the largest step's result.
        peak_bytes: the most bytes of intermediates and result alive at once; operands not counted.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    >>> p.path, p.flops, p.largest_intermediate, p.peak_bytes
    (((0, 1), (0, 1)), 128, 10, 144)
    """

    __slots__ = (
        "_hash", "_ids", "_network", "dtypes", "flops", "largest_intermediate", "opt_einsum_flops", "output_dtype",
        "output_shape", "path", "peak_bytes", "steps",
    )  # fmt: skip

    dtypes: tuple[DType, ...]
    flops: int
    largest_intermediate: int
    opt_einsum_flops: int
    output_dtype: DType
    output_shape: Shape
    path: Path
    peak_bytes: int
    steps: tuple[Step, ...]
    _network: Network
    _ids: Path
    _hash: int

    def __init__(self, network: Network, dtypes: Sequence[DType], ids: Path) -> None:
        fill = super().__setattr__
        output_dtype = promote(*dtypes)
        steps = build_steps(network, ids, output_dtype.itemsize)
        operands = len(network.inputs)
        fill("_network", network)
        fill("_ids", ids)
        fill("dtypes", tuple(dtypes))
        fill("output_dtype", output_dtype)
        fill("output_shape", tuple(network.extents[label] for label in network.output))
        fill("path", to_linear(ids, operands))
        fill("steps", steps)
        fill("flops", sum(step.flops for step in steps))
        fill("opt_einsum_flops", sum(step.opt_einsum_flops for step in steps))
        fill("largest_intermediate", max(step.size for step in steps))
        fill("peak_bytes", peak_bytes(steps, operands))
        fill("_hash", hash((network, self.dtypes, ids)))

    @property
    def notation(self) -> str:
        """As the user wrote it."""
        return self._network.notation

    @property
    def inputs(self) -> tuple[Labels, ...]:
        """Labels of each operand, as numbers."""
        return self._network.inputs

    @property
    def output(self) -> Labels:
        """Labels of the result."""
        return self._network.output

    @property
    def names(self) -> tuple[str, ...]:
        """What the labels are called, by number."""
        return self._network.names

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents, by label."""
        return self._network.extents

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes of the operands."""
        return self._network.shapes

    @property
    def subscripts(self) -> str:
        """The notation with the ellipsis and the implicit output written out."""
        return self._network.subscripts

    def __call__(self, /, *operands: Tensor, on_step: Callable[[int, int], object] | None = None) -> Tensor:
        """Contract tensors of the shapes and dtypes that this plan was made for.

        Args:
            operands: tensors, all in one place; any layout.
            on_step: called as ``on_step(done, total)`` after each step; an exception it raises, or Ctrl-C, stops the
                contraction there.

        Raises:
            ShapeError: other shapes, or another number of operands.
            DTypeError: other dtypes.
            PlacementError: operands in different places.
            OutOfMemoryError: ``peak_bytes``, with what kernels take besides (copies of operands that they cannot read
                as they lie), is more memory than this process may have in all, whatever is taken at the moment; nothing
                has been computed then. Or memory ran out on the way; the message says in which step.
        """
        return run_plan(self, operands, on_step)

    def to_json(self) -> str:
        """The plan as JSON text; :meth:`from_json` reads it on any machine."""
        import json

        network = self._network
        return json.dumps(
            {
                "format": _FORMAT,
                "notation": network.notation,
                "names": network.names,
                "inputs": network.inputs,
                "output": network.output,
                "shapes": network.shapes,
                "dtypes": [dtype.name for dtype in self.dtypes],
                "path": self.path,
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes, /) -> Plan:
        """The plan that :meth:`to_json` wrote; everything in it is checked again.

        Raises:
            FormatError: not such a text.

        >>> from tensor_einsum import plan
        >>> p = plan("ij,j", (2, 3), (3,))
        >>> Plan.from_json(p.to_json()) == p
        True
        """
        import json

        try:
            content = json.loads(text)
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise FormatError(f"Plan.from_json: no plan of format {_FORMAT!r}")
            names = tuple(map(str, content["names"]))
            inputs = tuple(_numbers(term, len(names)) for term in content["inputs"])
            output = _numbers(content["output"], len(names))
            if not {*output} <= {label for term in inputs for label in term}:
                raise FormatError("Plan.from_json: an output label is in no operand")
            shapes = [as_shape(tuple(shape)) for shape in content["shapes"]]
            dtypes = [as_dtype(name) for name in content["dtypes"]]
            notation = _read_notation(str(content["notation"]), inputs, output, names)
            if not inputs or len(dtypes) != len(inputs):
                raise FormatError(f"Plan.from_json: {len(inputs)} operands and {len(dtypes)} dtypes")
            network = resolve("Plan.from_json", notation, shapes)
            return cls(network, dtypes, in_pairs(to_ids(content["path"], len(inputs)), len(inputs)))
        except FormatError:
            raise
        except (ValueError, TypeError, KeyError, RecursionError, TensorError) as error:
            raise FormatError(f"Plan.from_json: not a plan: {type(error).__name__}: {error}") from error

    def table(self, max_steps: int | None = None) -> str:
        """The plan as text: totals, then one line per step; ``max_steps`` leaves out the middle of a long plan."""
        return plan_table(self, max_steps)

    def __str__(self) -> str:
        return self.table(40)

    def __repr__(self) -> str:
        text = self.notation if len(self.notation) <= 40 else self.notation[:39] + "…"
        return (
            f"<Plan {text!r}: {len(self.steps)} steps, {self.flops:.3g} flops, largest intermediate "
            f"{self.largest_intermediate} "
            f"elements, peak {self.peak_bytes} bytes>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self is other or (self._network, self.dtypes, self._ids) == (other._network, other.dtypes, other._ids)

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan is immutable; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (tuple(self._network), tuple(dtype.name for dtype in self.dtypes), self._ids)

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: object) -> Plan:
        return self


class PlanTable(CacheTable[Plan]):
    """Plans by notation, options, shapes and dtypes."""

    __slots__ = ()

    def cost(self, key: Any, plan: Plan, /) -> int:
        """Bytes that a plan counts for."""
        return _PLAN_BYTES + _STEP_BYTES * len(plan.steps) + 2 * len(plan.notation)


plan_cache: Final = BoundedCache("plan_cache")
"""The plans of this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""
plans: Final = PlanTable(plan_cache)


def make_plan(
    operation: str, notation: Notation, shapes: Sequence[Shape], dtypes: Sequence[DType], optimize: Any
) -> Plan:
    """Plan a contraction; nothing is cached here.

    >>> from tensor_core import F64
    >>> from tensor_einsum.notation import parse
    >>> make_plan("plan", parse("ij,jk"), [(2, 3), (3, 4)], [F64, F64], "auto").output_shape
    (2, 4)
    """
    network = resolve(operation, notation, shapes)
    inputs = [
        tuple(dict.fromkeys(term[axis] for axis in network.kept_axes(operand)))
        for operand, term in enumerate(network.inputs)
    ]
    return Plan(network, dtypes, find_path(inputs, network.output, network.extents, notation.order, optimize))


def _restore(network: tuple[Any, ...], dtypes: tuple[str, ...], ids: Path) -> Plan:
    return Plan(Network(*network), [as_dtype(name) for name in dtypes], ids)


def _numbers(labels: Any, count: int) -> Labels:
    if not all(type(label) is int and 0 <= label < count for label in labels):
        raise FormatError(f"Plan.from_json: labels {labels!r} are not all numbers below {count}")
    return tuple(labels)


def _read_notation(text: str, inputs: tuple[Labels, ...], output: Labels, names: tuple[str, ...]) -> Notation:
    """A notation whose ellipsis is written out already; only messages look at its columns."""
    return Notation(text, inputs, output, names, tuple((0,) * len(term) for term in inputs), (0,) * len(inputs), None)
