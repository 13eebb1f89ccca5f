"""``python -m benchmarks NAME``: overhead, stages, imports or networks; without a name, all four."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import as_line, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; a slow result is no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    overhead = commands.add_parser("overhead", help="the fixed cost of a call, beside NumPy and PyTorch")
    overhead.add_argument("--rounds", type=int, default=41)
    stages = commands.add_parser("stages", help="where the time of one call goes")
    stages.add_argument("--rounds", type=int, default=41)
    imports = commands.add_parser("imports", help="what importing a package costs")
    imports.add_argument("--rounds", type=int, default=15)
    networks = commands.add_parser("networks", help="whole networks, beside opt_einsum on NumPy and PyTorch")
    networks.add_argument("--folder", type=Path, default=None, help="default: the environment's IRONSTRIDE_NETWORKS")
    networks.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    networks.add_argument("--seconds", type=float, default=20.0, help="budget per contender, network and thread count")
    networks.add_argument("--only", default="", help="networks whose name contains this")
    networks.add_argument("--path", default="opt_flops", help="the path of the file that all contenders follow")
    for command in (overhead, stages, imports, networks):
        command.add_argument("--json", type=Path, default=None, help="keep every number in this file")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        return max(main([name]) for name in _RUNS)
    options = parser.parse_args(given)
    facts = machine()
    print(f"{options.name}: {as_line(facts)}\n", flush=True)
    numbers = _RUNS[options.name](options)
    if options.json is not None and numbers is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"machine": facts, **numbers}, indent=1) + "\n", encoding="utf-8")
    print(flush=True)
    return 0


def _overhead(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import overhead

    results = list(overhead.measure(options.rounds))
    misses = overhead.miss_costs()
    print(overhead.as_markdown(results, misses))
    return overhead.as_json(results, misses)


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


def _networks(options: argparse.Namespace) -> dict[str, Any] | None:
    from benchmarks import networks

    folder = options.folder or os.environ.get("IRONSTRIDE_NETWORKS")
    if not folder:
        print(
            "networks: left out; set IRONSTRIDE_NETWORKS or give --folder, a folder of network files", file=sys.stderr
        )
        return None
    files = [file for file in sorted(Path(folder).glob("*.json")) if options.only in file.stem]
    results = list(networks.measure(files, options.threads, options.seconds, options.path))
    print("\n" + networks.as_markdown(results))
    return {"networks": [result.as_json() for result in results]}


_RUNS = {"overhead": _overhead, "stages": _stages, "imports": _imports, "networks": _networks}

if __name__ == "__main__":
    sys.exit(main())
