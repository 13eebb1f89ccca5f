"""What docs/clients.md shows without prompts runs, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
FENCED = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.filterwarnings("ignore")  # the libraries' own
def test_blocks_of_the_page() -> None:
    blocks = [block for block in FENCED.findall(PAGE.read_text("utf-8")) if not block.startswith(">>>")]
    assert len(blocks) >= 4
    names: dict[str, Any] = {}
    exec("from tensor_runtime.interop import use_with_autoray; use_with_autoray()", names)  # shown with prompts
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
