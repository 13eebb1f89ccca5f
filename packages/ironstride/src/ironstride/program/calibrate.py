"""The command `calibrate`: measure this machine, and write the rates that `--calibration` takes; or a device."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tqdm import tqdm

import tensor_einsum
import tensor_runtime as tr
from ironstride.program.json_text import json_text
from ironstride.program.output_paths import check_output_path, make_folder
from ironstride.program.units import table
from tensor_core.errors import ArgumentError, UnsupportedOperationError
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum.search.calibration import default_path
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import as_placement
from tensor_runtime.protocols import MeasuringBackend, OnCase


def calibrate(output: Path | None, seconds: float, threads: int | None, as_json: bool = False) -> bool:
    """Measure for about so many seconds, print the rates and write them; the file appears whole or not at all.

    Returns:
        True.

    Raises:
        TensorError: the file cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "machine.json"
    >>> calibrate(file, 0.01, None)  # doctest: +ELLIPSIS
      dtype  GFLOP/s  Melements/s  µs per step
      C32    ...
    saved ...machine.json, digest ...
    True
    """
    file = Path(default_path()) if output is None else output
    check_output_path("-o", file, [".json"])
    with _shown() as show, tr.set_threads(threads) if threads else nullcontext():
        found = tensor_einsum.calibrate(seconds=seconds, on_case=show)
    make_folder("-o", file)
    write_atomically(str(file), [found.to_json().encode()])
    if as_json:
        print(json_text({"saved": str(file), "digest": found.digest, **json.loads(found.to_json())}))
        return True
    rows = [
        (name, f"{rates.flop_rate / 1e9:.1f}", f"{rates.element_rate / 1e6:.0f}", f"{rates.step_seconds * 1e6:.2f}")
        for name, rates in found.cost_model.rates
    ]
    print(table([("dtype", "GFLOP/s", "Melements/s", "µs per step"), *rows], "<>>>"))
    print(f"saved {file}, digest {found.digest}")
    return True


def calibrate_device(place: str, output: Path | None, seconds: float, as_json: bool = False) -> bool:
    """Measure a device for about so many seconds, and write the table that its backend takes.

    Returns:
        True.

    Raises:
        TensorError: no such device, or its backend measures nothing; no file, or one that cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "drivers.json"
    >>> calibrate_device("sim:0", file, 0.01)  # doctest: +ELLIPSIS
    saved ...drivers.json, digest ...
    True
    """
    where = as_placement(place)
    backend = registry.backend_for(where)
    if not isinstance(backend, MeasuringBackend):
        raise UnsupportedOperationError(
            f"--device: {where} measures nothing; accepted: devices whose backend has tables, such as cuda:0",
            operation="calibrate",
        )
    if output is None:
        raise ArgumentError("--device: no file for the table; name one with -o, such as drivers.json")
    check_output_path("-o", output, [".json"])
    with _shown() as show:
        text = backend.calibrate(where, seconds, show, tqdm.write)
    make_folder("-o", output)
    write_atomically(str(output), [text.encode()])
    content = json.loads(text)
    if as_json:
        print(json_text({"saved": str(output), **content}))
    else:
        print(f"saved {output}, digest {content['digest']}")
    return True


@contextmanager
def _shown() -> Iterator[OnCase]:
    """A bar of the cases that are done."""
    with tqdm(unit="case", disable=None, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
