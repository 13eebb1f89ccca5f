"""The part of the conformance suite for backends that run several kernels as one (``protocols.SequencingBackend``).

A backend that cannot, or for which that is no gain, has nothing to be tested for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any, Final

from tensor_core.dtypes import F64
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.sequences import bind_sequence
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel, KernelStep
from tensor_runtime.tensors.tensor import wrap
from tensor_runtime.tensors.transfer import download, upload
from tensor_runtime.testing.comparing import difference
from tensor_runtime.testing.memory_conformance import require
from tensor_runtime.testing.oracle import whole_numbers

_SIDE: Final = 3
_OPERANDS: Final = 4


class SequenceConformance:
    """What :class:`tensor_runtime.testing.conformance.BackendConformance` asks of ``bind_sequence``.

    >>> len(_steps_of(max, Random(0)))
    12
    """

    def test_a_sequence_gives_what_its_steps_give_one_by_one(self, placement: Placement) -> None:
        """Any results of it, as they are asked for: one array, or a tuple in which one may stand twice."""
        form, kernel, arrays = _matrices(placement)
        for seed in range(20):
            draw = Random(seed)
            steps = _steps_of(kernel, draw)
            slots = len(arrays) + len(steps)
            results = tuple(draw.choices(range(slots), k=3))
            for asked in (slots - 1, results):
                sequence = bind_sequence(placement, len(arrays), steps, asked, _as_it_is)
                if sequence is None:
                    return
                found = sequence(*arrays) if isinstance(asked, tuple) else (sequence(*arrays),)
                every = _one_by_one(steps, arrays)
                expected = [every[slot] for slot in (asked if isinstance(asked, tuple) else (asked,))]
                for one, other in zip(found, expected, strict=True):
                    what = difference(download(wrap(form, one)), download(wrap(form, other)))
                    require(not what, f"bind_sequence: steps {[step[1:] for step in steps]}: {asked} is {what}")

    def test_what_a_step_raises_is_raised_as_the_caller_likes(self, placement: Placement) -> None:
        """Errors with the number of their step, interruptions as they are; and the sequence works afterwards."""
        _, kernel, arrays = _matrices(placement)
        raised: list[BaseException | None] = [ZeroDivisionError("in a step")]

        def failing(x: Any, y: Any) -> Any:
            if raised[0] is not None:
                raise raised[0]
            return kernel(x, y)

        def failed(number: int, error: Exception) -> Exception:
            return LookupError(number, error)

        steps = [*((kernel, slot, other) for slot, other in pairwise(range(8))), (failing, 9, 3), (kernel, 11, 0)]
        sequence = bind_sequence(placement, len(arrays), steps, len(arrays) + len(steps) - 1, failed)
        if sequence is None:
            return
        error = _raised_by(lambda: sequence(*arrays))
        require(
            isinstance(error, LookupError) and error.args == (7, raised[0]),
            f"bind_sequence: step 7 raised {raised[0]!r}, and the sequence {error!r}",
        )
        raised[0] = KeyboardInterrupt()
        error = _raised_by(lambda: sequence(*arrays))
        require(error is raised[0], f"bind_sequence: an interruption of a step became {error!r}")
        raised[0] = None
        require(_raised_by(lambda: sequence(*arrays)) is None, "bind_sequence: the kernel fails after it has failed")


def _matrices(placement: Placement) -> tuple[Any, Kernel, list[Any]]:
    """The form of small matrices, a kernel of two, and a few of them."""
    operands = [upload(whole_numbers((_SIDE, _SIDE), F64, start=start), placement) for start in range(_OPERANDS)]
    form = operands[0]._form
    if "contract" in registry.backend_for(placement).operations():
        kernel = registry.bind("contract", (form, form), form, ContractParams((0, 1), (1, 2), (0, 2)))
    else:
        kernel = registry.bind("add", (form, form), form, None)
    return form, kernel, [operand._array for operand in operands]


def _steps_of(kernel: Kernel, draw: Random) -> list[KernelStep]:
    """Steps that read any slots, also several times or never; some of them through a function of Python."""
    kernels: list[Kernel] = [kernel, kernel, lambda x, y: kernel(y, x)]
    return [
        (draw.choice(kernels), draw.randrange(number), draw.randrange(_OPERANDS))
        for number in range(_OPERANDS, _OPERANDS + 12)
    ]


def _one_by_one(steps: list[KernelStep], arrays: list[Any]) -> list[Any]:
    slots = list(arrays)
    for kernel, first, second in steps:
        slots.append(kernel(slots[first], slots[second]))
    return slots


def _as_it_is(number: int, error: Exception) -> Exception:
    return error


def _raised_by(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except BaseException as error:
        return error
    return None
