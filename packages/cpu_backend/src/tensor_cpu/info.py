"""What the registry may know of this backend without loading it; imports nothing heavy."""

from __future__ import annotations

from typing import Any, Final

info: Final[dict[str, Any]] = {"protocol_version": 2, "device_kinds": ("cpu",)}
