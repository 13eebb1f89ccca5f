"""The version of all distributions of this repository; their `version.py` are links to this file."""

from __future__ import annotations

__version__ = "0.1.0"
