"""Which drivers of decompositions are fastest: the sweep of ``tensor_gpu``, and the table that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import tensor_runtime as tr
from gpu_reporting.subject import Subject, require
from gpu_reporting.verdicts import in_cell
from tensor_core.dtypes import C64, F32, F64
from tensor_core.files.atomic_write import write_atomically
from tensor_gpu.sweep import sweep
from tensor_gpu.tables.drivers import read_drivers
from tensor_runtime.placement import as_placement

FILE: Final = Path(__file__).resolve().parents[2] / "out" / "drivers.json"


def drivers(subject: Subject, /) -> list[str]:
    """Sweep the device as far as the time goes, write the table, and show its rules beside the one in force."""
    sizes = (8, 32, 64, 256, 1024) if subject.gpu else (4, 8)
    counts = (1, 32, 1024) if subject.gpu else (1, 3)
    dtypes = (F32, F64, C64) if subject.gpu else (F64,)
    failures: list[str] = []
    table = sweep(
        subject.place,
        dtypes=dtypes,
        sizes=sizes,
        counts=counts,
        seconds=subject.left(),
        on_failure=failures.append,
    )
    FILE.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(str(FILE), [table.to_json().encode()])
    require(read_drivers(FILE) == table, "the table is read back as it was written")
    backend: Any = tr.backend(subject.place.partition(":")[0])
    used = backend.executor(as_placement(subject.place)).drivers
    rows = [
        f"| {rule.operation} | {', '.join(rule.dtypes)} | {_shown(rule.extents)} | {_shown(rule.counts)} "
        f"| {rule.driver} |"
        for rule in table.rules
    ]
    return [
        f"The fastest accurate drivers, digest {table.digest}, in {FILE.relative_to(FILE.parents[1])}; in force are "
        f"those of digest {used.digest}.",
        "",
        "| operation | dtype | rows and columns | matrices | driver |",
        "|---|---|--:|--:|---|",
        *rows,
        *([] if not failures else ["", *(f"- {in_cell(line)}" for line in failures)]),
        *([] if subject.gpu else ["", "A simulated device says nothing about which is faster."]),
    ]


def _shown(bounds: tuple[int, int | None]) -> str:
    least, most = bounds
    return f"{least} and more" if most is None else f"{least} to {most}"
