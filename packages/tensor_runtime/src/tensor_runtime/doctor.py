"""``python -m tensor_runtime doctor``: what is installed, which backends work, and what they compute with.

It reads no tensor and changes nothing. Exit status 0: tensors can be used; 1: something is broken or in conflict, or
nothing serves ``cpu``; 2 is left for wrong usage and for output that cannot be written.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tensor_core.errors import TensorError
from tensor_runtime.backends.discovery import NOT_LOADED, AnyBackend
from tensor_runtime.backends.plugins.families import Family, families
from tensor_runtime.backends.plugins.lowering import lowered_operations
from tensor_runtime.backends.plugins.rules import LOWER
from tensor_runtime.backends.plugins.table import Offer
from tensor_runtime.backends.registry import Registry, placements_of, registry
from tensor_runtime.backends.rows import KERNEL, RULE, BackendRow
from tensor_runtime.placement import CPU, DeviceKind

_PREFIX: Final = "ironstride"  # of our distributions' names


class Section(NamedTuple):
    """One part of the report: its heading, empty for the first, and its lines as names and values."""

    heading: str
    facts: list[tuple[str, str]]


def main(*, as_json: bool = False) -> int:
    """Print the report, or one JSON object on one line; the result is the exit status."""
    if as_json:
        sections, problems = examine(registry)
        facts = {section.heading or "installed": dict(section.facts) for section in sections}
        print(json.dumps({"usable": not problems, "problems": problems, **facts}))
        return 1 if problems else 0
    lines, healthy = report(registry)
    print("\n".join(lines))
    return 0 if healthy else 1


def report(known: Registry, /) -> tuple[list[str], bool]:
    """Lines of the report, and whether tensors can be used.

    >>> lines, healthy = report(registry)
    >>> lines[0].split()[0], healthy
    ('python', True)
    """
    sections, problems = examine(known)
    lines: list[str] = []
    for heading, facts in sections:
        lines += ["", heading, *(f"  {line}" for line in _columns(facts))] if heading else _columns(facts)
    lines += ["", *(f"problem: {line}" for line in problems)] if problems else ["", "tensors can be used"]
    return lines, not problems


def examine(known: Registry, /) -> tuple[list[Section], list[str]]:
    """What the report says, and what is wrong.

    Loads every backend, and every rule and kernel of others that can be loaded; one that fails is reported and stops
    nothing. Families of operations are listed without being loaded.

    >>> sections, problems = examine(registry)
    >>> sections[-1].heading, problems
    ('families of operations', [])
    """
    python = f"{platform.python_version()} ({platform.python_implementation()}, {sys.platform})"
    sections = [Section("", [("python", python), *sorted(_distributions())])]
    found = [row for row in known.backends() if row.devices not in (KERNEL, RULE)]
    for row in found:
        heading = f"backend {row.name} for {row.devices}, from {row.distribution}"
        sections.append(Section(heading, list(_facts_of(known, row))))
    kernels = [(offer.name, offer.origin) for offer in _tried_kernels(known)]
    sections += [Section("kernels brought by others", kernels)] if kernels else []
    rules = list(_rules(known))
    sections += [Section("rules for operations", rules)] if rules else []
    installed = families()
    sections.append(Section("families of operations", list(map(_family, installed))))
    return sections, _problems(known, installed)


def _problems(known: Registry, installed: Iterable[Family]) -> list[str]:
    """A line for each cause: whose trouble it is, and what is wrong; the last one says why nothing serves ``cpu``."""
    trouble = [(row.status, row.name, row.distribution) for row in known.backends() if row.troubled]
    trouble += [(one.trouble, f"family {one.name}", one.distribution) for one in installed if one.trouble]
    without_cpu = ""
    try:
        known.backend_for(CPU)
    except TensorError as error:
        without_cpu = str(error)
        told = f"no backend is called {DeviceKind.Cpu.short!r}"
        trouble = [one for one in trouble if not one[0].startswith(told) and _cause(one[0]) not in without_cpu]
    concerned: dict[str, list[tuple[str, str]]] = {}
    for what, name, distribution in trouble:
        concerned.setdefault(what, []).append((name, distribution))
    lines = [f"{_those(what, whose)}: {what}" for what, whose in concerned.items()]
    return [*lines, without_cpu] if without_cpu else lines


def _cause(trouble: str) -> str:
    """What is wrong, without the word for it: "libnpu is missing" of "broken: libnpu is missing"."""
    return trouble.partition(": ")[2] or trouble


def _those(trouble: str, whose: list[tuple[str, str]]) -> str:
    """Whose trouble it is; distributions that a conflict names are not named twice."""
    if len(whose) > 1 and all(distribution in trouble for _, distribution in whose):
        return " and ".join(dict.fromkeys(name for name, _ in whose))
    return " and ".join(f"{name} of {distribution}" for name, distribution in whose)


def _facts_of(known: Registry, row: BackendRow) -> Iterator[tuple[str, str]]:
    """Status of a backend, loaded if it can be, then what it says about itself."""
    backend: AnyBackend | None = None
    refusal = ""
    if not row.troubled:
        try:
            backend = known.backend(row.name)
        except TensorError as error:
            refusal = str(error)
    now = next(one for one in known.backends() if (one.name, one.distribution) == (row.name, row.distribution))
    yield "status", refusal if refusal and now.status == NOT_LOADED else now.status
    if backend is None:
        return
    try:
        yield "placements", ", ".join(map(repr, placements_of(backend)))
        yield from backend.describe().items()
        missing = dict.fromkeys(lowered_operations(known.rules, known.kernels, backend), "")
        missing.update(backend.unsupported())
        origins = {one.operation: one.origin for one in known.rules.offers() if one.scope == LOWER}
        for operation, reason in sorted(missing.items()):
            rule = f"the rule lower.{operation} of {origins[operation]} stands in" if operation in origins else ""
            yield f"lacks {operation}", "; ".join(filter(None, (reason, rule)))
    except Exception as failure:  # a plug-in's report may fail in any way
        yield "report", f"failed: {type(failure).__name__}: {failure}"


def _tried_kernels(known: Registry) -> list[Offer]:
    """Every kernel that others bring, after loading each that can be; ``backends()`` then tells of the rest."""
    for offer in known.kernels.offers():
        try:
            known.kernels.binder(known.backend(offer.scope), offer.operation)
        except TensorError:
            pass  # noted in the table of kernels, or in that of backends
    return known.kernels.offers()


def _rules(known: Registry) -> Iterator[tuple[str, str]]:
    """For each kind and origin of rules the operations that they are for."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for offer in known.rules.offers():
        if not (offer.scope and offer.operation):
            continue  # misnamed: a problem
        try:
            known.rules.find(offer.scope, offer.operation)
        except TensorError:
            pass  # noted in the table of rules
        grouped.setdefault((offer.scope, offer.origin), []).append(offer.operation)
    for (kind, origin), operations in sorted(grouped.items()):
        yield kind, f"{', '.join(operations)}, from {origin}"


def _family(one: Family) -> tuple[str, str]:
    return one.name, f"{one.trouble or ', '.join(sorted(one.operations))}, from {one.distribution}"


def _distributions() -> Iterator[tuple[str, str]]:
    """Our installed distributions and their versions."""
    from importlib.metadata import distributions

    seen = set()
    for one in distributions():
        name = (one.metadata["Name"] or "").lower().replace("_", "-")
        if (name == _PREFIX or name.startswith(f"{_PREFIX}-")) and name not in seen:
            seen.add(name)
            yield name, one.version


def _columns(facts: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in facts), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in facts]
