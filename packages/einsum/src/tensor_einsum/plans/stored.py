"""Plans as they are stored, as JSON and in pickles: read again with every check that planning makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import FormatError, TensorError, shortened
from tensor_core.shapes import Shape, as_shape
from tensor_einsum.notation.label_names import is_name
from tensor_einsum.notation.network import Labels, Network, resolve_expanded
from tensor_einsum.notation.stored import check_notation
from tensor_einsum.search.optimizers import Order
from tensor_einsum.search.path import Path, in_pairs, to_ids
from tensor_einsum.steps.arithmetic import SUMS_OF_PRODUCTS, Arithmetic, algebra_named, arithmetic_of
from tensor_runtime.algebras import PLUS_TIMES

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

FORMAT: Final = "tensor_einsum.plan/4"
"""The version of what is stored, as JSON and as a pickle."""
FORMER: Final = ("tensor_einsum.plan/3", "tensor_einsum.plan/2", "tensor_einsum.plan/1")
"""Versions that are still read: without ``copies_within``; without ``shared_bytes`` too; of plans that are not sliced,
without ``sliced``."""

_LISTS: Final[dict[str, tuple[int, type, str]]] = {
    "inputs": (2, object, "a list of lists of labels"),
    "output": (1, object, "a list of labels"),
    "shapes": (2, object, "a list of lists of extents"),
    "dtypes": (1, str, "a list of names"),
    "path": (2, int, "a list of lists of positions"),
    "conj": (1, int, "a list of positions"),
    "sliced": (2, object, "a list of pairs, each of a label and the extent of its parts"),
}
"""How deep lists go in JSON, and what is in them, of object what is looked at later; and the same in words."""

Parts = tuple[Network, Sequence[DType], Order, Arithmetic]
"""What a plan is made of."""


def to_json(plan: Plan) -> str:
    """The text of a plan.

    >>> from tensor_einsum import plan
    >>> to_json(plan("ij,j", (2, 3), (3,)))[:34]
    '{"format": "tensor_einsum.plan/4",'
    """
    import json

    return json.dumps(
        {
            "format": FORMAT,
            "notation": plan.notation,
            "names": plan.names,
            "inputs": plan.inputs,
            "output": plan.output,
            "shapes": plan.shapes,
            "dtypes": [dtype.name for dtype in plan.dtypes],
            "path": plan.path,
            "algebra": plan.algebra.name,
            "conj": plan.conj,
            "sliced": plan.sliced,
            "shared_bytes": plan.shared_bytes,
            "copies_within": plan.copies_within,
        }
    )


def parts_of_json(text: str | bytes) -> Parts:
    """What the plan of such a text is made of.

    Raises:
        FormatError: not such a text.

    >>> from tensor_einsum import plan
    >>> parts_of_json(to_json(plan("ij,j", (2, 3), (3,))))[2].ids
    ((0, 1),)
    """
    import json

    try:
        content = json.loads(text, object_pairs_hook=_members)
        if not isinstance(content, dict) or content.get("format") not in (FORMAT, *FORMER):
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise FormatError(f"Plan.from_json: no plan of format {FORMAT!r}; found {shortened(found)}")
        _check_lists(content)
        names = tuple(content["names"])
        if type(content["names"]) is not list or not all(type(name) is str and is_name(name) for name in names):
            raise FormatError(
                f"Plan.from_json: names are {shortened(content['names'])}; accepted: a list of texts that a notation "
                "can have"
            )
        if len({*names}) < len(names):
            raise FormatError(f"Plan.from_json: two labels have one name; found {shortened(names)}")
        inputs = tuple(_numbers(term, len(names)) for term in content["inputs"])
        output = _numbers(content["output"], len(names))
        used = {label for term in inputs for label in term}
        if not {*output} <= used:
            raise FormatError("Plan.from_json: an output label is in no operand")
        if len(used) < len(names):
            raise FormatError("Plan.from_json: a label that has a name is in no operand")
        shapes = [as_shape(tuple(shape)) for shape in content["shapes"]]
        dtypes = [as_dtype(name) for name in content["dtypes"]]
        if not inputs or len(dtypes) != len(inputs):
            raise FormatError(f"Plan.from_json: {len(inputs)} operands and {len(dtypes)} dtypes")
        notation = content["notation"]
        if type(notation) is not str:
            raise FormatError(f"Plan.from_json: notation is {shortened(notation)}; accepted: a text")
        network = resolve_expanded("Plan.from_json", notation, inputs, output, names, shapes)
        check_notation(notation, inputs, output, names, shapes)
        algebra = algebra_named(content.get("algebra", PLUS_TIMES.name))
        arithmetic = arithmetic_of("Plan.from_json", algebra, content.get("conj", ()), dtypes)
        path = in_pairs(to_ids(content["path"], len(inputs)), len(inputs))
        sliced = _cuts(content["sliced"] if content["format"] != FORMER[-1] else (), len(names))
        kept = content["shared_bytes"] if content["format"] not in FORMER[1:] else None
        within = content["copies_within"] if content["format"] == FORMAT else None
        _check_bytes("shared_bytes", kept, "in slices", fits=bool(sliced))
        _check_bytes("copies_within", within, "without slices", fits=not sliced)
        return network, dtypes, Order(path, None, sliced, kept, within), arithmetic
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, TensorError) as error:
        raise FormatError(f"Plan.from_json: not a plan: {type(error).__name__}: {error}") from error


def pickled(plan: Plan) -> tuple[Any, ...]:
    """What a pickle holds of a plan: the arguments of :func:`parts_of_pickle`.

    >>> from tensor_einsum import plan
    >>> pickled(plan("ij,j", (2, 3), (3,)))[:2] == (FORMAT, "ij,j")
    True
    """
    dtypes = tuple(dtype.name for dtype in plan.dtypes)
    described = FORMAT, plan.notation, plan.names, plan.inputs, plan.output
    arithmetic = Arithmetic(plan.algebra, plan.conj)
    return *described, plan.shapes, dtypes, plan.path, arithmetic, plan.sliced, plan.shared_bytes, plan.copies_within


def parts_of_pickle(
    stored: Any,
    notation: str = "",
    names: tuple[str, ...] = (),
    inputs: tuple[Labels, ...] = (),
    output: Labels = (),
    shapes: tuple[Shape, ...] = (),
    dtypes: tuple[str, ...] = (),
    path: Path = (),
    arithmetic: Arithmetic = SUMS_OF_PRODUCTS,
    sliced: tuple[tuple[int, int], ...] = (),
    shared_bytes: int | None = None,
    copies_within: int | None = None,
) -> Parts:
    """What a pickled plan is made of.

    Raises:
        FormatError: it is of another version.

    >>> from tensor_einsum import plan
    >>> parts_of_pickle(*pickled(plan("ij,j", (2, 3), (3,))))[2].ids
    ((0, 1),)
    """
    if stored not in (FORMAT, *FORMER):
        found = stored if isinstance(stored, str) else "no version"
        raise FormatError(f"a pickled plan has {shortened(found)}, and {FORMAT!r} is accepted; plan again")
    network = resolve_expanded("plan", notation, inputs, output, names, shapes)
    order = Order(to_ids(path, len(inputs)), None, sliced, shared_bytes, copies_within)
    return network, [as_dtype(name) for name in dtypes], order, arithmetic


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, no member of which stands twice: which one counts would be left to the reader."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"Plan.from_json: {shortened(twice)} stands twice in one object")
    return found


def _check_bytes(name: str, found: Any, of_plans: str, *, fits: bool) -> None:
    """Refuse what is neither nothing nor a number of bytes, and that of a plan which has none."""
    if found is not None and (type(found) is not int or found < 0 or not fits):
        accepted = f"null, or an int from 0 on of a plan {of_plans}"
        raise FormatError(f"Plan.from_json: {name} is {shortened(found)}; accepted: {accepted}")


def _check_lists(content: dict[str, Any]) -> None:
    """Refuse other things that can be run along, such as texts and objects, and ints in other guises."""
    for name, (depth, kind, accepted) in _LISTS.items():
        if name in content and not _are_lists(content[name], depth, kind):
            raise FormatError(f"Plan.from_json: {name} is {shortened(content[name])}; accepted: {accepted}")


def _are_lists(found: Any, depth: int, kind: type) -> bool:
    if depth == 0:
        return kind is object or type(found) is kind
    return type(found) is list and all(_are_lists(one, depth - 1, kind) for one in found)


def _numbers(labels: Any, count: int) -> Labels:
    if not all(type(label) is int and 0 <= label < count for label in labels):
        raise FormatError(f"Plan.from_json: labels {shortened(labels)} are not all numbers below {count}")
    return tuple(labels)


def _cuts(sliced: Any, count: int) -> tuple[tuple[int, int], ...]:
    for label, part in sliced:
        _numbers((label,), count)
        if type(part) is not int or part < 1:
            raise FormatError(f"Plan.from_json: parts of extent {shortened(part)}; accepted: an int of 1 or more")
    if len({label for label, _ in sliced}) < len(sliced):
        raise FormatError(f"Plan.from_json: a label is cut twice; found {shortened(sliced)}")
    return tuple((label, part) for label, part in sliced)
