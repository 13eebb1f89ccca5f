"""Facts about kernels: what is true of one on every backend, stated once, beside the spec that binds it.

A spec states the facts of its kernel when it is made; a kernel that no spec binds has them from :func:`state`, beside
the function that binds it. Whoever needs them asks by the kernel's name: fusing and tracing, inference, backends whose
arrays are promises, the conformance suite. Nothing here is read when a kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from tensor_core.errors import ArgumentError
from tensor_runtime.protocols import Result

Effect = Literal["pure", "writes", "answers"]
Reason = Callable[[str, tuple[Any, ...], Result, Any], str | None]
"""From a kernel's name, operands, result and params to words, or to None where there is nothing to say.

An operand is a form, the type of a Python number, or the number itself where it is known.
"""


class KernelFacts(NamedTuple):
    """What is known of a kernel beside its name; without arguments, that it is pure and not elementwise.

    Args:
        elementwise: an element of the one result depends on the operands' elements at its own index, after
            broadcasting, and on nothing else. Such a kernel can be traced, and be a step of a fused program.
        effect: "pure": the result is all that a call gives. "writes": a call changes the elements of its first
            operand, or of those given up to it, so it may be neither dropped nor repeated nor moved. "answers": a call
            gives a ``protocols.Counted``, whose count the runtime needs at once, so it cannot be put off.
        view: the result shares the elements of the operand.
        refuses: which values a call of these forms may refuse, in words; None where it takes all. A kernel without
            such a rule takes every value.
        option: what the params ask for beyond the result's form, in words; without a rule, whatever they are.
        given_up: of a kernel that writes: operands are given up to it, and it returns its result, which may be their
            memory. Others that write return nothing.

    >>> KernelFacts(elementwise=True).effect, KernelFacts(elementwise=True).checks_values
    ('pure', False)
    """

    elementwise: bool = False
    effect: Effect = "pure"
    view: bool = False
    refuses: Reason | None = None
    option: Reason | None = None
    given_up: bool = False

    @property
    def checks_values(self) -> bool:
        """Whether there are forms for which a call may refuse values."""
        return self.refuses is not None


UNSTATED: Final = KernelFacts()
"""What is assumed of a kernel of which nobody has stated anything."""
ELEMENTWISE: Final = KernelFacts(elementwise=True)
VIEW: Final = KernelFacts(view=True)

_STATED: Final[dict[str, KernelFacts]] = {}


def facts_of(kernel: str, /) -> KernelFacts:
    """The facts of a kernel, as far as the modules that state them are imported.

    >>> facts_of("add").elementwise, facts_of("transpose_view").view, facts_of("copy_into").effect
    (True, True, 'writes')
    >>> facts_of("unheard_of") is UNSTATED
    True
    """
    return _STATED.get(kernel, UNSTATED)


def stated() -> Mapping[str, KernelFacts]:
    """Every kernel of which facts are stated; a view that follows.

    >>> stated()["nonzero"].effect
    'answers'
    """
    return MappingProxyType(_STATED)


def state(kernel: str, facts: KernelFacts = UNSTATED, /) -> str:
    """State the facts of a kernel; a spec does it with what it is given.

    Returns:
        The kernel's name.

    Raises:
        ArgumentError: something else is stated of this kernel already. The same facts may be stated again, as a module
            does that is imported anew.

    >>> state("add", UNSTATED)
    Traceback (most recent call last):
        ...
    tensor_core.errors.ArgumentError: add: its facts are stated already, and otherwise: elementwise is True, not False
    """
    known = _STATED.setdefault(kernel, facts)
    if known is not facts:
        for name in KernelFacts._fields:
            before, now = getattr(known, name), getattr(facts, name)
            if callable(before) and callable(now):  # a module that is imported anew brings equal functions
                before, now = (f"{one.__module__}.{one.__qualname__}" for one in (before, now))
            if before != now:
                raise ArgumentError(
                    f"{kernel}: its facts are stated already, and otherwise: {name} is {before}, not {now}",
                    operation=kernel,
                )
    return kernel
