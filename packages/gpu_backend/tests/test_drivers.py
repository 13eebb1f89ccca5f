"""Which driver decomposes which matrices: tables and their files, what each driver gives, and the sweep."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from tensor_core.dtypes import C64, F32, F64
from tensor_core.errors import ArgumentError, FormatError, LoadError, PlacementError, UnsupportedOperationError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.kernels.linalg.drivers import takes
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Faults, Limits
from tensor_gpu.sweep import main, matrices, sweep
from tensor_gpu.tables.drivers import DRIVERS, DriverTable, Rule, read_drivers, shipped
from tensor_runtime.backends.registry import registry
from tensor_runtime.errors import NotConvergedError
from tensor_runtime.placement import DeviceKind, as_placement

Array = np.ndarray[Any, Any]
ONE_OF_EACH = [(operation, driver) for operation, drivers in DRIVERS.items() for driver in drivers]


@pytest.fixture
def api() -> Iterator[SimulatedApi]:
    """Devices ``driven:0`` and ``driven:1``."""
    found = SimulatedApi(devices=2, memory_bytes=1 << 24)
    tr.register_backend("driven", DeviceBackend(found, DeviceKind.other("driven")))
    yield found
    registry.unregister("driven")


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Device ``drivenfake:0``, on what stands for CuPy."""
    found = Machine()
    tr.register_backend(
        "drivenfake", CudaBackend(CupyApi(modules(found)), DeviceKind.other("drivenfake"), device_type=97)
    )
    yield found
    registry.unregister("drivenfake")


def first(x: Any) -> Array:
    found = tr.to(x, "cpu").to_numpy()
    return np.moveaxis(found, -1, 0).astype(np.result_type(found, np.float64))


def decomposed(operation: str, x: tr.Tensor) -> tuple[Array, list[Array]]:
    """The product of what a decomposition gives, and what has orthonormal columns."""
    if operation == "svd":
        u, s, vh = map(first, tl.svd(x))
        assert (np.diff(s) <= 0).all()
        return (u * s[:, None, :]) @ vh, [u, vh.conj().swapaxes(1, 2)]
    if operation == "eigh":
        w, v = map(first, tl.eigh(x))
        return (v * w[:, None, :]) @ v.conj().swapaxes(1, 2), [v]
    if operation == "cholesky":
        lower = first(tl.cholesky(x))
        return lower @ lower.conj().swapaxes(1, 2), []
    if operation == "lu":
        factors, order = map(first, tl.lu_factor(x))
        steps = min(factors.shape[1:])
        lower, upper = np.tril(factors[:, :, :steps], -1) + np.eye(factors.shape[1], steps), np.triu(factors[:, :steps])
        return np.take_along_axis(lower @ upper, np.argsort(order, axis=1)[:, :, None], 1), []
    q, r = map(first, tl.qr(x))
    return q @ r, [q]


@pytest.mark.parametrize("place", ["driven:1", "drivenfake:0"])
@pytest.mark.parametrize("shape", [(7, 7, 4), (9, 4, 3), (4, 9, 3), (6, 6, 1)])
@pytest.mark.parametrize(("operation", "driver"), ONE_OF_EACH)
@pytest.mark.parametrize("dtype", [F32, C64])
def test_every_driver_decomposes(
    operation: str,
    driver: str,
    shape: tuple[int, int, int],
    dtype: Any,
    place: str,
    api: SimulatedApi,
    machine: Machine,
) -> None:
    rows, columns, count = shape
    if operation in ("eigh", "cholesky"):
        columns = rows
    given = matrices(operation, dtype, max(rows, columns), count + 1)[:rows, :columns, 1:]  # none of zeros
    x = tr.to(tr.asarray(np.asfortranarray(given)), place)

    with tr.backend(place.partition(":")[0]).use_drivers(DriverTable([Rule(operation, driver)])):  # type: ignore[attr-defined]
        assert tr.backend(place.partition(":")[0]).executor(x.placement).drivers.rules[0].driver == driver  # type: ignore[attr-defined]
        again, bases = decomposed(operation, x)

    most = 100 * float(np.finfo(dtype.numpy_name).eps)
    assert np.abs(again - first(x)).max() <= most * np.abs(given).max()
    for one in bases:
        assert np.abs(one.conj().swapaxes(1, 2) @ one - np.eye(one.shape[2])).max() <= most


