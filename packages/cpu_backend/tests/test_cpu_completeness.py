"""Nothing that the runtime declares is without a case, or without a kernel on the CPU."""

from __future__ import annotations

import tensor_runtime as tr
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.testing.cases import all_cases
from tensor_runtime.testing.completeness import (
    WITHOUT_CASES,
    declared_specs,
    functions_without_cases,
    public_functions,
    specs_never_bound,
)

CASES = tuple(all_cases())


def test_every_public_function_has_a_case_or_a_reason() -> None:
    missing = functions_without_cases(CASES)

    assert not missing, f"add cases in tensor_runtime.testing.cases for {', '.join(missing)}"


def test_every_spec_binds_a_kernel_in_some_case() -> None:
    missing = specs_never_bound(CASES, tr.CPU)

    assert not missing, f"no case makes the cpu backend bind {', '.join(missing)}"


def test_the_reasons_are_for_functions_that_exist_and_have_no_case() -> None:
    assert not WITHOUT_CASES.keys() - public_functions()
    assert not WITHOUT_CASES.keys() & {case.operation for case in CASES}


def test_specs_are_found_wherever_a_module_holds_them() -> None:
    specs = declared_specs()

    assert specs["views.TRANSPOSE_VIEW"].name == "transpose_view"
    assert sum(isinstance(spec, OpSpec) and spec.name == "less" for spec in specs.values()) == 2  # public and strict
    assert len({id(spec) for spec in specs.values()}) == len(specs)
