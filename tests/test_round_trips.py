"""Round trips by every format and protocol: one dtype here, all by ``tools/round_trips.py``, whose page is kept."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import round_trips
import tensor_core as tc
from crossings import file_formats, protocols
from crossings.samples import Folder, Sample, samples

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reports" / "round-trips.md"


def test_one_dtype_arrives_by_every_format(tmp_path: Path) -> None:
    some = [one for one in samples((tc.C32,)) if one.layout in ("empty", "offset")]
    found = round_trips.outcomes(file_formats.ways(Folder(tmp_path)), some)

    failed = {(one.way.name, one.sample.layout, one.reason) for one in found if one.reason}
    assert failed == {("MAT 7.3", "empty", "arrives as float32 (2, 0, 3)")}  # what others read, and what they write
    assert len(found) == 16 * 2 * 3


def test_every_dtype_arrives_by_every_protocol_of_numpy() -> None:
    ways = [way for way in protocols.ways() if way.partner == "NumPy"]
    found = round_trips.outcomes(ways, list(samples()))

    assert len(found) == 6 * 35 * 2
    lends = sys.version_info >= (3, 12)
    failed = {(one.way.name, one.direction) for one in found if one.reason}
    assert failed == (set() if lends else {("buffer, host tensor", "out")})


def test_a_change_of_one_bit_is_seen_and_a_refusal_told(tmp_path: Path) -> None:
    numbers = next(way for way in protocols.ways() if way.name == "`asarray`")
    turned = numbers._replace(give=lambda one, x: -numbers.give(one, x))
    found = [one.reason for one in round_trips.outcomes([turned], list(samples((tc.F64,)))) if one.direction == "out"]
    assert found == ["arrives with other elements", "", *["arrives with other elements"] * 3]

    safetensors = next(way for way in file_formats.ways(Folder(tmp_path)) if way.name == "safetensors")
    lines = round_trips.table(round_trips.outcomes([safetensors], list(samples((tc.C64,)))), {"out": "ours"}, False)
    assert "| safetensors | safetensors | 0 of 5 |" in lines
    assert lines[-1].startswith("- safetensors with safetensors (every direction), C64: ")


def test_the_page_has_every_way_and_no_failure_beyond_those_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {
        (name, partner): counts
        for name, partner, *counts in re.findall(r"^\| (.+?) \| (\w+) \| (.+) \|$", text, re.MULTILINE)
    }

    for way in [*file_formats.ways(Folder(PAGE.parent)), *protocols.ways()]:
        assert (way.name, way.partner) in rows
    assert {"PyTorch", "JAX"} <= {partner for _, partner in rows}


@pytest.mark.parametrize("one", list(samples((tc.F32, tc.Bool))), ids=lambda one: f"{one.dtype}-{one.layout}")
def test_a_sample_is_the_tensor_of_its_array(one: Sample) -> None:
    x = one.tensor()

    assert (x.dtype, x.shape, x.to_numpy().tobytes()) == (one.dtype, one.array.shape, one.array.tobytes())
    assert x.strides == tuple(step // one.array.itemsize for step in one.array.strides) or not x.size
