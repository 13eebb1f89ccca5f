"""Write ``docs/kernels.md``: what every kernel gets and gives, from the contracts that the packages declare.

Usage: ``python tools/kernels.py``; a test compares the page with what this prints.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from inspect import getdoc
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import tensor_einsum.contracts
import tensor_linalg.contracts.common
import tensor_linalg.contracts.decompositions
import tensor_linalg.contracts.functions
import tensor_linalg.contracts.solving
from tensor_runtime.contracts import (
    contraction,
    creation,
    elementwise,
    gather_scatter,
    joining,
    linalg,
    reduction,
    views,
)
from tensor_runtime.contracts.contract import Contract
from tensor_runtime.testing import REQUIRED_KERNELS
from tensor_runtime.testing.kernel_contracts import all_contracts

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "kernels.md"
HEAD: Final = """# Kernels: what a backend is asked for

Written by `python tools/kernels.py` from `tensor_runtime.contracts` and the families' `contracts`; do not edit it.
[Extending](extending.md) says how a backend is made, [the catalogue](catalogue.md) which operations bind which kernels
and which dtypes they accept.

`Backend.bind(name, operands, result, params)` returns the kernel for exactly these forms. For all of them:

* **Operands** are bound as forms (dtype, shape, strides, placement) and given as the backend's own arrays, in the order
  listed. Any layout may come: strides of any sign, of 0, and gaps. Where a Python number may stand, it is bound as its
  type, `bool`, `int`, `float` or `complex`, and given as it is. Placement, dtypes and shapes have been checked.
* **Arguments** come after the arrays in each call; they are part of no binding. An operand or argument with a question
  mark may be missing; one name listed as both comes as one of them. An operand with three dots stands for one or more.
* **The result** is a new array, laid out as the form of the result says, which is *compact* (column-major, without
  gaps) unless it is a view; *owned* means that it shares no memory with anything. Several results are a tuple. Where an
  extent depends on values, they come in a `tensor_runtime.protocols.Counted`.
* **Parameters** are None, or an instance of the NamedTuple that is named.
* A kernel never warns, never keeps an operand or changes it, and raises errors of the tree of `tensor_core.errors`;
  where values decide (an index, a zero divisor of integers), it looks itself.

