"""Arguments that every binder of the extension takes."""

from __future__ import annotations

from typing import Any

from tensor_cpu.kernels.reduction.native import Loops

HUGE = 2**62


def never(*arrays: Any) -> Any:
    raise AssertionError("the fallback was called")


PRODUCT = ("F64", 4096, (0, 1), (3, 4), (1, 3), (1, 2), (4, 2), (1, 4), (0, 2))  # 3 x 4 times 4 x 2
ADD = ("add", "F64", 2, 0, 1, 2)
VECTOR = ((1,), "F64")
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bind_copy": ((2,), (1,), "F64"),
    "bind_copy_into": ((2,), (1,), (1,), "F64"),
    "copy_method": ((2,), (1,), (1,), "F64"),
    "bind_padded": ((4,), "F64", (2,), (1,), (1,)),
    "bind_rolled": ((2,), "F64", (1,), (0,)),
    "bind_triangle": ((2, 2), "F64", (2, 1), 0, 1, 0, True),
    "bind_convert": ((2,), (1,), "I32", "F64", None),
    "bind_tiny_binary": ("add", (2,), "F64", "F64", (1, 1), (False, False), never),
    "bind_tiny_unary": ("sqrt", (2,), "F64"),
    "bind_tiny_contraction": PRODUCT,
    "bind_elementwise": ((5,), "F64", (VECTOR, VECTOR), (ADD,), ()),
    "bind_pair": ("F64", (3,), ((3, 1, 1, 1),), ()),
    "bind_gemm": ("F64", (3,), (), ((3, 1, 0, 1),), (), ((2, 1, 1, 0),), (), False),
    "bind_stack": ("F64", (3,), (), (), ((3, 1, 0, 1),), (), ((2, 1, 1, 0),), False),
    "bind_semiring": ("max_plus", "F64", (3,), ((), ((3, 1, 0, 1),), (), ()), False),
    "bind_products": ("F64", (2, 3), (2, 3, 4), (), (4, 1), (3, 1), (3, 1)),
    "bind_reduce": ("sum", "F64", (4,), "F64", Loops(0, 4, 1, 3, 4, (), ())),
    "bind_lapack": ("inv", "F64", 2, 2, 0, (), (2, 1), (), (((2, 2), "F64"),), True, never),
    "bind_batched_simd": ("inv", "F64", (2, 2), 0, 1, (((2, 2), "F64"),), True, never),
    "bind_factorization": (
        "eigvals",
        "F64",
        "F64",
        (2, 2),
        (0, 0),
        (0, 0),
        (),
        (2, 1),
        (),
        (((2,), "C64"),),
        True,
        never,
    ),
}
