"""What tests of devices run with."""

from __future__ import annotations

import pytest

from gpu_programs.building import compiler
from tensor_core.errors import BackendUnavailableError


@pytest.fixture(scope="session")
def on_host() -> None:
    """Sources of programs run on the host; skipped where no compiler of C++ is."""
    try:
        compiler()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not run on the host: {error}")
