"""What a simulated device finds wrong."""

from __future__ import annotations

from tensor_core.errors import BackendError


class SimulationError(BackendError):
    """Something was done on a simulated device that a real one would answer with wrong numbers, or not at all."""


class CallFailedError(RuntimeError):
    """A call that fails because it is to fail; no error of our tree, as those of a driver's library are none."""
