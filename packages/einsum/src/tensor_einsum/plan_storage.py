"""Plans as JSON and as pickles, and what is checked when they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import FormatError, TensorError, shortened
from tensor_core.shapes import as_shape
from tensor_einsum.network import Labels, Network, Shape, resolve
from tensor_einsum.notation import Notation
from tensor_einsum.path import Path, in_pairs, to_ids

if TYPE_CHECKING:
    from tensor_einsum.plan import Plan

FORMAT: Final = "tensor_einsum.plan/2"
"""The version of what is stored, as JSON and as a pickle."""
FORMER: Final = "tensor_einsum.plan/1"
"""A version that is still read: of plans that are not sliced, without ``sliced``."""

Content = tuple[Network, list[DType], Path, tuple[tuple[int, int], ...]]
"""What a plan is made of."""


def to_json(plan: Plan) -> str:
    """The text of a plan.

    >>> from tensor_einsum import plan
    >>> json.loads(to_json(plan("i->", (2,))))["path"]
    []
    """
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
            "sliced": plan.sliced,
        }
    )


def read_json(text: str | bytes) -> Content:
    """What :func:`to_json` wrote.

    Raises:
        FormatError: not such a text.

    >>> from tensor_einsum import plan
    >>> read_json(to_json(plan("i,i", (2,), (2,))))[2]
    ((0, 1),)
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") not in (FORMAT, FORMER):
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise FormatError(f"Plan.from_json: no plan of format {FORMAT!r}; found {shortened(found)}")
        names = tuple(map(str, content["names"]))
        inputs = tuple(_numbers(term, len(names)) for term in content["inputs"])
        output = _numbers(content["output"], len(names))
        if not {*output} <= {label for term in inputs for label in term}:
            raise FormatError("Plan.from_json: an output label is in no operand")
        shapes = [as_shape(tuple(shape)) for shape in content["shapes"]]
        dtypes = [as_dtype(name) for name in content["dtypes"]]
        if not inputs or len(dtypes) != len(inputs):
            raise FormatError(f"Plan.from_json: {len(inputs)} operands and {len(dtypes)} dtypes")
        notation = _read_notation(str(content["notation"]), inputs, output, names)
        network = resolve("Plan.from_json", notation, shapes)
        sliced = _cuts(content["sliced"] if content["format"] == FORMAT else (), len(names))
        return network, dtypes, in_pairs(to_ids(content["path"], len(inputs)), len(inputs)), sliced
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, TensorError) as error:
        raise FormatError(f"Plan.from_json: not a plan: {type(error).__name__}: {error}") from error


def to_pickle(plan: Plan) -> tuple[object, ...]:
    """The arguments with which a pickle restores a plan.

    >>> from tensor_einsum import plan
    >>> to_pickle(plan("i->", (2,)))[:2]
    ('tensor_einsum.plan/2', 'i->')
    """
    dtypes = tuple(dtype.name for dtype in plan.dtypes)
    return FORMAT, plan.notation, plan.names, plan.inputs, plan.output, plan.shapes, dtypes, plan.path, plan.sliced


def read_pickle(
    stored: Any,
    notation: str = "",
    names: tuple[str, ...] = (),
    inputs: tuple[Labels, ...] = (),
    output: Labels = (),
    shapes: tuple[Shape, ...] = (),
    dtypes: tuple[str, ...] = (),
    path: Path = (),
    sliced: tuple[tuple[int, int], ...] = (),
) -> Content:
    """What :func:`to_pickle` gave; one of another version is refused.

    Raises:
        FormatError: of another version.

    >>> from tensor_einsum import plan
    >>> read_pickle(*to_pickle(plan("ij,jk->", (2, 3), (3, 4))))[2]
    ((0, 1),)
    """
    if stored not in (FORMAT, FORMER):
        found = stored if isinstance(stored, str) else "no version"
        raise FormatError(f"a pickled plan has {shortened(found)}, and {FORMAT!r} is accepted; plan again")
    network = resolve("plan", _read_notation(notation, inputs, output, names), shapes)
    return network, [as_dtype(name) for name in dtypes], to_ids(path, len(inputs)), sliced


def _numbers(labels: Any, count: int) -> Labels:
    if not all(type(label) is int and 0 <= label < count for label in labels):
        raise FormatError(f"Plan.from_json: labels {labels!r} are not all numbers below {count}")
    return tuple(labels)


def _cuts(sliced: Any, count: int) -> tuple[tuple[int, int], ...]:
    for label, part in sliced:
        _numbers((label,), count)
        if type(part) is not int or part < 1:
            raise FormatError(f"Plan.from_json: parts of extent {part!r}; accepted: an int of 1 or more")
    return tuple((label, part) for label, part in sliced)


def _read_notation(text: str, inputs: tuple[Labels, ...], output: Labels, names: tuple[str, ...]) -> Notation:
    """A notation whose ellipsis is written out already; only messages look at its columns."""
    return Notation(text, inputs, output, names, tuple((0,) * len(term) for term in inputs), (0,) * len(inputs), None)
