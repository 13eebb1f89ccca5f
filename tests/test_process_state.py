"""State that lives as long as the process stands in one table, in docs/architecture.md, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"

MUTATING: Final = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
    ]
)
STATEFUL: Final = frozenset(
    [
        "BoundedCache",
        "ContextVar",
        "FamilyTable",
        "Pool",
        "Registry",
        "WeakKeyDictionary",
        "WeakSet",
        "WeakValueDictionary",
        "deque",
    ]
)
"""What makes an object that is there to change."""
TABLES: Final = frozenset(("BindingTable", "CacheTable", "PairTable"))
"""Tables of entries: their cache stands in the list."""
CACHING: Final = frozenset(("cache", "lru_cache"))


def name_of(node: ast.expr) -> str:
    """The last part of a name, of an attribute, or of what is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return name_of(function)
        case ast.Subscript(value=value):
            return name_of(value)
    return ""


def assigned(tree: ast.Module) -> dict[str, ast.expr | None]:
    """What is assigned at the top of a module, by name."""
    found: dict[str, ast.expr | None] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                found[name] = value
    return found


def changed_in_functions(tree: ast.Module) -> Iterator[str]:
    """Names that functions of a module declare global, write into, or change by a method."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        match node:
            case ast.Global(names=names):
                yield from names
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in MUTATING:
                yield name


def state_of(text: str) -> set[str]:
    """Names at the top of a module whose objects change while the process runs."""
    tree = ast.parse(text)
    top = assigned(tree)
    made_by = {name: name_of(value) if isinstance(value, ast.Call) else "" for name, value in top.items()}
    found = {name for name in changed_in_functions(tree) if name in top and made_by[name] not in TABLES}
    found |= {name for name, maker in made_by.items() if maker in STATEFUL}
    found |= {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(name_of(one) in CACHING for one in node.decorator_list)
    }
    return found


def all_state() -> set[str]:
    found = set()
    for path in sorted(ROOT.glob("packages/*/src/**/*.py")):
        parts = path.with_suffix("").parts
        module = ".".join(parts[parts.index("src") + 1 :]).removesuffix(".__init__")
        found |= {f"{module}.{name}" for name in state_of(path.read_text(encoding="utf-8"))}
    return found


def listed_state() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").partition("\n## State\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)


def test_every_object_that_changes_with_the_process_is_listed() -> None:
    assert sorted(listed_state()) == sorted(all_state())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("known = {}\ndef look(x): return known.setdefault(x, 1)", {"known"}),
        ("known: dict[int, int] = {}\ndef look(x):\n    known[x] = 1", {"known"}),
        ("count = 0\ndef more():\n    global count\n    count += 1", {"count"}),
        ("plans: Final[CacheTable[Plan]] = CacheTable(plan_cache)\ndef keep(x): plans.insert(x, 1)", set()),
        ("kept: Final = WeakValueDictionary()", {"kept"}),
        ("chosen: Final[ContextVar[int]] = ContextVar('chosen')", {"chosen"}),
        ("@cache\ndef costly(): return 1", {"costly"}),
        ("@functools.lru_cache(8)\ndef costly(x): return x", {"costly"}),
        ("NAMES = {'a': 1}\ndef look(x): return NAMES[x]", set()),
        ("def build():\n    made = {}\n    made['a'] = 1\n    return made", set()),
    ],
)
def test_state_is_what_functions_change_or_what_is_made_to_change(text: str, names: set[str]) -> None:
    assert state_of(text) == names