What the operation of that name does, the docstring of its public function says; this page says how it is asked for.
"""


FAMILIES: Final[Mapping[str, ModuleType]] = {
    "Views, copies and conversion": views,
    "Creation": creation,
    "Elementwise": elementwise,
    "Reductions and other operations along axes": reduction,
    "Joining and padding": joining,
    "Indices, sorting": gather_scatter,
    "Contraction, convolution and pooling": contraction,
    "Substitution": linalg,
    "Linear algebra (`tensor_linalg`)": tensor_linalg.contracts.common,
    "Linear algebra: decompositions": tensor_linalg.contracts.decompositions,
    "Linear algebra: solving": tensor_linalg.contracts.solving,
    "Linear algebra: functions": tensor_linalg.contracts.functions,
    "Einsum (`tensor_einsum`)": tensor_einsum.contracts,
}
"""The modules that declare contracts, or what several of them say, by the titles of their sections."""


def field_texts(params: type, /) -> Mapping[str, tuple[str, str]]:
    """The type and the description of each field of a NamedTuple, as its source has them.

    >>> from tensor_runtime.contracts.reduction import ScanParams
    >>> field_texts(ScanParams)["axis"][0]
    'int | None'
    """
    (body,) = (node.body for node in ast.parse(inspect.getsource(params)).body if isinstance(node, ast.ClassDef))
    found: dict[str, tuple[str, str]] = {}
    last = ""
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
            found[last] = (ast.unparse(node.annotation), "")
        elif last and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[last] = (found[last][0], " ".join(str(node.value.value).split()))
    return found


def types_in(module: ModuleType, /) -> Iterator[type]:
    """NamedTuples that a module defines, in its order."""
    for value in vars(module).values():
        if isinstance(value, type) and hasattr(value, "_fields") and value.__module__ == module.__name__:
            yield value


def alias_lines(module: ModuleType, /) -> Iterator[str]:
    """Names of types that a module gives, as its source has them.

    >>> list(alias_lines(contraction))[0]
    '* `Labels` is `tuple[int, ...]`: One int for each axis of a tensor; equal labels mean one index.'
    """
    body = ast.parse(inspect.getsource(module)).body
    for node, after in pairwise(body):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, (ast.Subscript, ast.BinOp))):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = " ".join(str(after.value.value).split())
            yield f"* `{ast.unparse(node.targets[0])}` is `{ast.unparse(node.value)}`: {text}"


def lines_of(contract: Contract, /) -> Iterator[str]:
    """The entry of one kernel.

    >>> list(lines_of(creation.KERNELS[0]))[0]
    '### `full`'
    """
    yield f"### `{contract.kernel}`"
    yield ""
    yield contract.computes
    yield ""
    for position, (name, text) in enumerate(contract.operands.items(), 1):
        mark = "..." if contract.repeated and position == len(contract.operands) else ""
        yield f"* operand `{name}{_mark(contract, name)}{mark}`: {text}"
    for name, text in contract.arguments.items():
        yield f"* argument `{name}{_mark(contract, name)}`: {text}"
    yield f"* result: {contract.result}"
    if contract.params is not None:
        yield f"* parameters: `{contract.params.__name__}({', '.join(_fields(contract.params))})`"
    yield ""


def _mark(contract: Contract, name: str) -> str:
    return "?" if name in contract.optional else ""


def _fields(params: Any) -> tuple[str, ...]:
    fields: tuple[str, ...] = params._fields
    return fields


def elementwise_lines() -> Iterator[str]:
    """What holds for all elementwise kernels without parameters, and their names by the number of operands."""
    for count, words in ((1, "One operand"), (2, "Two operands"), (3, "Three operands")):
        example = elementwise.elementwise_contract("", count)
        named = (name for name, one in all_contracts().items() if one == example._replace(kernel=name))
        yield f"{words}, `{', '.join(example.operands)}`, {next(iter(example.operands.values()))}:"
        yield " ".join(f"`{name}`" for name in sorted(named)) + "."
        yield ""


def family_lines(title: str, module: ModuleType, /) -> Iterator[str]:
    """The section of one family: what its module says, its kernels, its types."""
    yield f"## {title}"
    yield ""
    yield from (getdoc(module) or "").splitlines()
    yield ""
    if title == "Elementwise":
        yield from elementwise_lines()
    for contract in getattr(module, "KERNELS", ()):
        yield from lines_of(contract)
    for params in types_in(module):
        yield f"**`{params.__name__}`** (`{module.__name__}`). {_paragraph(getdoc(params))}"
        yield ""
        for field, (hint, text) in field_texts(params).items():
            yield f"* `{field}: {hint}`" + (f": {text}" if text else "")
        yield ""
    aliases = list(alias_lines(module))
    if aliases:
        yield from ("Names of types:", "", *aliases, "")


def _paragraph(text: str | None) -> str:
    return " ".join((text or "").split()).replace("``", "`")


def required_lines() -> Iterable[str]:
    """What the conformance suite needs itself."""
    return (
        "The conformance suite needs some kernels itself, to make operands in every layout and to look at results;",
        "they are `tensor_runtime.testing.REQUIRED_KERNELS`. Whatever else a backend lacks, it may say so:",
        " ".join(f"`{name}`" for name in sorted(REQUIRED_KERNELS)) + ".",
        "",
    )


def page() -> str:
    """The whole page.

    >>> page().count("### `slice_view`"), page().count("### `max`")
    (1, 1)
    """
    lines = [*HEAD.splitlines(), "", *required_lines()]
    for title, module in FAMILIES.items():
        lines += family_lines(title, module)
    return "\n".join(line.replace("``", "`") for line in lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {page().count('### ')} kernels\n")
