"""einops knows tensors; its tests ask for backends by the name in EINOPS_TEST_BACKENDS, and list them by class."""

from __future__ import annotations

from typing import Any

import einops.tests
from einops import _backends

from tensor_runtime.interop import use_with_einops

use_with_einops()


def collect_test_backends(symbolic: bool = False, layers: bool = False) -> list[Any]:
    """Stands for the function of einops' tests, which knows no class but einops' own."""
    return [] if symbolic or layers else [_backends.NumpyBackend(), _backends.TensorRuntimeBackend()]


einops.tests.collect_test_backends = collect_test_backends