def routines(machine: Machine) -> list[str]:
    names = (
        *("gesvd", "gesvdj", "gesvdjBatched", "gesvdaStridedBatched", "syevd", "syevj", "syevjBatched", "geqrf"),
        *("potrf", "potrfBatched", "getrf", "getrfBatched", "getrs", "getrsBatched"),
    )
    return [name[1:] for name, _ in machine.noted(*(f"d{one}" for one in names))]


def test_a_table_names_the_routine_that_is_called(machine: Machine) -> None:
    backend: Any = tr.backend("drivenfake")
    stack, definite = (
        tr.to(tr.asarray(np.asfortranarray(matrices(kind, F64, 4, 5))), "drivenfake:0") for kind in ("eigh", "cholesky")
    )
    for operation, driver, called in (
        ("svd", "gesvd", ["gesvd"] * 5),
        ("svd", "gesvdj", ["gesvdj"] * 5),
        ("svd", "gesvdjBatched", ["gesvdjBatched"]),
        ("svd", "gesvda", ["gesvdaStridedBatched"]),
        ("svd", "rotations", []),
        ("eigh", "syevd", ["syevd"] * 5),
        ("eigh", "syevj", ["syevj"] * 5),
        ("eigh", "syevjBatched", ["syevjBatched"]),
        ("qr", "reflectors", []),
        ("qr", "geqrf", ["geqrf"] * 5),
        ("cholesky", "warps", []),
        ("cholesky", "potrf", ["potrfBatched"]),
        ("lu", "warps", []),
        ("lu", "getrf", ["getrfBatched", "getrsBatched"]),
    ):
        given = definite if operation == "cholesky" else stack
        machine.calls.clear()
        with backend.use_drivers(DriverTable([Rule(operation, driver)])):
            tl.inv(definite) if operation == "lu" else getattr(tl, operation)(given)
        assert routines(machine) == called, driver


def test_what_a_user_asks_for_is_asked_of_no_table(machine: Machine) -> None:
    backend: Any = tr.backend("drivenfake")
    stack = tr.to(tr.asarray(np.asfortranarray(matrices("svd", F64, 4, 2))), "drivenfake:0")
    with backend.use_drivers(DriverTable([Rule("svd", "gesvdjBatched")])):
        machine.calls.clear()
        tl.svd(stack, driver="gesvd")
        tl.svd(stack, driver="jacobi")
        tl.svd(stack[:, :, 0], driver="jacobi")
        assert routines(machine) == ["gesvd", "gesvd", "gesvdj"]
        with pytest.raises(UnsupportedOperationError, match=r"svd\.gesdd: libraries of devices do not divide"):
            tl.svd(stack, driver="gesdd")


def test_drivers_of_eigh_that_a_user_asks_for_are_called(machine: Machine) -> None:
    given = matrices("eigh", F64, 4, 3)
    stack = tr.to(tr.asarray(np.asfortranarray(given)), "drivenfake:0")
    wanted = np.linalg.eigvalsh(np.moveaxis(given, -1, 0))
    for driver, alone, stacked in (
        ("auto", ["syevd"], ["syevjBatched"]),
        ("evd", ["syevd"], ["syevd"] * 3),
        ("jacobi", ["syevj"], ["syevjBatched"]),
    ):
        for x, called, expected in ((stack[:, :, 2], alone, wanted[2]), (stack, stacked, wanted.T)):
            machine.calls.clear()
            found = tl.eigh(x, driver=driver)[0]
            assert routines(machine) == called, driver
            np.testing.assert_allclose(tr.to(found, "cpu").to_numpy(), expected, rtol=0, atol=1e-13)
    for driver in ("ev", "evr"):
        with pytest.raises(UnsupportedOperationError, match=rf"eigh\.{driver}: .*'auto', 'evd' and 'jacobi' are there"):
            tl.eigh(stack, driver=driver)
    assert {"eigh.ev", "eigh.evr"} <= tr.backend("drivenfake").unsupported().keys()
    assert "eigh.jacobi" not in tr.backend("drivenfake").unsupported()


