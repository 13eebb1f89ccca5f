"""Nothing that the runtime declares is without a case, or without a kernel on the CPU."""

from __future__ import annotations

from importlib import import_module

import pytest

import tensor_runtime as tr
from tensor_runtime.backends.plugins.families import Family
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.testing.cases import all_cases, family_cases
from tensor_runtime.testing.completeness import (
    WITHOUT_CASES,
    declared_specs,
    functions_without_cases,
    public_functions,
    specs_never_bound,
)

CASES = tuple(all_cases())
FAMILY_CASES = tuple(family_cases())


def test_every_public_function_has_a_case_or_a_reason() -> None:
    missing = functions_without_cases((*CASES, *FAMILY_CASES))

    assert not missing, f"add cases in tensor_runtime.testing.cases for {', '.join(missing)}"


def test_every_spec_binds_a_kernel_in_some_case() -> None:
    missing = specs_never_bound(CASES, tr.CPU)

    assert not missing, f"no case makes the cpu backend bind {', '.join(missing)}"


def test_the_reasons_are_for_functions_that_exist_and_have_no_case() -> None:
    assert not WITHOUT_CASES.keys() - public_functions()
    assert not WITHOUT_CASES.keys() & {case.operation for case in (*CASES, *FAMILY_CASES)}


@pytest.mark.parametrize("family", [family for family in tr.families() if family.cases], ids=lambda one: one.name)
def test_every_operation_and_spec_of_a_family_has_a_case(family: Family) -> None:
    with_cases = {case.operation for case in FAMILY_CASES}
    missing = [name for name in family.operations if not {name, f"{family.name}.{name}"} & with_cases]
    unbound = specs_never_bound(FAMILY_CASES, tr.CPU, import_module(family.specs)) if family.specs else []

    assert not missing, f"add cases in {family.cases} for {', '.join(missing)}"
    assert not unbound, f"no case of {family.cases} makes the cpu backend bind {', '.join(unbound)}"


def test_specs_are_found_wherever_a_module_holds_them() -> None:
    specs = declared_specs()

    assert specs["views.TRANSPOSE_VIEW"].name == "transpose_view"
    assert sum(isinstance(spec, OpSpec) and spec.name == "less" for spec in specs.values()) == 2  # public and strict
    assert len({id(spec) for spec in specs.values()}) == len(specs)
