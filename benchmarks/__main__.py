"""``python -m benchmarks NAME``: one benchmark; without a name, all of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import as_line, machine
from benchmarks.rows import BEFORE, CONTENDERS, Target

NO_SLOWER: Final = 1.05
"""The most that a row may take of its time before."""
SECONDS: Final = 10.0
"""Of a row at one number of threads, where its table says nothing else."""
IN_PROCESSES: Final = {
    "calls": "the fixed cost of calls with tiny operands, beside NumPy",
    "permute": "permuted copies, beside NumPy, PyTorch and JAX",
    "elementwise": "expressions, sums and a max-plus product, beside NumPy, numexpr, PyTorch and JAX",
    "everyday": "what every user types, small and large, beside NumPy, numexpr, PyTorch and JAX",
    "products": "stacks of small products, beside NumPy, PyTorch and JAX",
    "reduction": "sums, means, spreads and norms along every axis, beside NumPy, PyTorch and JAX",
    "linalg": "batches of small matrices, beside NumPy, SciPy, PyTorch and JAX",
    "einsum": "whole networks, beside opt_einsum, cotengra, PyTorch and JAX",
    "drawn": "networks drawn by seed, beside the same",
    "own_paths": "networks along the paths that each finds by itself in ten seconds, beside the same",
}
"""Benchmarks of rows that run in one process per contender."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; a slow result is no failure."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        return max(main([name]) for name in _RUNS)
    options = _parser().parse_args(given)
    if options.name == "picture":
        from benchmarks import picture

        picture.draw(options.files, options.output)
        return 0
    if options.name == "summary":
        from benchmarks import summary

        summary.show(options.files)
        return 0
    facts = machine()
    print(f"{options.name}: {as_line(facts)}\n", flush=True)
    numbers = _RUNS[options.name](options)
    if options.json is not None and numbers is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        document = {"benchmark": options.name, "machine": facts, **numbers}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    for name, text in IN_PROCESSES.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--threads", type=int, nargs="+", default=[1, 2])
        command.add_argument("--seconds", type=float, help="budget per row and number of threads; 10, of linalg 1")
        command.add_argument("--only", default="", help="rows whose name contains each of these words")
        command.add_argument("--folder", type=Path, default=None, help="default: the environment's IRONSTRIDE_NETWORKS")
        command.add_argument(
            "--contenders",
            nargs="+",
            default=[],
            choices=[name for name in CONTENDERS if name != BEFORE],
            help="default: all",
        )
        command.add_argument("--before", help="the Python of another checkout's environment, to compare ours with")
    for name, text, rounds in (
        ("overhead", "the fixed cost of a call, beside NumPy and PyTorch", 41),
        ("stages", "where the time of one call goes", 41),
        ("imports", "what importing a package costs", 15),
        ("first", "plans and first calls of networks, beside opt_einsum", 15),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--rounds", type=int, default=rounds)
    command = commands.add_parser("sweeps", help="sweeps of DMRG and TEBD, beside NumPy with expressions of opt_einsum")
    command.add_argument("--rounds", type=int, default=21)
    command.add_argument("--only", default="", help="sweeps whose name contains this")
    command = commands.add_parser("environments", help="all derivatives of a network, beside JAX's gradient")
    command.add_argument("--rounds", type=int, default=15)
    command.add_argument("--only", default="", help="networks whose name contains this")
    command.add_argument("--without-jax", action="store_true", help="ours alone; JAX compiles for a while")
    command = commands.add_parser("planner", help="searches for contraction orders, beside cotengra and opt_einsum")
    command.add_argument("--seconds", type=float, nargs="+", default=[1.0, 5.0], help="how long each search takes")
    command.add_argument("--limits", type=int, nargs="*", default=[], help="memory limits in bytes, besides none")
    command.add_argument("--seed", type=int, default=0, help="of the networks that are drawn")
    command.add_argument("--only", default="", help="networks whose name contains this")
    command.add_argument("--folder", type=Path, default=None, help="default: the environment's IRONSTRIDE_NETWORKS")
    command = commands.add_parser(
        "fresh", help="memory and first calls of networks in fresh processes, beside opt_einsum"
    )
    command.add_argument("--only", default="", help="networks whose name contains this")
    command.add_argument("--folder", type=Path, default=None, help="default: the environment's IRONSTRIDE_NETWORKS")
    command = commands.add_parser("steps", help="where the time of networks goes, step by step, beside their limits")
    command.add_argument("--threads", type=int, nargs="+", default=[1])
    command.add_argument("--seconds", type=float, default=5.0, help="about how long each network runs")
    command.add_argument("--only", default="", help="networks whose name contains this")
    command.add_argument("--top", type=int, default=20, help="how many steps are shown, those first that lose most")
    command.add_argument("--drawn", action="store_true", help="networks that nothing was tuned on, too")
    command.add_argument("--folder", type=Path, default=None, help="default: the environment's IRONSTRIDE_NETWORKS")
    command = commands.add_parser("kernels", help="how well kernels of products are chosen, on products drawn by seed")
    command.add_argument("--seconds", type=float, default=20.0, help="how long products are drawn and tried")
    command.add_argument("--seed", type=int, default=0, help="of the products that are drawn")
    command.add_argument("--top", type=int, default=20, help="how many products are shown, those first that lose most")
    command = commands.add_parser("sliced", help="a network too large for memory, under a limit, killed and resumed")
    command.add_argument("--nodes", type=int, default=244, help="of a random 3-regular graph")
    command.add_argument("--seed", type=int, default=1, help="of that graph")
    command.add_argument("--limit", default="1GiB", help="for intermediates, workspaces and result")
    command.add_argument("--search", type=float, default=10.0, help="seconds for each search of an order")
    command.add_argument("--interval", type=float, default=2.0, help="seconds between two savings")
    for command in list(commands.choices.values()):
        command.add_argument("--json", type=Path, default=None, help="keep every number in this file")
    command = commands.add_parser("picture", help="draw the ratios of files that --json wrote")
    command.add_argument("files", type=Path, nargs="+")
    command.add_argument("-o", "--output", type=Path, required=True, help="an SVG, PDF or PNG file")
    command = commands.add_parser("summary", help="short tables of files that --json wrote")
    command.add_argument("files", type=Path, nargs="+")
    return parser


def _in_processes(options: argparse.Namespace) -> dict[str, Any]:
    from importlib import import_module

    from benchmarks import measuring, report

    table = import_module(f"benchmarks.{options.name}")
    folder = options.folder or os.environ.get("IRONSTRIDE_NETWORKS")
    words = options.only.split()
    chosen = [row for row in table.rows(Path(folder) if folder else None) if all(word in row.name for word in words)]
    seconds = options.seconds or getattr(table, "SECONDS", SECONDS)
    reference = getattr(table, "REFERENCE", "numpy")
    contenders = [*(options.contenders or table.CONTENDERS)]
    interpreters = {}
    if options.before:
        interpreters[BEFORE] = options.before
        contenders.insert(1, BEFORE)
        kept = Target(BEFORE, dict.fromkeys(options.threads, NO_SLOWER))
        chosen = [row._replace(targets=(*row.targets, kept)) for row in chosen]
    outcomes = []
    for outcome in measuring.measure(chosen, contenders, options.threads, seconds, reference, interpreters):
        print(report.progress(outcome), file=sys.stderr, flush=True)
        outcomes.append(outcome)
    groups = getattr(table, "GROUPS", ())
    print(report.as_markdown(outcomes, groups))
    return report.as_json(outcomes, groups)


def _overhead(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import overhead, report

    outcomes = list(overhead.measure(options.rounds))
    misses = overhead.miss_costs()
    print(report.as_markdown(outcomes) + "\n\n" + overhead.misses_as_markdown(misses))
    return {**report.as_json(outcomes), "miss_ns": misses}


def _stages(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import stages

    results = list(stages.measure(options.rounds))
    print(stages.as_markdown(results))
    return {"stages": [result._asdict() for result in results]}


def _imports(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import imports

    results = imports.measure(options.rounds)
    print(imports.as_markdown(results))
    return imports.as_json(results)


def _first(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import first_calls

    rows = list(first_calls.measure(options.rounds))
    print(first_calls.as_markdown(rows))
    return {"rows": [{**row._asdict(), "ratio": row.ratio._asdict()} for row in rows]}


def _sweeps(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import report, sweeps
    from benchmarks.measuring import THREAD_VARIABLES

    one = dict.fromkeys(THREAD_VARIABLES, "1")
    if not one.items() <= os.environ.items():  # NumPy's BLAS reads them when it is loaded
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]], {**os.environ, **one})
    outcomes = []
    for outcome in sweeps.measure(options.rounds, options.only):
        print(report.progress(outcome), file=sys.stderr, flush=True)
        outcomes.append(outcome)
    print(report.as_markdown(outcomes))
    return report.as_json(outcomes)


def _environments(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import environments

    results = []
    for result in environments.run(options.rounds, options.only, not options.without_jax):
        print(environments.as_markdown([result]).splitlines()[-1], file=sys.stderr, flush=True)
        results.append(result)
    print(environments.as_markdown(results))
    return {"environments": [result._asdict() for result in results]}


def _planner(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import planner

    folder = options.folder or os.environ.get("IRONSTRIDE_NETWORKS")
    limits = [None, *options.limits]
    results = []
    for one in planner.run(options.seconds, limits, options.seed, Path(folder) if folder else None, options.only):
        print(one, file=sys.stderr, flush=True)
        results.append(one)
    print(planner.as_markdown(results))
    return {"seed": options.seed, "results": [one._asdict() for one in results]}


def _fresh(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import fresh

    folder = options.folder or os.environ.get("IRONSTRIDE_NETWORKS")
    costs = list(fresh.run(Path(folder) if folder else None, options.only))
    print(fresh.as_markdown(costs))
    return {"costs": [cost._asdict() for cost in costs]}


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import steps

    folder = options.folder or os.environ.get("IRONSTRIDE_NETWORKS")
    profiles = []
    found = Path(folder) if folder else None
    for one in steps.measure(found, options.only, options.threads, options.seconds, with_drawn=options.drawn):
        print(steps.as_markdown(one, options.top) + "\n", flush=True)
        profiles.append({**one._asdict(), "steps": [step._asdict() for step in one.steps]})
    return {"profiles": profiles}


def _sliced(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import sliced

    return sliced.run(options.nodes, options.seed, options.limit, options.search, options.interval)


def _kernels(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import kernels

    trials = list(kernels.measure(options.seconds, options.seed))
    print(kernels.as_markdown(trials, options.top))
    return {"products": [trial._asdict() for trial in trials]}


_RUNS: Final[dict[str, Callable[[argparse.Namespace], dict[str, Any] | None]]] = {
    "overhead": _overhead,
    "stages": _stages,
    "imports": _imports,
    "first": _first,
    "planner": _planner,
    "environments": _environments,
    "sweeps": _sweeps,
    "fresh": _fresh,
    "steps": _steps,
    "kernels": _kernels,
    "sliced": _sliced,
    **dict.fromkeys(IN_PROCESSES, _in_processes),
}

if __name__ == "__main__":
    sys.exit(main())
