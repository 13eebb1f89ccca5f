"""Hypothesis without a deadline, as a busy machine is no failure; where nobody chose a profile before."""

from __future__ import annotations

from hypothesis import settings

if settings.default.deadline is not None:
    settings.register_profile("tensor_core", deadline=None, max_examples=50)
    settings.load_profile("tensor_core")
