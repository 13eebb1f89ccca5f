"""cotengra contracts tensors of ours: arrays that its tests hand over go in as tensors, and results must be tensors."""

from __future__ import annotations

from typing import Any

import cotengra
import numpy as np
import pytest

import tensor_runtime as tr
from tensor_runtime.interop import use_with_autoray

use_with_autoray()


def _checked(found: Any) -> Any:
    for one in found[:1] if isinstance(found, tuple) else [found]:
        assert isinstance(one, tr.Tensor), f"left our type: {type(one)}"
    return found


def _ours(arrays: Any) -> list[tr.Tensor]:
    return [tr.asarray(np.asarray(one)) for one in arrays]


contract = cotengra.ContractionTree.contract
einsum = cotengra.einsum


def contract_ours(tree: Any, arrays: Any, *arguments: Any, **options: Any) -> Any:
    """The method of a tree, on tensors."""
    return _checked(contract(tree, _ours(arrays), *arguments, **options))


def einsum_ours(equation: str, *arrays: Any, **options: Any) -> Any:
    """The function, on tensors."""
    return _checked(einsum(equation, *_ours(arrays), **options))


cotengra.ContractionTree.contract = contract_ours
cotengra.einsum = einsum_ours


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where the tests convert arrays for a backend, ours stands for NumPy's."""
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        if hasattr(module, "_to_backend"):
            module._to_backend = lambda array, backend: tr.asarray(np.asarray(array))
