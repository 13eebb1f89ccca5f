"""Hypothesis without a deadline: a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("workspace", deadline=None, print_blob=True)
settings.load_profile("workspace")