def test_a_driver_that_does_not_take_a_matrix_leaves_it_to_the_next_rule(machine: Machine) -> None:
    backend: Any = tr.backend("drivenfake")
    large, none = np.zeros((33, 2, 2)), np.zeros((3, 0, 2))
    rules = [Rule("svd", "gesvdjBatched"), Rule("svd", "gesvda", counts=(2, None))]
    with backend.use_drivers(DriverTable(rules), "drivenfake:0"):
        machine.calls.clear()
        tl.svd(tr.to(tr.asarray(np.asfortranarray(large)), "drivenfake:0"))
        tl.svd(tr.to(tr.asarray(np.asfortranarray(large[:, :, :1])), "drivenfake:0"))
        assert tl.svd(tr.to(tr.asarray(np.asfortranarray(none)), "drivenfake:0"))[1].shape == (0, 2)
        assert routines(machine) == ["gesvdaStridedBatched", "gesvd"]
    assert [takes(256, 1, 9, one) for one in ("rotations", "reflectors")] == [True, True]
    assert [takes(257, 1, 9, one) for one in ("rotations", "reflectors")] == [False, False]
    assert [takes(rows, 3, 9, "warps") for rows in (32, 33)] == [True, False]


def test_failures_of_each_matrix_are_told_by_every_driver(api: SimulatedApi) -> None:
    backend: Any = tr.backend("driven")
    x = tr.to(tr.asarray(np.asfortranarray(matrices("eigh", F64, 5, 4)[:, :, 1:])), "driven:0")
    for operation, driver in ONE_OF_EACH:
        if operation in ("qr", "cholesky", "lu") or driver == "rotations":
            continue
        limits = Limits(devices=2, memory_bytes=1 << 24, largest_batch=2)
        with (
            api.under(limits, Faults(info={driver: {0: 0, 1: 7}})),
            backend.use_drivers(DriverTable([Rule(operation, driver)])),
            pytest.raises(NotConvergedError) as caught,
        ):
            getattr(tl, operation)(x)
        assert caught.value.batch_index == (1,), driver


