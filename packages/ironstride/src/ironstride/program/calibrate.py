"""The command `calibrate`: measure this machine, and write the rates that `--calibration` takes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from tqdm import tqdm

import tensor_einsum
import tensor_runtime as tr
from ironstride.program.output_paths import check_output_path, make_folder
from ironstride.program.units import table
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum.search.calibration import default_path


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
    with tqdm(unit="case", disable=None, leave=False) as bar, tr.set_threads(threads) if threads else nullcontext():

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        found = tensor_einsum.calibrate(seconds=seconds, on_case=show)
    make_folder("-o", file)
    write_atomically(str(file), [found.to_json().encode()])
    if as_json:
        print(json.dumps({"saved": str(file), "digest": found.digest, **json.loads(found.to_json())}))
        return True
    rows = [
        (name, f"{rates.flop_rate / 1e9:.1f}", f"{rates.element_rate / 1e6:.0f}", f"{rates.step_seconds * 1e6:.2f}")
        for name, rates in found.cost_model.rates
    ]
    print(table([("dtype", "GFLOP/s", "Melements/s", "µs per step"), *rows], "<>>>"))
    print(f"saved {file}, digest {found.digest}")
    return True
