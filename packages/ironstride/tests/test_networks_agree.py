"""Networks contracted along the path in their file agree with opt_einsum on NumPy.

Three generated networks always run. The environment variable IRONSTRIDE_NETWORKS names a folder whose networks run
too, all that hold a `format_string`.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import opt_einsum
import pytest

from ironstride.program.main import main
from ironstride.program.network_file import read_network
from ironstride.program.operands import make_operands

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SMALL = ("matrix_chain", "graphical_model", "language_model")
FOLDER = os.environ.get("IRONSTRIDE_NETWORKS")


def collected() -> Iterator[Any]:
    for name in SMALL:
        yield pytest.param(name, id=name)
    for file in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        if "format_string" in json.loads(file.read_text(encoding="utf-8")):
            yield pytest.param(file, id=file.stem)


def load(source: str | Path) -> dict[str, Any]:
    if isinstance(source, Path):
        document: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
        return document
    spec = importlib.util.spec_from_file_location("small_networks", EXAMPLES / "small_networks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network: dict[str, Any] = getattr(module, source)()
    return network


def choose(paths: dict[str, dict[str, Any]], key: str) -> str:
    """The path of the least stated flops or size."""
    return min(paths, key=lambda name: float(paths[name][key]))


def both(source: str | Path, distribution: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Our result along the path of least flops in the file, and opt_einsum's along the path of least size."""
    document = load(source) | {"operands": {"seed": 5, "distribution": distribution}}
    document.pop("reference", None)
    file, output = folder / "network.json", folder / "out.npy"
    file.write_text(json.dumps(document), encoding="utf-8")
    path = choose(document["paths"], "log10_flops")

    assert main(["contract", str(file), "--path", path, "-o", str(output)]) == 0

    network = read_network(file)
    arrays = [operand.to_numpy() for operand in make_operands(network)]
    oracle = document["paths"][choose(document["paths"], "log2_size")]["path"]
    expected = opt_einsum.contract(network.format_string, *arrays, optimize=[tuple(step) for step in oracle])
    return np.load(output), np.asarray(expected)


@pytest.mark.parametrize("source", list(collected()))
def test_positive_operands_agree_element_by_element(source: str | Path, tmp_path: Path) -> None:
    found, expected = both(source, "uniform", tmp_path)

    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("source", list(collected()))
def test_signed_operands_agree_in_norm(source: str | Path, tmp_path: Path) -> None:
    found, expected = both(source, "signed", tmp_path)

    scale = np.abs(expected).max()
    assert np.linalg.norm((found - expected) / scale) <= 1e-10 * np.linalg.norm(expected / scale)
