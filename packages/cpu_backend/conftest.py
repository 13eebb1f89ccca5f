"""Examples of native binders run only where the native kernels are."""

from __future__ import annotations

from tensor_cpu import extension

collect_ignore_glob = [] if extension.AVAILABLE else ["src/tensor_cpu/native/*", "src/tensor_cpu/products.py"]