@pytest.mark.parametrize(("routine", "shape"), [("gesvdjBatched", (33, 3)), ("gesvda", (3, 5))])
def test_simulated_routines_refuse_what_the_library_does_not_take(
    routine: str, shape: tuple[int, int], api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensor_gpu.kernels.linalg import drivers, singular_values

    monkeypatch.setattr(drivers, "takes", lambda *given: True)
    monkeypatch.setattr(singular_values, "_ANY_SHAPE", ("gesvdjBatched", "gesvda"))
    x = tr.to(tr.ones((*shape, 2)), "driven:0")
    with (
        tr.backend("driven").use_drivers(DriverTable([Rule("svd", routine)])),  # type: ignore[attr-defined]
        pytest.raises(SimulationError, match="the library"),
    ):
        tr.to(tl.svd(x)[1], "cpu")


def test_the_rules_shipped_are_those_of_the_device() -> None:
    everything = lambda driver: True  # noqa: E731
    for capability, expected in (((8, 0), "gesvdj"), ((8, 6), "gesvd"), ((9, 0), "gesvd")):
        assert shipped(capability).driver("svd", F64, 256, 1, everything) == expected
        assert shipped(capability).driver("svd", F64, 257, 1, everything) == "gesvd"
        assert shipped(capability).driver("svd", C64, 256, 1, everything) == "gesvd"
        assert shipped(capability).driver("svd", F64, 64, 100, everything) == "rotations"
        assert shipped(capability).driver("eigh", F64, 300, 100, everything) == "syevd"
        for operation, routine in (("cholesky", "potrf"), ("lu", "getrf")):
            for extent, count, expected in ((32, 2, "warps"), (33, 2, routine), (32, 1, routine)):
                able = partial(takes, extent, extent, count)
                assert shipped(capability).driver(operation, F64, extent, count, able) == expected


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


def test_tables_are_of_one_device_or_of_all_and_the_former_ones_come_back(api: SimulatedApi, tmp_path: Path) -> None:
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
def test_tables_are_not_taken_for_devices_of_others(api: SimulatedApi, place: str) -> None:
    backend: Any = tr.backend("driven")
    before = backend.describe()
    with pytest.raises(PlacementError, match=rf"use_drivers: placement is {place}; accepted: driven:0, driven:1"):
        backend.use_drivers(DriverTable([Rule("qr", "geqrf")]), place)
    assert backend.describe() == before


def test_what_comes_back_is_the_table_of_the_device_alone(api: SimulatedApi) -> None:
    backend: Any = tr.backend("driven")
    one, other = DriverTable([Rule("qr", "geqrf")]), DriverTable([Rule("qr", "reflectors")])

    def rules(device: int) -> DriverTable:
        found: DriverTable = backend.executor(as_placement(f"driven:{device}")).drivers
        return found

    with backend.use_drivers(one, "driven:0"):
        backend.use_drivers(other, "driven:1")  # to last
        assert (rules(0), rules(1)) == (one, other)
    assert (rules(0), rules(1)) == (shipped((9, 0)), other)


def test_the_sweep_makes_a_table_for_every_cell_of_what_is_fast_and_accurate(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"rotations": 3.0, "gesvd": 2.0, "gesvdj": 4.0, "gesvdjBatched": 1.0, "gesvda": 0.5}
    monkeypatch.setattr("tensor_gpu.sweep._seconds", lambda backend, where, case, driver: times[driver])
    done = []

    table = sweep(
        "driven:0", operations=["svd"], dtypes=[F64], sizes=[4, 36], counts=[1, 3, 9],
        on_case=lambda number, total: done.append((number, total)),
    )  # fmt: skip

    assert table.rules == (  # gesvda makes NaN of zeros, and no other takes less for what gesvdjBatched does not take
        Rule("svd", "gesvdjBatched", ("F64",), (0, 12), (1, None)),
        Rule("svd", "gesvd", ("F64",), (13, None), (1, None)),
    )
    assert done == [(number, 6) for number in range(1, 7)]
    assert table.machine.startswith("simulated device")


def test_what_is_too_large_to_measure_counts_as_the_largest_that_is(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensor_gpu.sweep.MOST_BYTES", 4 * 4 * 8 * 3)
    table = sweep("driven:0", operations=["qr"], dtypes=[F64], sizes=[4, 64], counts=[1, 3, 100])

    assert {rule.extents for rule in table.rules} == {(0, 16)}
    assert table.rules[-1].counts[1] is None


def test_the_sweep_runs_to_its_end_and_its_file_is_taken(
    api: SimulatedApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drivers.json"
    assert main(["driven:0", "-o", str(file), "--sizes", "5", "3", "--counts", "2", "1"]) == 0

    table = read_drivers(file)
    assert {(rule.operation, *rule.dtypes) for rule in table.rules} == {
        (operation, dtype) for operation in DRIVERS for dtype in ("F32", "F64", "C32", "C64")
    }
    assert f"digest {table.digest}" in capsys.readouterr().out
    with tr.backend("driven").use_drivers(file):  # type: ignore[attr-defined]
        x = tr.to(tr.asarray(np.asfortranarray(matrices("svd", F64, 4, 3))), "driven:0")
        again, _ = decomposed("svd", x)
        assert np.abs(again - first(x)).max() < 1e-13


@pytest.mark.parametrize("wrong", [{"place": "cpu"}, {"sizes": []}, {"operations": ["ldl"]}])
def test_what_cannot_be_swept_is_told(wrong: dict[str, Any], api: SimulatedApi) -> None:
    given = {"place": "driven:0", **wrong}
    with pytest.raises(ArgumentError, match="accepted: a device of this package"):
        sweep(given.pop("place"), **given)


def test_explain_names_the_driver_of_a_stack_and_the_table_that_chose_it(api: SimulatedApi) -> None:
    stack = tr.to(tr.tensor(np.ones((4, 4, 600), order="F") + np.eye(4)[:, :, None]), "driven:0")
    sides = tr.to(tr.tensor(np.ones((4, 2, 600), order="F")), "driven:0")
    one = tr.to(tr.tensor(np.eye(4)), "driven:0")
    many = (2, None)
    table = DriverTable([Rule("lu", "warps", counts=many), Rule("cholesky", "warps", counts=many)])

    def told(f: Any, *operands: Any) -> tuple[str, tuple[str, ...]]:
        (choice,) = [step.choice for step in tr.explain(f, *operands) if step.choice and step.choice.notes]
        return choice.kernel, choice.notes

    with tr.backend("driven").use_drivers(table):  # type: ignore[attr-defined]
        by_warps = ("program", (f"the driver is 'warps'; the table of drivers is {table.digest}",))
        assert told(tl.inv, stack) == told(tl.solve, stack, sides) == told(tl.cholesky, stack) == by_warps
        by_library = "routine of the library", (f"the driver is 'getrf'; the table of drivers is {table.digest}",)
        assert told(tl.inv, one) == told(tl.solve, one, sides) == by_library  # the one matrix is factored once
