"""Check our own rules on every module under ``packages/*/src``.

1. Every public module, class and function has a docstring.
2. Every public function and class that computes has an example in it, and the example runs: ``make test`` runs all of
   them as doctests, so here it only must be there, and not be skipped.
3. No file is longer than 400 lines, and no module is named ``utils``.

*Public* is what is reachable without a leading underscore: the module, the class and the name. ``__main__`` is no API.

A function *computes* when its body, without the docstring, is more than one statement that returns, raises or
delegates; so an accessor, a forwarding call and the stub of a Protocol need no example. A class computes when one of
its public methods does; an example in the class or in that method will do, because it shows the methods at work.
Dunder methods and overloads are shown through their class. Exceptions, Protocols and named tuples describe, they do not
compute; ``main`` connects; a composite Hypothesis strategy is shown by the tests that draw from it; conformance cases,
in folders named ``cases``, are tests themselves.

Usage: ``python tools/check_docstrings.py [FOLDER ...]``; by default all packages beside this folder. Exit status 1 and
one line ``path:line: message`` for each finding.
"""

from __future__ import annotations

import ast
import doctest
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

LONGEST: Final = 400
"""Lines in a file."""
ROOT: Final = Path(__file__).resolve().parent.parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """One place where a rule is broken."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def has_example(node: ast.AST) -> bool:
    """Whether a docstring has an example that runs.

    >>> [has_example(ast.parse(f"'{text}'")) for text in ("One.", ">>> 1 + 1", ">>> 1 + 1  # doctest: +SKIP")]
    [False, True, False]
    """
    text = ast.get_docstring(node) or "" if isinstance(node, Function | ast.ClassDef | ast.Module) else ""
    return any(not example.options.get(doctest.SKIP) for example in doctest.DocTestParser().get_examples(text))


def computes(function: Function) -> bool:
    """Whether a function does more than return, raise or delegate once.

    >>> [computes(ast.parse(text).body[0]) for text in ("def f(): return g(1)", "def f(x): x += 1; return x")]
    [False, True]
    """
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return len(body) > 1 or any(not isinstance(node, ast.Return | ast.Raise | ast.Expr | ast.Pass) for node in body)


def decorators(node: Function | ast.ClassDef) -> set[str]:
    """The last names of the decorators."""
    called = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return {item.attr if isinstance(item, ast.Attribute) else getattr(item, "id", "") for item in called}


def base_names(node: ast.ClassDef) -> set[str]:
    """The last names of the base classes, without their type arguments."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in bases}


def describes(node: ast.ClassDef) -> bool:
    """Whether a class is an exception, a Protocol or a named tuple."""
    return any(name in {"Protocol", "NamedTuple"} or name.endswith(("Error", "Exception")) for name in base_names(node))


def findings_of_class(path: Path, node: ast.ClassDef, examples: bool) -> Iterator[Finding]:
    """Rules 1 and 2 for a class and its public methods."""
    if ast.get_docstring(node) is None:
        yield Finding(path, node.lineno, f"class {node.name} has no docstring")
    methods = [item for item in node.body if isinstance(item, Function) and not item.name.startswith("_")]
    # An attribute of a Protocol is written as a property; its name and type say all.
    silent = {"overload", "setter"} | ({"property"} if "Protocol" in base_names(node) else set())
    methods = [item for item in methods if not decorators(item) & silent]
    for method in methods:
        if ast.get_docstring(method) is None and "override" not in decorators(method):
            yield Finding(path, method.lineno, f"method {node.name}.{method.name} has no docstring")
    if not examples or describes(node) or has_example(node):
        return
    working = [method for method in methods if computes(method)]
    if working and not any(map(has_example, working)):
        yield Finding(path, node.lineno, f"class {node.name} computes, and neither it nor a method has an example")


def findings_of_module(path: Path, examples: bool) -> Iterator[Finding]:
    """Rules 1 and 2 for everything public in one file."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    if ast.get_docstring(module) is None:
        yield Finding(path, 1, "module has no docstring")
    for node in module.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from findings_of_class(path, node, examples)
        elif isinstance(node, Function) and not node.name.startswith("_") and "overload" not in decorators(node):
            if ast.get_docstring(node) is None:
                yield Finding(path, node.lineno, f"function {node.name} has no docstring")
            elif not examples or node.name == "main" or "composite" in decorators(node):
                continue
            elif computes(node) and not has_example(node):
                yield Finding(path, node.lineno, f"function {node.name} computes and has no example that runs")


def findings(folder: Path) -> Iterator[Finding]:
    """All findings in one source folder."""
    for path in sorted(folder.rglob("*.py")):
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > LONGEST:
            yield Finding(path, LONGEST + 1, f"{length} lines; split it, {LONGEST} is the most")
        if path.stem == "utils":
            yield Finding(path, 1, "a module named utils says nothing; name it after what it does")
        names = path.relative_to(folder).with_suffix("").parts
        if all(name == "__init__" or not name.startswith("_") for name in names):
            yield from findings_of_module(path, examples="cases" not in names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; 1 when there are any."""
    given = sys.argv[1:] if arguments is None else arguments
    folders = [Path(text) for text in given] or sorted(ROOT.glob("packages/*/src"))
    found = [finding for folder in folders for finding in findings(folder)]
    for finding in found:
        print(finding)
    print(f"docstrings: {len(found)} findings" if found else "docstrings: every rule kept")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
