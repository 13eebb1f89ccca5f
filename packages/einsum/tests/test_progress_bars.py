"""The bar of ``progress=True`` where stderr cannot be written: it is left out, and the contraction goes on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_einsum import plan

X = tr.ones((3, 3))
CHAIN = plan("ij,jk,kl->il", X, X, X)
PROGRAM = """
import tensor_runtime as tr
from tensor_einsum import einsum
x = tr.ones((3, 3))
print(einsum("ij,jk,kl->il", x, x, x, progress=True).tolist())
"""


class Failing(io.StringIO):
    """A stream that refuses what is written to it after so many pieces."""

    def __init__(self, pieces: int, error: Exception) -> None:
        super().__init__()
        self.left, self.error = pieces, error

    def write(self, text: str) -> int:
        if not self.left:
            raise self.error
        self.left -= 1
        return super().write(text)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pieces", range(8))
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("not that"), BrokenPipeError()])
def test_a_bar_that_cannot_be_written_is_left_out(
    pieces: int, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Failing(pieces, error)
    monkeypatch.setattr(sys, "stderr", stream)
    seen: list[Any] = []
    assert CHAIN(X, X, X, progress=True, on_step=lambda *step: seen.append(step)).tolist() == [[9.0] * 3] * 3
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("closed", [False, True])
def test_no_bar_is_made_where_stderr_is_none_or_closed(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    assert CHAIN(X, X, X, progress=True).tolist() == [[9.0] * 3] * 3


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no file that is always full")
def test_a_program_goes_on_whose_stderr_is_gone(how: str) -> None:
    command = ["sh", "-c", f'"$0" -c "$1" {how}', sys.executable, PROGRAM]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    assert done.stdout == f"{[[9.0] * 3] * 3}\n"


@pytest.mark.parametrize("error", [OSError("mine"), ValueError("mine")])
def test_errors_of_the_contraction_and_of_its_functions_pass(error: Exception) -> None:
    def failing(*step: Any) -> None:
        raise error

    options: list[dict[str, Any]] = [{"progress": failing}, {"progress": True, "on_step": failing}]
    for given in options:
        with pytest.raises(type(error), match="mine"):
            CHAIN(X, X, X, **given)
