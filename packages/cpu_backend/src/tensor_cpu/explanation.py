"""How this backend computes an operation on given forms, and why not faster: what ``tensor_runtime.explain`` asks."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_cpu import kernel_table
from tensor_cpu.system import threads
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.form import Form
from tensor_runtime.protocols import KernelChoice, Operand, Result

_IN_WORDS: Final = {
    "activations.native": "native loop",
    "contraction.choice": "contraction",
    "contraction.native_semiring": "native loop over a semiring",
    "contraction.native_unary_einsum": "native sums and diagonals",
    "contraction.tiny": "native loop for tiny products",
    "conversion.native": "native conversion",
    "copy.native": "native copy",
    "creation.native": "native fill",
    "diagonals.native": "native copy",
    "elementwise.loops": "NumPy's loop without its call",
    "elementwise.native": "native loops in blocks",
    "elementwise.tiny": "native loop for tiny tensors",
    "gather_scatter.native": "native loop over indices",
    "gather_scatter.places": "native loop over places",
    "indexing.native": "native copy",
    "joining.native": "native copy",
    "linalg.batched_simd": "kernel with a matrix in each lane of a register",
    "linalg.factorization": "native loop over LAPACK calls",
    "linalg.functions.native": "kernel with a matrix in each lane of a register",
    "linalg.lapack": "native loop over LAPACK calls",
    "linalg.substitution.blas": "native loop over BLAS calls",
    "linalg.substitution.lanes": "kernel with a matrix in each lane of a register",
    "linalg.variants.tall": "kernel of the triangle that a QR decomposition leaves",
    "linalg.variants.systems": "kernel with a matrix in each lane of a register",
    "normalization.native": "native loop along lines",
    "padding.native": "native copy",
    "random.native": "native random numbers",
    "reduction.native": "native reduction",
    "scan.native": "native running sums",
    "sort.native": "native sort",
    "statistics.native": "native reduction",
    "views.native": "native copy",
}
"""What the native modules are, for users; NumPy's are all "NumPy"."""
_MAKES_ITS_RESULT: Final = ("gather_scatter.", "linalg.", "sort.")
"""Beginnings of names of native modules whose kernels make their results themselves, so that ``out=`` takes a copy."""
_ONE_THREAD: Final = frozenset({"contraction.tiny", "elementwise.tiny"})


def explain(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> KernelChoice:
    """The kernel that is bound to these forms.

    Raises:
        UnsupportedOperationError: the name is not in the table.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (3,), CPU)
    >>> explain("empty", (), form, None).kernel
    'NumPy'
    """
    row = kernel_table.ROWS.get(name)
    if row is None:
        raise UnsupportedOperationError(f"{name}: the cpu backend has no such operation", operation=name)
    converted = kernel_table.converted_forms(row, operands) if AVAILABLE else None
    if converted is not None:
        one = explain(name, converted, result, params)
        workspace = workspace_of(kernel_table.bind(name, operands, result, params))
        first = f"operands are converted to {converted[0].dtype.name} first"
        return one._replace(workspace_bytes=workspace, notes=(first, *one.notes), fills_output=False)
    notes: list[str] = []
    if row.native and not AVAILABLE:
        notes.append(f"the native kernels are not in use: {WHY_NOT}")
    for module in row.native if AVAILABLE else ():
        scope, kernel = row.scopes.get(module), None
        if scope is None or scope.has(operands, result):
            binder = kernel_table.binders(module).get(name)
            kernel = binder and binder(operands, result, params)
        if kernel is not None:
            used = 1 if module in _ONE_THREAD else _threads()
            fills = _is_native(kernel) and not module.startswith(_MAKES_ITS_RESULT)
            return KernelChoice(_IN_WORDS[module], used, workspace_of(kernel), tuple(notes), fills_output=fills)
        if scope is None or scope.dtype is None:  # one that is for another dtype would not be faster
            takes = import_module(f"tensor_cpu.kernels.{module}").TAKES
            notes.append(f"not the {_IN_WORDS[module]}, which takes {takes}; here {_shown(operands)}")
    kernel = kernel_table.bind_numpy(name, operands, result, params)
    if row.numpy == "contraction.choice" and name == "contract":
        from tensor_cpu.explained_contraction import explain_contract

        words, more, seconds = explain_contract(operands, result, params)
        fills = _is_native(kernel)
        return KernelChoice(words, _threads(), workspace_of(kernel), (*notes, *more), seconds, fills)
    return KernelChoice("a view" if facts_of(name).view else "NumPy", 1, workspace_of(kernel), tuple(notes))


def _is_native(kernel: Any) -> bool:
    kind: Any = getattr(LIBRARY, "Kernel", None)
    return AVAILABLE and type(kernel) is kind


def _threads() -> int:
    return threads.threads() if AVAILABLE and LIBRARY.threads() > 1 else 1


def _shown(operands: tuple[Operand, ...]) -> str:
    forms = [one for one in operands if isinstance(one, Form)]
    return "; ".join(f"{form.dtype.name}, shape {form.shape}, strides {form.strides}" for form in forms) or "no tensor"
