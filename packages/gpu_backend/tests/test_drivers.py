"""Which driver decomposes which matrices, and what each of them gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from driver_results import decomposed, first
from fake_cupy.driver import Machine
from tensor_core.dtypes import C64, F32, F64
from tensor_core.errors import UnsupportedOperationError
from tensor_gpu.kernels.linalg.drivers import takes
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Faults, Limits
from tensor_gpu.sweep import matrices
from tensor_gpu.tables.drivers import DRIVERS, DriverTable, Rule
from tensor_runtime.errors import NotConvergedError

ONE_OF_EACH = [(operation, driver) for operation, drivers in DRIVERS.items() for driver in drivers]


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
    driven: SimulatedApi,
    drivenfake: Machine,
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


def test_a_table_names_the_routine_that_is_called(drivenfake: Machine) -> None:
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
        drivenfake.calls.clear()
        with backend.use_drivers(DriverTable([Rule(operation, driver)])):
            tl.inv(definite) if operation == "lu" else getattr(tl, operation)(given)
        assert routines(drivenfake) == called, driver


def test_what_a_user_asks_for_is_asked_of_no_table(drivenfake: Machine) -> None:
    backend: Any = tr.backend("drivenfake")
    stack = tr.to(tr.asarray(np.asfortranarray(matrices("svd", F64, 4, 2))), "drivenfake:0")
    with backend.use_drivers(DriverTable([Rule("svd", "gesvdjBatched")])):
        drivenfake.calls.clear()
        tl.svd(stack, driver="gesvd")
        tl.svd(stack, driver="jacobi")
        tl.svd(stack[:, :, 0], driver="jacobi")
        assert routines(drivenfake) == ["gesvd", "gesvd", "gesvdj"]
        with pytest.raises(UnsupportedOperationError, match=r"svd\.gesdd: libraries of devices do not divide"):
            tl.svd(stack, driver="gesdd")


def test_drivers_of_eigh_that_a_user_asks_for_are_called(drivenfake: Machine) -> None:
    given = matrices("eigh", F64, 4, 3)
    stack = tr.to(tr.asarray(np.asfortranarray(given)), "drivenfake:0")
    wanted = np.linalg.eigvalsh(np.moveaxis(given, -1, 0))
    for driver, alone, stacked in (
        ("auto", ["syevjBatched"], ["syevjBatched"]),
        ("evd", ["syevd"], ["syevd"] * 3),
        ("jacobi", ["syevj"], ["syevjBatched"]),
    ):
        for x, called, expected in ((stack[:, :, 2], alone, wanted[2]), (stack, stacked, wanted.T)):
            drivenfake.calls.clear()
            found = tl.eigh(x, driver=driver)[0]
            assert routines(drivenfake) == called, driver
            np.testing.assert_allclose(tr.to(found, "cpu").to_numpy(), expected, rtol=0, atol=1e-13)
    for driver in ("ev", "evr"):
        with pytest.raises(UnsupportedOperationError, match=rf"eigh\.{driver}: .*'auto', 'evd' and 'jacobi' are there"):
            tl.eigh(stack, driver=driver)
    assert {"eigh.ev", "eigh.evr"} <= tr.backend("drivenfake").unsupported().keys()
    assert "eigh.jacobi" not in tr.backend("drivenfake").unsupported()


def test_a_driver_that_does_not_take_a_matrix_leaves_it_to_the_next_rule(drivenfake: Machine) -> None:
    backend: Any = tr.backend("drivenfake")
    large, none = np.zeros((33, 2, 2)), np.zeros((3, 0, 2))
    rules = [Rule("svd", "gesvdjBatched"), Rule("svd", "gesvda", counts=(2, None))]
    with backend.use_drivers(DriverTable(rules), "drivenfake:0"):
        drivenfake.calls.clear()
        tl.svd(tr.to(tr.asarray(np.asfortranarray(large)), "drivenfake:0"))
        tl.svd(tr.to(tr.asarray(np.asfortranarray(large[:, :, :1])), "drivenfake:0"))
        assert tl.svd(tr.to(tr.asarray(np.asfortranarray(none)), "drivenfake:0"))[1].shape == (0, 2)
        assert routines(drivenfake) == ["gesvdaStridedBatched", "gesvd"]
    assert [takes(256, 1, 9, one) for one in ("rotations", "reflectors")] == [True, True]
    assert [takes(257, 1, 9, one) for one in ("rotations", "reflectors")] == [False, False]
    assert [takes(rows, 3, 9, "warps") for rows in (32, 33)] == [True, False]


def test_failures_of_each_matrix_are_told_by_every_driver(driven: SimulatedApi) -> None:
    backend: Any = tr.backend("driven")
    x = tr.to(tr.asarray(np.asfortranarray(matrices("eigh", F64, 5, 4)[:, :, 1:])), "driven:0")
    for operation, driver in ONE_OF_EACH:
        if operation in ("qr", "cholesky", "lu") or driver == "rotations":
            continue
        limits = Limits(devices=2, memory_bytes=1 << 24, largest_batch=2)
        with (
            driven.under(limits, Faults(info={driver: {0: 0, 1: 7}})),
            backend.use_drivers(DriverTable([Rule(operation, driver)])),
            pytest.raises(NotConvergedError) as caught,
        ):
            getattr(tl, operation)(x)
        assert caught.value.batch_index == (1,), driver


@pytest.mark.parametrize(("routine", "shape"), [("gesvdjBatched", (33, 3)), ("gesvda", (3, 5))])
def test_simulated_routines_refuse_what_the_library_does_not_take(
    routine: str, shape: tuple[int, int], driven: SimulatedApi, monkeypatch: pytest.MonkeyPatch
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


def test_explain_names_the_driver_of_a_stack_and_the_table_that_chose_it(driven: SimulatedApi) -> None:
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
