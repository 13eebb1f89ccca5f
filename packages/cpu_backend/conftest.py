"""Examples of native binders run only where the native kernels are."""

from __future__ import annotations

from tensor_cpu.system import extension

_KERNELS = "src/tensor_cpu/kernels"
collect_ignore_glob = (
    []
    if extension.AVAILABLE
    else [
        f"{_KERNELS}/*/native*.py",
        f"{_KERNELS}/contraction/loops/*.py",
        f"{_KERNELS}/elementwise/compiled.py",
        f"{_KERNELS}/elementwise/registers.py",
        f"{_KERNELS}/gather_scatter/places.py",
        f"{_KERNELS}/*/tiny.py",
        f"{_KERNELS}/linalg/batched_simd.py",
        f"{_KERNELS}/linalg/factorization.py",
        f"{_KERNELS}/linalg/lapack.py",
        f"{_KERNELS}/linalg/refusals.py",
        f"{_KERNELS}/linalg/substitution/blas.py",
        f"{_KERNELS}/linalg/substitution/lanes.py",
        f"{_KERNELS}/linalg/variants/systems.py",
        "src/tensor_cpu/system/blas.py",
    ]
)
