"""A first call goes straight down: few Python calls, few files. Counts are the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from benchmarks.cold_calls import Way, as_markdown, cold, way_of

from tensor_cpu import backend
from tensor_cpu.system.extension import AVAILABLE
from tensor_einsum import einsum, native
from tensor_runtime import binding_cache, ones

NATIVE = AVAILABLE and native.AVAILABLE


@pytest.fixture(autouse=True)
def calls_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checking every call, where the environment asks for it, takes calls of its own."""
    monkeypatch.setattr(backend, "CHECKED", False)
    binding_cache.clear()
    yield
    binding_cache.clear()


def product(rows: int, inner: int, columns: int) -> Way:
    former = (rows + 3, inner + 3), (inner + 3, columns + 3)
    return cold(partial(einsum, "ij,jk->ik"), former, [(rows, inner), (inner, columns)])


def test_a_first_einsum_of_two_operands_takes_few_calls_in_few_files() -> None:
    way = product(5, 6, 7)

    most_calls, most_files = (80, 13) if NATIVE else (210, 23)  # NumPy's products have more to decide
    assert way.calls <= most_calls, as_markdown({"einsum": way})
    assert len(way.files) <= most_files, sorted(way.files)


def test_a_first_einsum_goes_through_the_modules_in_one_direction() -> None:
    files = list(product(5, 6, 7).files)  # in the order in which each is entered first
    modules = [file.removesuffix(".py").split("/")[-1] for file in files if file.startswith("tensor_einsum/")]

    last = ["memory"] if native.AVAILABLE else ["label_names", "path", "memory"]  # what the extension does without them
    assert modules == ["api", "plan", "network", "executor", "steps", *last]


def test_a_call_that_is_bound_already_runs_nothing_but_itself() -> None:
    a, b = ones((5, 6)), ones((6, 7))
    einsum("ij,jk->ik", a, b)

    # Without the extensions einsum and NumPy's kernel are functions in Python.
    expected = (not native.AVAILABLE) + (not AVAILABLE)
    assert way_of(partial(einsum, "ij,jk->ik", a, b)).calls == expected
    assert product(8, 9, 8).calls > 20  # new shapes are counted


@pytest.mark.skipif(not (native.AVAILABLE and AVAILABLE), reason="without the extensions there are functions in Python")
def test_a_call_that_is_bound_already_runs_nothing_else_with_many_operands_too() -> None:
    notation, a = ",".join(["ij"] * 40), ones((5, 6))
    einsum(f"{notation}->ij", *[a] * 40)

    assert way_of(partial(einsum, f"{notation}->ij", *[a] * 40)).calls == 0


def test_a_first_product_that_is_left_to_blas_takes_few_calls_too() -> None:
    product(64, 66, 65)  # the first product of all loads BLAS
    way = product(64, 65, 66)

    # Our own product, with its rows from either operand, sums of broadcast products, and BLAS, which may be one of
    # narrower vectors, may take about as long, so all are estimated, and our own is planned whole where it seems the
    # cheaper one until BLAS is looked at; and a cut of long tables stands apart, as do the rates of processors, what
    # BLAS costs, and which axes are near.
    most_calls, most_files = (231, 25) if NATIVE else (232, 26)
    assert way.calls <= most_calls, as_markdown({"einsum": way})
    assert len(way.files) <= most_files, sorted(way.files)
