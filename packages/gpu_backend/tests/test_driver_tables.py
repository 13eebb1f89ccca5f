"""Tables of drivers, and their files: rules, digests, what is refused, and for which devices they are in force."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C64, F32, F64
from tensor_core.errors import ArgumentError, FormatError, LoadError, PlacementError
from tensor_gpu.kernels.linalg.drivers import takes
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.tables.drivers import DriverTable, Rule, read_drivers, shipped
from tensor_runtime.placement import as_placement


def test_the_rules_shipped_are_those_of_the_device() -> None:
    everything = lambda driver: True  # noqa: E731
    for capability, expected in (((8, 0), "gesvdj"), ((8, 6), "gesvd"), ((9, 0), "gesvd")):
        assert shipped(capability).driver("svd", F64, 256, 1, everything) == expected
        assert shipped(capability).driver("svd", F64, 257, 1, everything) == "gesvd"
        assert shipped(capability).driver("svd", C64, 256, 1, everything) == "gesvd"
        assert shipped(capability).driver("svd", F64, 64, 100, everything) == "rotations"
        assert shipped(capability).driver("eigh", F64, 300, 100, everything) == "syevd"
        for operation, routine in (("cholesky", "potrf"), ("lu", "getrf")):
            alone = "warps" if capability == (9, 0) else routine
            for extent, count, expected in ((32, 2, "warps"), (33, 2, routine), (32, 1, alone), (33, 1, routine)):
                able = partial(takes, extent, extent, count)
                assert shipped(capability).driver(operation, F64, extent, count, able) == expected
    hopper = shipped((9, 0))
    for operation, dtype, extent, expected in (
        ("svd", F32, 16, "rotations"), ("svd", F32, 17, "gesvd"), ("eigh", F64, 32, "syevjBatched"),
        ("eigh", C64, 16, "syevjBatched"), ("eigh", C64, 17, "syevd"), ("eigh", F64, 33, "syevd"),
        ("qr", C64, 32, "reflectors"), ("qr", C64, 33, "geqrf"),
    ):  # fmt: skip
        assert hopper.driver(operation, dtype, extent, 1, everything) == expected


def test_a_table_is_read_back_as_it_was_and_its_digest_is_of_the_rules_alone(tmp_path: Path) -> None:
    table = DriverTable([Rule("svd", "gesvda", ("F64",), (3, 9), (2, None)), Rule("qr", "geqrf")], "one card")
    file = tmp_path / "drivers.json"
    file.write_text(table.to_json(), encoding="utf-8")

    for copy in (read_drivers(file), read_drivers(str(file)), pickle.loads(pickle.dumps(table))):
        assert (copy, copy.digest, copy.machine, hash(copy)) == (table, table.digest, "one card", hash(table))
    assert DriverTable(table.rules, "elsewhere").digest == table.digest
    assert DriverTable(table.rules[:1]).digest != table.digest
    assert table != 3
    with pytest.raises(AttributeError, match="immutable"):
        table.machine = "another"
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del table.rules


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "tensor_gpu.tables.drivers/9"}, "no text of format"),
        ({"digest": "0" * 16}, "the digest is '0000000000000000', but that of its rules is"),
        ({"rules": [{"operation": "svd", "driver": "qdwh", "dtypes": [], "extents": [0, 1], "counts": [1, 1]}]},
         r"a rule of 'svd' by 'qdwh'; accepted: svd: rotations, gesvd"),
        ({"rules": [{"operation": "qr", "driver": "geqrf", "dtypes": ["F99"], "extents": [0, 1], "counts": [1, 1]}]},
         "F99"),
        ({"rules": [{"operation": "qr", "driver": "geqrf", "dtypes": [], "extents": [0.5, 1], "counts": [1, 1]}]},
         "accepted: an int, and an int or None"),
        ({"rules": [{"operation": "qr", "driver": "geqrf", "dtypes": [], "extents": [0], "counts": [1, 1]}]},
         "accepted: an int, and an int or None"),
        ({"rules": [{"operation": "qr"}]}, "KeyError"),
        ({"rules": 3}, "TypeError"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    text = json.dumps({**json.loads(DriverTable([Rule("qr", "geqrf")]).to_json()), **changes})
    file = tmp_path / "drivers.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(FormatError, match=message):
        read_drivers(file)


def test_types_of_a_rule_may_have_any_of_their_names() -> None:
    named = DriverTable([Rule("svd", "gesvdj", ("float64", "F32"))])
    assert named.driver("svd", F64, 5, 1, lambda driver: True) == "gesvdj"
    assert named == DriverTable([Rule("svd", "gesvdj", ("F64", "F32"))])
    assert named.digest == DriverTable([Rule("svd", "gesvdj", ("F64", "F32"))]).digest


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule("svd", "gesvdj", (), (9, 2)), r"extents are \(9, 2\); accepted: an int, and an int or None"),
        (Rule("svd", "gesvdj", (), (-5, -1)), r"extents are \(-5, -1\)"),
        (Rule("svd", "gesvdj", (), (0, None), (3, 1)), r"counts are \(3, 1\)"),
        (Rule("svd", "gesvdj", (), 7), "extents are 7"),  # type: ignore[arg-type]
        (Rule("svd", "gesvdj", "F64"), "dtypes are 'F64'; accepted: a tuple of names"),  # type: ignore[arg-type]
        (Rule(["svd"], "gesvdj"), r"a rule of \['svd'\]"),  # type: ignore[arg-type]
        (("qr", "geqrf"), r"found \('qr', 'geqrf'\) among the rules; accepted: instances of Rule"),
    ],
)
def test_what_is_no_rule_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        DriverTable([rule])


def test_files_that_cannot_be_read_and_texts_of_other_kinds_are_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no text of format 'tensor_gpu\.tables\.drivers/1'; found 'list'"):
        DriverTable.from_json("[]")
    with pytest.raises(FormatError, match="not a table: JSONDecodeError"):
        DriverTable.from_json(b"{")
    with pytest.raises(LoadError, match=r"`python -m tensor_gpu\.sweep` writes one"):
        read_drivers(tmp_path / "missing.json")
    large = tmp_path / "large.json"
    large.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(FormatError, match="has more than 1,048,576 bytes"):
        read_drivers(large)
    with pytest.raises(ArgumentError, match="drivers: path is 3"):
        read_drivers(3)  # type: ignore[arg-type]


def test_tables_are_of_one_device_or_of_all_and_the_former_ones_come_back(driven: SimulatedApi, tmp_path: Path) -> None:
    backend: Any = tr.backend("driven")
    file, one = tmp_path / "drivers.json", DriverTable([Rule("qr", "geqrf")])
    file.write_text(one.to_json(), encoding="utf-8")
    usual = shipped((9, 0)).digest

    def digests() -> list[str]:
        return [fact.rpartition(" ")[2] for fact in backend.describe().values()]

    assert digests() == [usual, usual]
    with backend.use_drivers(file, "driven:1"):
        assert digests() == [usual, one.digest]
        with backend.use_drivers(None):
            assert digests() == [usual, usual]
        assert digests() == [usual, one.digest]
    assert digests() == [usual, usual]
    backend.use_drivers(one)
    assert digests() == [one.digest, one.digest]


@pytest.mark.parametrize("place", ["cpu", "driven:77"])
def test_tables_are_not_taken_for_devices_of_others(driven: SimulatedApi, place: str) -> None:
    backend: Any = tr.backend("driven")
    before = backend.describe()
    with pytest.raises(PlacementError, match=rf"use_drivers: placement is {place}; accepted: driven:0, driven:1"):
        backend.use_drivers(DriverTable([Rule("qr", "geqrf")]), place)
    assert backend.describe() == before


def test_what_comes_back_is_the_table_of_the_device_alone(driven: SimulatedApi) -> None:
    backend: Any = tr.backend("driven")
    one, other = DriverTable([Rule("qr", "geqrf")]), DriverTable([Rule("qr", "reflectors")])

    def rules(device: int) -> DriverTable:
        found: DriverTable = backend.executor(as_placement(f"driven:{device}")).drivers
        return found

    with backend.use_drivers(one, "driven:0"):
        backend.use_drivers(other, "driven:1")  # to last
        assert (rules(0), rules(1)) == (one, other)
    assert (rules(0), rules(1)) == (shipped((9, 0)), other)
