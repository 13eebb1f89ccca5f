"""The GPU package of this release: an entry that says why there is no backend."""

from __future__ import annotations

import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.info import info
from tensor_runtime.protocols import PROTOCOL_VERSION


def test_the_entry_speaks_the_protocol_of_this_runtime() -> None:
    assert info["protocol_version"] == PROTOCOL_VERSION
    assert info["device_kinds"] == ("cuda", "rocm")


def test_the_backend_is_listed_with_its_status_and_reason() -> None:
    row = next(row for row in tr.backends() if row.name == "gpu")
    assert row.devices == "cuda, rocm"
    assert row.status.startswith("not in this release: ")


def test_using_it_gives_the_reason() -> None:
    with pytest.raises(
        BackendUnavailableError, match=r"'gpu': not in this release: .* computes on the CPU, and on simulated devices"
    ):
        tr.backend("gpu")
