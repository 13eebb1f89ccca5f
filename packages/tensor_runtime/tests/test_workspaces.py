"""What a kernel says that its calls take besides their results."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tensor_core.errors import BackendContractError
from tensor_runtime.backends.workspaces import with_workspace, workspace_of


def test_a_kernel_that_says_nothing_takes_nothing() -> None:
    assert [workspace_of(kernel) for kernel in (max, partial(max, 1), lambda x: x)] == [0, 0, 0]


def test_what_is_said_is_read_and_the_kernel_is_the_same() -> None:
    def kernel(x: int) -> int:
        return x + 1

    assert with_workspace(kernel, 12) is kernel
    assert workspace_of(kernel) == 12
    assert kernel(1) == 2


def test_a_kernel_that_belongs_to_others_is_left_alone_where_it_takes_nothing() -> None:
    assert with_workspace(max, 0) is max
    kernel = lambda x: x  # noqa: E731
    assert not hasattr(with_workspace(kernel, 0), "workspace_bytes")


@pytest.mark.parametrize("said", [-1, 1.5, True, "8", None])
def test_what_is_no_number_of_bytes_is_the_kernels_fault(said: Any) -> None:
    def kernel(x: int) -> int:
        return x

    vars(kernel)["workspace_bytes"] = said
    with pytest.raises(BackendContractError, match=r"workspace_bytes .*; accepted: an int of 0 or more, in bytes"):
        workspace_of(kernel)
