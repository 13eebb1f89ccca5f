"""Hypothesis without a deadline: a busy machine is no failure. Native examples only where native kernels are."""

from __future__ import annotations

from hypothesis import settings

from tensor_cpu import extension

settings.register_profile("workspace", deadline=None, print_blob=True)
settings.load_profile("workspace")

collect_ignore_glob = [] if extension.AVAILABLE else ["packages/cpu_backend/src/tensor_cpu/native/*"]
