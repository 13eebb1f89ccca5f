"""One contender in a process of its own: loads a network, runs it when told, and says how long it took.

NumPy's and PyTorch's thread pools spin against each other in one process, so every contender gets its own, and the
parent lets only one of them run at a time. Lines of JSON come in on stdin and go out on stdout.

Every contender gets the same bytes: the operands drawn for the row-major shapes of the file. NumPy and PyTorch read
them with ``format_string``, which is native to them; we read them with ``format_string_colmajor``, which describes the
same memory to column-major readers.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

Run = Callable[[], Any]


def ironstride(document: dict[str, Any], arrays: list[Any], path: list[tuple[int, ...]]) -> tuple[Run, Run]:
    """Our plan, made once; the second callable gives the result in the axes of ``format_string``."""
    import tensor_runtime as tr
    from tensor_einsum import plan

    tensors = [tr.asarray(array.T) for array in arrays]  # the same memory
    prepared = plan(document["format_string_colmajor"], *tensors, optimize=path)
    return lambda: prepared(*tensors), lambda: prepared(*tensors).to_numpy().T


def numpy(document: dict[str, Any], arrays: list[Any], path: list[tuple[int, ...]]) -> tuple[Run, Run]:
    """opt_einsum's prepared expression on NumPy."""
    import opt_einsum

    expression = opt_einsum.contract_expression(
        document["format_string"], *[array.shape for array in arrays], optimize=path
    )
    return lambda: expression(*arrays), lambda: expression(*arrays)


def torch(document: dict[str, Any], arrays: list[Any], path: list[tuple[int, ...]]) -> tuple[Run, Run]:
    """opt_einsum's prepared expression on PyTorch, without gradients."""
    import opt_einsum

    torch = import_module("torch")
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    tensors = [torch.from_numpy(array) for array in arrays]
    expression = opt_einsum.contract_expression(
        document["format_string"], *[array.shape for array in arrays], optimize=path
    )

    def run() -> Any:
        with torch.inference_mode():
            return expression(*tensors, backend="torch")

    return run, lambda: run().numpy()


CONTENDERS = {"ours": ironstride, "numpy": numpy, "torch": torch}


def operands(document: dict[str, Any], distribution: str) -> list[Any]:
    """Row-major arrays, the same in every process: uniform on (0, 1), or signed, on (-1, 1)."""
    generator = np.random.default_rng(0)
    arrays = [np.asarray(generator.random(shape, dtype=np.float64)) for shape in document["shapes"]]
    return [2 * array - 1 for array in arrays] if distribution == "signed" else arrays


def serve(contender: str) -> None:
    """Answer requests until stdin ends."""
    run: Run = int
    result: Run = int
    for line in sys.stdin:
        request = json.loads(line)
        try:
            match request["do"]:
                case "load":
                    document = json.loads(Path(request["file"]).read_text(encoding="utf-8"))
                    arrays = operands(document, request["distribution"])
                    path = [tuple(step) for step in document["paths"][request["path"]]["path"]]
                    run, result = CONTENDERS[contender](document, arrays, path)
                    answer: dict[str, Any] = {}
                case "run":
                    answer = {"seconds": _seconds(run, request["times"])}
                case _:
                    np.save(request["to"], np.asarray(result()))
                    answer = {}
        except Exception as error:  # the parent prints it in the row of this contender
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def _seconds(run: Run, times: int) -> float:
    gc.disable()
    start = perf_counter()
    for _ in range(times):
        run()
    elapsed = perf_counter() - start
    gc.enable()
    gc.collect()
    return elapsed / times


if __name__ == "__main__":
    serve(sys.argv[1])
