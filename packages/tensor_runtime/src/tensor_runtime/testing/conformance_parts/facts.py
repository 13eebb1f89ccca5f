"""The part of the conformance suite that holds kernels to what is stated of them (``backends.kernel_facts``).

Every operation is called once with each kernel watched: what is pure leaves its operands as they were and gives
elements of its own, what is a view gives the operand's, and what answers gives its count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from tensor_core.errors import TensorError
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.overlap import overlap_test
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Counted, Kernel, Operand, Result
from tensor_runtime.tensors.transfer import upload
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases, family_cases
from tensor_runtime.testing.conformance_parts.memory import require

Pairs = list[tuple[Any, Form]]


class FactsConformance:
    """What :class:`tensor_runtime.testing.conformance.BackendConformance` asks of a backend's kernels beside results.

    >>> FactsConformance.test_kernels_do_what_is_stated_of_them.__doc__.partition(",")[0]
    'Each kernel that an operation binds is pure'
    """

    def test_kernels_do_what_is_stated_of_them(self, placement: Placement) -> None:
        """Each kernel that an operation binds is pure, writes, answers or is a view, as its facts say."""
        with watched(placement) as (seen, faults):
            for case in first_cases((*all_cases(), *family_cases())):
                try:
                    operands: list[Any] = [upload(host, placement) for host in case.operands]
                    case.call(*operands or [placement])
                except TensorError:
                    continue  # the case itself has its own test
        require(bool(seen), f"no kernel was called at {placement}")
        require(not faults, "; ".join(faults))


def first_cases(cases: Iterable[Case], /) -> list[Case]:
    """Of each operation, the first case that gives a result.

    >>> len([case for case in first_cases(all_cases()) if case.operation == "add"])
    1
    """
    found: dict[str, Case] = {}
    for case in cases:
        if case.error is None:
            found.setdefault(case.operation, case)
    return list(found.values())


@contextmanager
def watched(placement: Placement, /) -> Iterator[tuple[set[str], list[str]]]:
    """Every kernel bound at a placement inside the ``with`` block is held to its facts when it is called.

    Returns:
        The names of the kernels that were called, and what was found wrong: an error inside a call would be taken for
        the backend's own. Both grow with the calls.

    >>> import tensor_runtime as tr
    >>> with watched(tr.CPU) as (seen, faults):
    ...     x = tr.ones(2) + 1
    >>> sorted(seen), faults
    (['add', 'full'], [])
    """
    seen: set[str] = set()
    faults: list[str] = []
    bind = registry.bind

    def bound(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        kernel = bind(name, operands, result, params)
        if (result[0] if isinstance(result, tuple) else result).placement is not placement:
            return kernel

        def call(*arguments: Any) -> Any:
            seen.add(name)
            given = [(one, form) for one, form in zip(arguments, operands, strict=False) if isinstance(form, Form)]
            before = [_elements(*pair) for pair in given]
            found = kernel(*arguments)
            try:
                check_facts(name, given, before, found, result)
            except AssertionError as fault:
                faults.append(str(fault))
            return found

        return call

    binding_cache.clear()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "bind", bound)
            yield seen, faults
    finally:
        binding_cache.clear()


def check_facts(name: str, given: Pairs, before: list[bytes], found: Any, result: Result, /) -> None:
    """Compare a call of a kernel with what is stated of it.

    Args:
        name: of the kernel.
        given: arrays and forms of its operands, after the call.
        before: the operands' elements before the call.
        found: what it returned.
        result: form of its result, or a tuple of forms.

    Raises:
        AssertionError: something is not as stated; the message says what.

    >>> x = zeros(2)
    >>> check_facts("negative", [(x._array, x._form)], [bytes(16)], x._array, x._form)
    Traceback (most recent call last):
    AssertionError: negative: no view is stated, but the result shares the elements of operand 0
    """
    facts = facts_of(name)
    answered = isinstance(found, Counted)
    require(answered == (facts.effect == "answers"), f"{name}: stated as {facts.effect}, it returned {found!r}")
    for position, pair, elements in zip(count(), given, before, strict=False):
        written = facts.effect == "writes" and (position == 0 or _together(*pair, *given[0]))
        require(written or _elements(*pair) == elements, f"{name}: stated as {facts.effect}, it changed {position=}")
    if facts.effect == "pure":
        pairs = zip(found, result, strict=True) if isinstance(result, tuple) else [(found, result)]
        for array, form in pairs:
            for position, pair in enumerate(given):
                shared = _together(array, form, *pair)
                require(
                    facts.view or not shared,
                    f"{name}: no view is stated, but the result shares the elements of operand {position}",
                )
                require(
                    shared or not facts.view or not form.size, f"{name}: stated as a view, it gives elements of its own"
                )


def _elements(array: Any, form: Form) -> bytes:
    backend = registry.backend_for(form.placement)
    backend.synchronize()
    return bytes(backend.download(array, form).tobytes())


def _together(array: Any, form: Form, other: Any, other_form: Form) -> bool:
    """Whether two arrays share an element, or are one."""
    backend = registry.backend_for(form.placement)
    (space, start), (other_space, other_start) = backend.location_of(array), backend.location_of(other)
    if space != other_space or not (form.size and other_form.size):
        return False
    return start == other_start or overlap_test(form, other_form)(start, other_start)
