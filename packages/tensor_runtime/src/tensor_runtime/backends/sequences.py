"""Kernels that run one after another as one, where a backend can do that (``protocols.SequencingBackend``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel, KernelStep, SequencingBackend, StepFailed


def bind_sequence(
    home: Placement, operands: int, steps: Sequence[KernelStep], results: int | tuple[int, ...], failed: StepFailed, /
) -> Kernel | None:
    """One kernel for all steps, or None where the backend has none: then its steps are called one by one.

    Args:
        home: where all of them run.
        operands, steps, results, failed: as for ``SequencingBackend.bind_sequence``.

    >>> from tensor_runtime.backends.meta import META
    >>> bind_sequence(META, 1, [(abs, 0, -1), (abs, 1, -1)], 2, lambda number, error: error) is None
    True
    """
    backend: Any = registry.backend_for(home)
    if not hasattr(backend, "bind_sequence"):  # to ask for the Protocol takes 5 µs
        return None
    able: SequencingBackend = backend
    return able.bind_sequence(operands, steps, results, failed)
