"""Pictures of tensors and of spectra: files that are whole, and errors that say what would be drawn."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ironstride as it
from tensor_core.errors import ArgumentError, PlacementError, SaveError
from tensor_einsum import PlotError
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

DRAWN: dict[str, Callable[[Path], None]] = {
    "tensor": lambda file: it.pictures.plot_tensor(it.uniform((4, 5, 3), seed=0), file),
    "spectrum": lambda file: it.pictures.plot_spectrum([3.0, 0.0, 1.0], file, cutoff=0.1),
    "entanglement": lambda file: it.pictures.plot_entanglement([[1.0], it.tensor([0.8, 0.6])], file),
}


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_a_file_of_its_format(name: str, ending: str, tmp_path: Path) -> None:
    DRAWN[name](tmp_path / f"x{ending}")

    begins = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[ending]
    assert (tmp_path / f"x{ending}").read_bytes().startswith(begins)


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_picture_is_the_same_file(name: str, tmp_path: Path) -> None:
    for file in ("a.svg", "b.svg"):
        DRAWN[name](tmp_path / file)

    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "mathdefault" not in text


@pytest.mark.parametrize(
    "x",
    [
        it.tensor(2.0), it.tensor([1, -2]), it.tensor([[True]]), it.tensor([[1j, 2.0]]), it.ones((500, 3)),
        it.tensor([[float("nan"), float("inf")]]), it.zeros((2, 3, 4, 5)), it.ones((3, 2)).T,
    ],
    ids=lambda x: f"{x.dtype}-{x.shape}",
)  # fmt: skip
def test_every_dtype_and_rank_is_drawn(x: it.Tensor, tmp_path: Path) -> None:
    it.pictures.plot_tensor(x, tmp_path / "x.svg", title="<b> & $x$")

    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "&lt;b&gt; &amp; $x$" in text
    left_out = re.findall(r"every 2th row|12 of 20 slices", text)
    assert left_out == {(500, 3): ["every 2th row"], (2, 3, 4, 5): ["12 of 20 slices"]}.get(x.shape, [])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda file: it.pictures.plot_tensor([1.0], file), r"plot_tensor: x is \[1.0\]"),
        (lambda file: it.pictures.plot_tensor(it.zeros((0, 2)), file), r"plot_tensor: x is empty, \(0, 2\)"),
        (lambda file: it.pictures.plot_tensor(it.ones(2), "x.jpg"), "plot_tensor: the file is 'x.jpg'"),
        (lambda file: it.pictures.plot_tensor(it.ones(2), 3), "plot_tensor: the file is 3"),
        (lambda file: it.pictures.plot_tensor(it.ones(2), file, title=3), "title is 3"),
        (lambda file: it.pictures.plot_spectrum([], file), "accepted: finite real numbers"),
        (lambda file: it.pictures.plot_spectrum([1.0, float("nan")], file), "accepted: finite real numbers"),
        (lambda file: it.pictures.plot_spectrum(it.ones((2, 2)), file), "accepted: finite real numbers"),
        (lambda file: it.pictures.plot_spectrum([1.0, -1.0], file), "values have -1.0; accepted: none below 0"),
        (lambda file: it.pictures.plot_spectrum([1.0], file, cutoff="a"), "cutoff is 'a'"),
        (lambda file: it.pictures.plot_entanglement([], file), r"spectra are \[\]"),
        (lambda file: it.pictures.plot_entanglement([[1.0], [1j]], file), "values of cut 1 are"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[Any], None], message: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(tmp_path / "x.svg")

    assert not list(tmp_path.iterdir())


def test_nothing_is_fetched_from_a_device(tmp_path: Path) -> None:
    simulated = SimulatedBackend(it.backend("cpu"), "pictures")
    it.register_backend("pictures", simulated)
    try:
        x = it.to(it.ones((2, 2)), simulated.placement())
        with pytest.raises(PlacementError, match="nothing is moved silently"):
            it.pictures.plot_tensor(x, tmp_path / "x.svg")
    finally:
        registry.unregister("pictures")


def test_a_folder_that_is_missing_is_an_error_of_saving(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="none"):
        it.pictures.plot_spectrum([1.0], tmp_path / "none" / "x.svg")


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib_the_error_names_the_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PlotError, match=r"\[plot\]"):
        DRAWN[name](tmp_path / "x.svg")
