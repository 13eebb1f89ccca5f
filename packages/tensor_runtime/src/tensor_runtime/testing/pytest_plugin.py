"""The conformance suite as one line, and what it found in numbers: a plugin of pytest (extra ``testing``).

```
python -m pytest -p tensor_runtime.testing.pytest_plugin --conformance mine
```

runs the whole suite at the placement ``mine``, the cases of all installed families included, and ends with

```
conformance of mine:0: 6,012 passed, 1,103 unsupported
  1,097  no such unit: exp, log and 3 more
```

With ``REQUIRE_GPU=1`` in the environment, a placement that is not on a GPU is refused: where one has to be there, a
simulated device is no answer.

Suites that subclass :class:`tensor_runtime.testing.conformance.BackendConformance` themselves are counted likewise
where the plugin is loaded. A test is unsupported where the backend refused an operation for a reason that its
``unsupported()`` gives.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

PLACE: Final = "conformance"
LACKING: Final = "unsupported"
"""Properties of a test's report: where it computed, and (operation, reason) where the backend lacks that operation."""

REQUIRED: Final = "REQUIRE_GPU"
"""Variable of the environment: with 1, a missing GPU is a failure."""

_SUITE: Final = Path(__file__).with_name("conformance.py")
_NAMED: Final = 3  # operations that a reason names one by one


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--conformance``."""
    parser.addoption(
        "--conformance",
        metavar="PLACEMENT",
        help="run the conformance suite of tensor_runtime there: cpu, cuda:1, mine",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest collect the suite where no file is named, if the backend has what the suite itself needs.

    Raises:
        UsageError: nobody serves the placement, its backend lacks kernels that the suite needs, or it is no GPU where
            one is required.

    >>> from types import SimpleNamespace
    >>> config = SimpleNamespace(getoption=lambda name, default: "cpu", args_source=None, args=["tests"])
    >>> pytest_configure(config)
    >>> Path(*config.args).name
    'conformance.py'
    """
    name = config.getoption("--conformance", None)
    if name is None:
        return
    from tensor_core.errors import TensorError
    from tensor_runtime.backends.registry import registry
    from tensor_runtime.placement import as_placement
    from tensor_runtime.testing import REQUIRED_KERNELS

    try:
        placement = as_placement(name)
        backend = registry.backend_for(placement)
        missing = sorted(REQUIRED_KERNELS - backend.operations())
    except TensorError as error:
        raise pytest.UsageError(f"--conformance {name}: {error}") from error
    if os.environ.get(REQUIRED) == "1" and (placement.device is None or placement.device.kind.family != "gpu"):
        raise pytest.UsageError(f"--conformance {name}: {REQUIRED}=1 is set, and it is no GPU; unset it, or name one")
    if missing:
        raise pytest.UsageError(
            f"--conformance {name}: the suite itself needs {', '.join(missing)}, which {backend.name} has not"
        )
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(_SUITE)]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Where the suite computes, and the kernels that no backend may lack.

    >>> from types import SimpleNamespace
    >>> pytest_report_header(SimpleNamespace(getoption=lambda name, default: "cpu"))[0][:52]
    'conformance of cpu; needed by the suite itself: broa'
    """
    name = config.getoption("--conformance", None)
    if name is None:
        return []
    from tensor_runtime.testing import REQUIRED_KERNELS

    return [f"conformance of {name}; needed by the suite itself: {', '.join(sorted(REQUIRED_KERNELS))}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each placement, and one for each reason why something is unsupported there.

    >>> from types import SimpleNamespace
    >>> report = pytest.TestReport("t", ("t", 0, "t"), {}, "passed", None, "call", user_properties=[(PLACE, "mine:0")])
    >>> pytest_terminal_summary(SimpleNamespace(stats={"passed": [report]}, write_line=print))
    conformance of mine:0: 1 passed
    """
    reports = [
        report
        for outcome in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(outcome, ())
        if isinstance(report, pytest.TestReport) and (report.when == "call" or report.failed)
    ]
    for line in lines_of(reports):
        terminalreporter.write_line(line)


def lines_of(reports: Iterable[pytest.TestReport], /) -> list[str]:
    """What is said of tests that have run.

    >>> def ran(outcome, *lacking):
    ...     properties = [(PLACE, "mine:0"), *((LACKING, (name, "no such unit")) for name in lacking)]
    ...     return pytest.TestReport("t", ("t", 0, "t"), {}, outcome, None, "call", user_properties=properties)
    >>> for line in lines_of([ran("passed"), ran("passed", "exp"), ran("passed", "log", "exp"), ran("failed")]):
    ...     print(line)
    conformance of mine:0: 1 passed, 1 failed, 2 unsupported
      2  no such unit: exp, log
    """
    outcomes: dict[str, Counter[str]] = {}
    lacking: dict[str, dict[str, list[set[str]]]] = {}  # of each place and reason, the operations of each test
    for report in reports:
        places = [str(value) for key, value in report.user_properties if key == PLACE]
        if not places:
            continue
        by_reason: dict[str, set[str]] = {}
        for value in (value for key, value in report.user_properties if key == LACKING):
            operation, reason = map(str, value if isinstance(value, list | tuple) else ("?", value))
            by_reason.setdefault(reason, set()).add(operation)
        for reason, operations in by_reason.items():
            lacking.setdefault(places[0], {}).setdefault(reason, []).append(operations)
        outcome = "failed" if report.failed else "unsupported" if by_reason else "passed"
        outcomes.setdefault(places[0], Counter())[outcome] += 1
    lines = []
    for place, found in outcomes.items():
        order = [one for one in ("passed", "failed", "unsupported") if found[one] or one == "passed"]
        lines.append(f"conformance of {place}: " + ", ".join(f"{found[one]:,} {one}" for one in order))
        for reason, tests in lacking.get(place, {}).items():
            lines.append(f"  {len(tests):,}  {reason}: {_some_of(sorted(set().union(*tests)))}")
    return lines


def _some_of(names: list[str]) -> str:
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
