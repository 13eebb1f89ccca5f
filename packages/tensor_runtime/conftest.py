"""Doctests of the package see the public names without importing them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _public_names(doctest_namespace: dict[str, Any]) -> None:
    import tensor_runtime

    doctest_namespace.update(tensor=tensor_runtime.tensor, zeros=tensor_runtime.zeros, ones=tensor_runtime.ones)
