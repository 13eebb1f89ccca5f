"""The kernel table: which modules bind each kernel, the native ones in order, and the choice among them.

A module is imported when one of its kernels is bound for the first time, so that importing the backend costs little
more than importing NumPy. A native binder answers None for forms that it has nothing for; the next one is asked then,
and NumPy's binder in the end. Where the table says for which forms alone a native module has kernels, it is not even
asked about others. Where it says so, operands of several dtypes are converted to one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import UnsupportedOperationError
from tensor_core.promotion import promote
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.form import Form, form_of
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.protocols import Kernel, Operand, Result

Binder = Callable[[tuple[Any, ...], Any, Any], Kernel]
"""From the forms of the operands, the form of the result and the params to a kernel."""
NativeBinder = Callable[[tuple[Operand, ...], Any, Any], Kernel | None]
"""The same, or None where there is no native kernel for these forms."""


class Scope(NamedTuple):
    """For which forms a native module has kernels at all; what is left open does not matter.

    Only for kernels whose operands and result are tensors.
    """

    dtype: DType | None = None  # of the result
    most_elements: int | None = None  # of every operand and of the result

    def has(self, operands: tuple[Any, ...], result: Any) -> bool:
        """Whether these forms are within it.

        >>> from tensor_core import F64
        >>> from tensor_runtime.form import form_of
        >>> from tensor_runtime.placement import CPU
        >>> form = form_of(F64, (3,), CPU)
        >>> Scope(most_elements=3).has((form,), form), Scope(dtype=Bool).has((form,), form)
        (True, False)
        """
        dtype, most = self
        if dtype is not None and result.dtype is not dtype:
            return False
        if most is not None:
            for form in operands:
                if form.size > most:
                    return False
            if result.size > most:
                return False
        return True


class Row(NamedTuple):
    """Modules inside ``tensor_cpu.kernels``, each with a table ``BINDERS`` that names the kernel."""

    numpy: str
    native: tuple[str, ...] = ()  # asked in this order, before NumPy
    scopes: Mapping[str, Scope] = MappingProxyType({})  # of native modules that need not be asked about all forms
    one_dtype: bool = False  # operands of several are converted before native modules are asked


MOST_TINY_TERMS: Final = 512  # multiplications: ``contraction.loops.stack`` catches up with ``contraction.tiny`` there

_UFUNC: Final = "elementwise.numpy"
_PROGRAM: Final = ("elementwise.native",)
_LOOPS: Final = (*_PROGRAM, "elementwise.loops")
_TINY: Final = ("elementwise.tiny", *_LOOPS)
_FACTORIZATION: Final = ("linalg.factorization",)
_LINALG: Final = Row("linalg.numpy", ("linalg.batched_simd", "linalg.lapack"))

FAMILIES: Final[Mapping[str, Mapping[str, Row]]] = {
    "activations": {
        **dict.fromkeys(
            ("sigmoid", "silu", "softplus", "relu", "gelu", "softmax", "log_softmax"),
            Row("activations.numpy", ("activations.native",)),
        ),
    },
    "arithmetic": {
        **dict.fromkeys(("add", "subtract", "multiply", "divide", "negative", "abs"), Row(_UFUNC, _TINY)),
        "pow": Row("elementwise.arithmetic", _LOOPS),
    },
    "comparison": dict.fromkeys(("equal", "not_equal", "less", "less_equal"), Row(_UFUNC, _TINY)),
    "complex_parts": dict.fromkeys(("complex", "real", "imag"), Row("elementwise.complex_parts", _PROGRAM)),
    "contraction": {
        "contract": Row(
            "contraction.choice",
            ("contraction.tiny", "contraction.native_semiring"),
            {
                "contraction.tiny": Scope(most_elements=MOST_TINY_TERMS),
                "contraction.native_semiring": Scope(dtype=Bool),
            },
        ),
        "conj_contract": Row("contraction.conjugated"),
        "lean_contract": Row("contraction.choice"),
        "semiring_contract": Row("contraction.semiring", ("contraction.native_semiring",)),
        "semiring_unary_einsum": Row("contraction.semiring", ("contraction.native_unary_einsum",)),
        "unary_einsum": Row("contraction.choice", ("contraction.native_unary_einsum",)),
    },
    "conversion": dict.fromkeys(("convert", "cast"), Row("conversion.numpy", ("conversion.native",))),
    "convolution": {"conv": Row("convolution")},
    "creation": {
        **dict.fromkeys(("full", "arange", "linspace"), Row("creation.numpy", ("creation.native",))),
        **dict.fromkeys(("empty", "eye"), Row("creation.numpy")),
    },
    "diagonals": {
        "embed_diagonal": Row("diagonals.numpy"),
        **dict.fromkeys(("tril", "triu"), Row("diagonals.numpy", ("diagonals.native",))),
    },
    "division": {
        **dict.fromkeys(
            (
                "floor_divide", "remainder", "fmod", "floor_divide_unchecked", "remainder_unchecked", "fmod_unchecked",
            ),
            Row("elementwise.division", _LOOPS),
        ),
        **dict.fromkeys(("trunc_divide", "trunc_divide_unchecked", "div", "rem"), Row("elementwise.division")),
    },
    "exponential": {
        "sqrt": Row(_UFUNC, _TINY),
        **dict.fromkeys(("rsqrt", "expm1", "log1p", "erf", "erfc"), Row("elementwise.exponential", _PROGRAM)),
    },
    "fusion": {"elementwise_program": Row("elementwise.fused", _PROGRAM)},
    "gather_scatter": {
        **dict.fromkeys(("take", "put_along_axis"), Row("gather_scatter.gather", ("gather_scatter.places",))),
        **dict.fromkeys(("nonzero", "take_along_axis"), Row("gather_scatter.gather", ("gather_scatter.native",))),
        **dict.fromkeys(("gather", "scatter"), Row("gather_scatter.scatter", ("gather_scatter.places",))),
    },
    "indexing": {
        **dict.fromkeys(("slice_view", "mutable_view"), Row("indexing.numpy")),
        "copy_into": Row("indexing.numpy", ("indexing.native",)),
        "add_into": Row("indexing.numpy"),
    },
    "joining": {
        **dict.fromkeys(("concatenate", "stack"), Row("joining.numpy", ("joining.native",))),
        **dict.fromkeys(("repeat", "tile", "roll"), Row("joining.numpy", ("joining.native",))),
    },
    "linalg": {
        **dict.fromkeys(("qr", "eigvalsh", "cholesky", "inv", "det"), _LINALG),
        "solve": Row(
            "linalg.numpy", ("linalg.batched_simd", "linalg.variants.systems", "linalg.lapack"), one_dtype=True
        ),
        **dict.fromkeys(("eigh", "svd", "svdvals"), _LINALG._replace(numpy="linalg.drivers")),
        **dict.fromkeys(("eig", "eigvals", "qr_complete", "svd_full"), Row("linalg.numpy", _FACTORIZATION)),
        **dict.fromkeys(
            ("hessenberg", "ldl", "lu_factor", "qr_pivoted", "schur"), Row("linalg.factors", _FACTORIZATION)
        ),
        **dict.fromkeys(
            ("expm", "sqrtm_iterated"), Row("linalg.functions.numpy", ("linalg.functions.native",))
        ),
        "lstsq": Row("linalg.least_squares", ("linalg.batched_simd", "linalg.variants.tall")),
        "lu_complete": Row("linalg.elimination", _FACTORIZATION),
        "slogdet": Row("linalg.numpy", ("linalg.batched_simd", *_FACTORIZATION)),
        "eigh_range": Row("linalg.factors", _FACTORIZATION),
        **dict.fromkeys(
            ("solve_banded", "solve_toeplitz", "solveh_banded"),
            Row("linalg.structured", _FACTORIZATION, one_dtype=True),
        ),
        **{
            f"{name}_overwriting": Row("linalg.variants.overwriting")
            for name in ("cholesky", "eigh", "inv", "lu_factor", "qr", "solve", "svd", "triangular_solve")
        },
        **dict.fromkeys(("cholesky_status", "inv_status", "solve_status"), Row("linalg.variants.status")),
        **dict.fromkeys(
            ("triangular_solve", "triangular_solve_checked"),
            Row(
                "linalg.substitution.numpy", ("linalg.substitution.lanes", "linalg.substitution.blas"), one_dtype=True
            ),
        ),
    },
    "normalization": dict.fromkeys(
        ("layer_norm", "rms_norm"), Row("normalization.numpy", ("normalization.native",))
    ),
    "padding": {"pad": Row("padding.numpy", ("padding.native",)), "pad_edge": Row("padding.numpy")},
    "pooling": dict.fromkeys(("max_pool", "mean_pool"), Row("pooling")),
    "random": dict.fromkeys(("uniform", "integers", "normal"), Row("random.numpy", ("random.native",))),
    "reduction": dict.fromkeys(elementwise.REDUCTIONS, Row("reduction.numpy", ("reduction.native",))),
    "rounding": dict.fromkeys(("floor", "ceil", "trunc", "round"), Row("elementwise.rounding", _PROGRAM)),
    "scan": dict.fromkeys(("cumsum", "cumprod"), Row("scan.numpy", ("scan.native",))),
    "selection": {
        **dict.fromkeys(("where", "clip"), Row("elementwise.selection", _PROGRAM)),
        **dict.fromkeys(("maximum", "minimum"), Row(_UFUNC, _TINY)),
    },
    "slicing": dict.fromkeys(("dynamic_slice", "dynamic_update_slice"), Row("slicing")),
    "sort": {
        "unique": Row("sort.numpy"),
        **dict.fromkeys(
            ("sort", "argsort", "searchsorted_left", "searchsorted_right"), Row("sort.numpy", ("sort.native",))
        ),
    },
    "statistics": dict.fromkeys(
        ("mean", "var", "std", "norm", "argmax", "argmin"), Row("statistics.numpy", ("statistics.native",))
    ),
    "views": {
        **dict.fromkeys(
            ("transpose_view", "reshape_view", "broadcast_view", "diagonal_view", "reverse_view"), Row("views.numpy")
        ),
        "copy": Row("views.numpy", ("views.native",)),
    },
}  # fmt: skip
"""Rows by the families of ``tensor_runtime.ops``; what is not here is bound by its row of the array namespace alone."""

ROWS: Final[Mapping[str, Row]] = {
    **dict.fromkeys((*elementwise.BINARY, *elementwise.UNARY), Row(_UFUNC, _LOOPS)),
    **{name: row for rows in FAMILIES.values() for name, row in rows.items()},
}
"""Every kernel of this backend."""


def kernels_of(module: str, /) -> tuple[str, ...]:
    """Names of the kernels for which a module inside ``tensor_cpu.kernels`` is asked.

    >>> kernels_of("scan.native")
    ('cumsum', 'cumprod')
    """
    return tuple(name for name, row in ROWS.items() if module == row.numpy or module in row.native)


def bind(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
    """The first kernel that a binder has for these forms.

    Raises:
        UnsupportedOperationError: the name is not in the table.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> callable(bind("add", (form, form), form, None))
    True
    >>> bind("untangle", (form,), form, None)
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: untangle: the cpu backend has no such operation
    """
    row = ROWS.get(name)
    if row is None:
        raise UnsupportedOperationError(f"{name}: the cpu backend has no such operation", operation=name)
    if AVAILABLE:
        converted = converted_forms(row, operands)
        if converted is not None:
            return _bind_converting(name, operands, converted, result, params)
        for module in row.native:
            scope = row.scopes.get(module)
            if scope is not None and not scope.has(operands, result):
                continue
            native = binders(module).get(name)
            kernel: Kernel | None = None if native is None else native(operands, result, params)
            if kernel is not None:
                return kernel
    return bind_numpy(name, operands, result, params)


def converted_forms(row: Row, operands: tuple[Operand, ...], /) -> tuple[Form, ...] | None:
    """Forms of the operands once all have the dtype that they promote to; None where nothing has to be converted.

    >>> from tensor_core import F32, F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (2, 2), CPU), form_of(F32, (2,), CPU)
    >>> converted_forms(ROWS["solve"], (a, b)) == (a, form_of(F64, (2,), CPU)), converted_forms(ROWS["add"], (a, b))
    (True, None)
    """
    if not row.one_dtype:
        return None
    forms = [operand for operand in operands if isinstance(operand, Form)]
    dtype = promote(*(form.dtype for form in forms))
    if len(forms) < len(operands) or all(form.dtype is dtype for form in forms):
        return None
    return tuple(form if form.dtype is dtype else form_of(dtype, form.shape, form.placement) for form in forms)


def _bind_converting(
    name: str, operands: tuple[Operand, ...], converted: tuple[Form, ...], result: Result, params: Any
) -> Kernel:
    """The kernel of operands that are converted; NumPy's tells what is not finite as it was given."""
    kernel = bind(name, converted, result, params)
    pairs = list(zip(operands, converted, strict=True))
    converts = [None if given is form else bind("convert", (given,), form, None) for given, form in pairs]

    def converting(*arrays: Any) -> Any:
        try:
            return kernel(*(x if convert is None else convert(x) for x, convert in zip(arrays, converts, strict=True)))
        except NonFiniteError:
            pass
        return bind_numpy(name, operands, result, params)(*arrays)

    copies = sum(form.nbytes for given, form in pairs if given is not form)
    return with_workspace(converting, workspace_of(kernel) + copies)


def bind_numpy(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
    """NumPy's kernel of a name in the table, whatever native ones there are.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind_numpy("negative", (form,), form, None)(np.array([2.0, 3.0])).tolist()
    [-2.0, -3.0]
    """
    kernel: Kernel = binders(ROWS[name].numpy)[name](operands, result, params)
    return kernel


# A fork in the middle of an import would leave Python's own lock of that module held in the child.
_importing: Final = fork_safe_lock(awaited=True)


@cache
def binders(module: str, /) -> Mapping[str, Any]:
    """The binders of a module inside ``tensor_cpu.kernels``, which is imported.

    >>> sorted(binders("scan.numpy"))
    ['cumprod', 'cumsum']
    """
    with _importing:
        table: Mapping[str, Any] = import_module(f"tensor_cpu.kernels.{module}").BINDERS
    return table
