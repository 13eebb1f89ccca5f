"""Kernels whose results are looked at: slow, for finding a backend that gives something else than it was bound to.

Kernels are wrapped where they are bound, or not at all: without the mode nothing is asked of a call that is bound. It
is on inside ``tensor_runtime.testing.kernel_contracts.checked_results()``, and where the environment has
``TENSOR_RUNTIME_CHECK_RESULTS=1``.
"""

from __future__ import annotations

import os
from typing import Any, Final

from tensor_core.errors import ArgumentError, BackendContractError, shortened
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form
from tensor_runtime.protocols import Counted, Kernel, Result

VARIABLE: Final = "TENSOR_RUNTIME_CHECK_RESULTS"


def asked_for() -> bool:
    """Whether the environment asks for the mode.

    Raises:
        ArgumentError: the variable is neither 0 nor 1.

    >>> asked_for() in (False, True)
    True
    """
    text = os.environ.get(VARIABLE, "0") or "0"
    if text not in ("0", "1"):
        raise ArgumentError(f"{VARIABLE} is {shortened(text)}; accepted: 0, 1, or unset", variable=VARIABLE)
    return text == "1"


class ResultChecks:
    """Whether results are looked at; :data:`result_checks` is the only one."""

    def __init__(self) -> None:
        self.wanted = asked_for()


result_checks: Final = ResultChecks()
"""Of this process."""


class CheckedResults:
    """A kernel that raises a ``BackendContractError`` when what it gives is not what it was bound to give.

    How many arrays there are is seen by everybody; what an array is, by a backend that has ``examine``.
    """

    def __init__(self, backend: Any, operation: str, result: Result, kernel: Kernel) -> None:
        self._backend, self._operation, self._result, self._kernel = backend, operation, result, kernel
        only_pure = getattr(backend, "only_pure", False)  # whose arrays may not be computed yet
        self._examine = None if only_pure else getattr(backend, "examine", None)
        if hasattr(kernel, "workspace_bytes"):
            self.workspace_bytes = kernel.workspace_bytes

    def __call__(self, *arguments: Any) -> Any:
        found = self._kernel(*arguments)
        problem = self._problem(found)
        if problem is not None:
            raise BackendContractError(
                f"{self._operation}: the {self._backend.name} backend gave {problem}, expected {self._result}; "
                "the result is dropped",
                operation=self._operation,
                backend=self._backend.name,
                expected=self._result,
                found=problem,
            )
        return found

    def __repr__(self) -> str:
        return repr(self._kernel)

    def _problem(self, found: Any) -> str | None:
        facts = facts_of(self._operation)
        if facts.effect == "writes" and not facts.given_up:
            return None if found is None else f"a {type(found).__name__} where it writes into an operand"
        if facts.effect == "answers":
            return None if isinstance(found, Counted) else f"a {type(found).__name__} where it counts"
        if isinstance(self._result, Form):
            return self._of_array(found, self._result)
        if type(found) is not tuple or len(found) != len(self._result):
            return f"{len(found)} arrays" if type(found) is tuple else f"a {type(found).__name__}"
        for array, form in zip(found, self._result, strict=True):
            problem = self._of_array(array, form)
            if problem is not None:
                return f"{problem} for {form}"
        return None

    def _of_array(self, array: Any, form: Form) -> str | None:
        if array is None or type(array) is tuple:
            return f"a {type(array).__name__}"
        problem: str | None = None if self._examine is None else self._examine(array, form)
        return problem
