"""Tensors inside autoray and einops: NumPy's meaning under NumPy's names, and nothing computed by NumPy instead."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import Any

import autoray
import cotengra
import numpy as np
import opt_einsum
import pytest

import tensor_runtime as tr
from tensor_core import C32, F32, F64, I64, BackendUnavailableError
from tensor_core.errors import DTypeError, PluginLoadError, ShapeError
from tensor_runtime.backends.plugins.families import Family, FamilyTable
from tensor_runtime.interop import use_with_autoray, use_with_einops

X = np.arange(24.0).reshape(2, 3, 4) - 7.5


@pytest.fixture(autouse=True)
def registered() -> None:
    use_with_autoray()


def asked(name: str, *arguments: Any, **options: Any) -> Any:
    def ours(one: Any) -> Any:
        return tr.asarray(one) if isinstance(one, np.ndarray) else [ours(x) for x in one] if type(one) is list else one

    return autoray.do(name, *map(ours, arguments), like="tensor_runtime", **options)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, (list, tuple)):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    if isinstance(expected, np.ndarray):
        assert isinstance(found, tr.Tensor)
        assert found.dtype.numpy_name == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("reshape", (X, (4, -1)), {}),
        ("reshape", (X, -1), {}),
        ("ravel", (X,), {}),
        ("transpose", (X,), {}),
        ("transpose", (X,), {"axes": (1, 2, 0)}),
        ("swapaxes", (X, 0, 2), {}),
        ("moveaxis", (X, 0, -1), {}),
        ("array", ([[1, 2], [3, 4]],), {}),
        ("array", (X,), {"dtype": "float32"}),
        ("asarray", (X,), {"dtype": "complex64"}),
        ("zeros", ((2, 3),), {"dtype": "complex128"}),
        ("ones", (3,), {}),
        ("eye", (3,), {"dtype": "float32"}),
        ("identity", (2,), {}),
        ("zeros_like", (X,), {}),
        ("arange", (5,), {}),
        ("indices", ((2, 3),), {}),
        ("diag", (X[0, 0],), {}),
        ("diag", (X[0],), {}),
        ("diagonal", (X,), {"axis1": 1, "axis2": 2}),
        ("trace", (X,), {"axis1": 1, "axis2": 2}),
        ("take", (X, np.array([2, 0])), {"axis": 1}),
        ("take", (X, np.array([5, 7])), {}),
        ("repeat", (X, 2), {}),
        ("repeat", (X, 2), {"axis": 1}),
        ("cumsum", (X,), {}),
        ("cumsum", (X,), {"axis": 1}),
        ("cumprod", (X[0],), {"axis": 0}),
        ("clip", (X, -1, 1), {}),
        ("clip", (X,), {"a_min": 0.0, "a_max": 3.0}),
        ("flip", (X,), {"axis": 1}),
        ("concatenate", ([X, X],), {"axis": 2}),
        ("stack", ([X, X],), {"axis": 1}),
        ("outer", (X[0], X[1, 0]), {}),
        ("vdot", (X + 1j, X - 2j), {}),
        ("tensordot", (X, X), {"axes": ((1, 2), (1, 2))}),
        ("einsum", ("abc,abd->cd", X, X), {}),
        ("dot", (X, X[0].T), {}),
        ("kron", (X[0], X[1]), {}),
        ("power", (X, 2), {}),
        ("absolute", (X,), {}),
        ("conjugate", (X,), {}),
        ("sum", (X,), {"axis": (0, 2)}),
        ("max", (X,), {"axis": 1, "keepdims": True}),
        ("argmax", (X,), {"axis": 1}),
        ("where", (X > 0, X, 0.0), {}),
        ("count_nonzero", (X > 0,), {}),
        ("allclose", (X, X), {}),
        ("squeeze", (X[:1],), {}),
        ("expand_dims", (X, 1), {}),
        ("isfinite", (X,), {}),
        ("pad", (X[0], ((1, 0), (0, 2))), {}),
        ("linalg.norm", (X[0, 0],), {}),
    ],
)
def test_names_that_autoray_asks_for_have_numpys_meaning(name: str, arguments: Any, options: Any) -> None:
    expected = getattr(np.linalg if "." in name else np, name.rpartition(".")[2])(*arguments, **options)
    same(asked(name, *arguments, **options), expected)


def test_linear_algebra_comes_from_the_family_with_batches_first() -> None:
    u, s, vh = asked("linalg.svd", X)
    assert (u.shape, s.shape, vh.shape) == ((2, 3, 3), (2, 3), (2, 3, 4)), "thin, unlike NumPy's"
    np.testing.assert_allclose(((u * s[:, None, :]) @ vh).to_numpy(), X, atol=1e-12)


def test_element_types_go_by_numpys_names() -> None:
    x = tr.ones((2, 2), F32)
    assert autoray.get_dtype_name(x) == "float32"
    assert autoray.get_common_dtype(x, tr.ones(1, C32)) == "complex64"
    assert autoray.astype(x, "complex64").dtype is C32
    assert autoray.do("zeros", (2,), like=x).dtype is F32, "the type of the example"
    assert autoray.do("finfo", x.dtype, like=x).eps == np.finfo(np.float32).eps
    assert isinstance(autoray.to_numpy(x), np.ndarray)
    assert autoray.from_numpy(np.ones(2), like=x).dtype is F32
    with pytest.raises(DTypeError, match="drops imaginary parts"):
        autoray.astype(tr.ones(1, C32), "float32")


def test_reshape_of_autoray_counts_in_row_major_order_wherever_it_was_imported() -> None:
    module = ModuleType("imported_before")
    sys.modules[module.__name__] = module
    try:
        ours = autoray.reshape
        theirs = ours.__wrapped__
        module.reshape = autoray.reshape = autoray.autoray.reshape = theirs  # type: ignore[attr-defined]
        use_with_autoray()
        x = np.arange(6).reshape(2, 3)
        for reshape in (autoray.reshape, autoray.autoray.reshape, module.reshape):
            same(reshape(tr.asarray(x), (3, 2)), x.reshape(3, 2))
            np.testing.assert_array_equal(reshape(x, (3, 2)), x.reshape(3, 2))
        replaced = autoray.reshape
        use_with_autoray()
        assert autoray.reshape is replaced, "a second call changes nothing"
    finally:
        del sys.modules[module.__name__]


def test_a_name_that_nobody_answers_is_an_error_and_never_numpys() -> None:
    with pytest.raises(ImportError, match="fft"):
        asked("fft.fft", X)


def test_vectors_of_scipys_solvers_join_a_product_and_nothing_else() -> None:
    vector = np.arange(4.0)
    found = autoray.do("tensordot", tr.asarray(X), vector, axes=((2,), (0,)))
    same(found, np.tensordot(X, vector, ((2,), (0,))))
    same(autoray.do("einsum", "abc,c->ab", tr.asarray(X), vector), X @ vector)
    same(autoray.do("stack", (tr.asarray(vector), vector)), np.stack((vector, vector)))


def test_random_tensors_follow_their_seed() -> None:
    one, other = (autoray.do("random.default_rng", 3, like="tensor_runtime") for _ in range(2))
    first = one.normal(1.0, 2.0, (50, 40))
    assert (first == other.normal(1.0, 2.0, (50, 40))).to_numpy().all()
    assert not (first == one.normal(1.0, 2.0, (50, 40))).to_numpy().any()
    assert abs(float(tr.mean(first)) - 1) < 0.2 and abs(float(tr.std(first)) - 2) < 0.2
    drawn = one.uniform(2.0, 3.0, size=100, dtype="float32")
    assert drawn.dtype is F32 and float(tr.min(drawn)) >= 2 and float(tr.max(drawn)) <= 3
    assert autoray.do("random.normal", size=(2, 3), like="tensor_runtime").shape == (2, 3)
    assert autoray.do("random.uniform", like="tensor_runtime").dtype is F64


@pytest.mark.parametrize("strip", [False, True])
def test_cotengra_contracts_tensors_whole_and_in_slices(strip: bool) -> None:
    inputs, output, _, sizes = cotengra.utils.rand_equation(6, 3, n_out=2, seed=1)
    tree = cotengra.ContractionTree.from_path(inputs, output, sizes, path=((0, 1),) * 5)
    arrays = [np.random.default_rng(i).normal(size=[sizes[one] for one in term]) for i, term in enumerate(inputs)]
    expected = tree.contract(arrays)
    for one in (tree, tree.slice(target_slices=4)):
        found = one.contract(list(map(tr.asarray, arrays)), strip_exponent=strip)
        if strip:
            assert isinstance(found[0], tr.Tensor)
            found = found[0] * 10.0 ** float(found[1])
        assert isinstance(found, tr.Tensor)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-10, atol=1e-12)


def test_opt_einsum_contracts_tensors_by_our_functions() -> None:
    found = opt_einsum.contract("abc,abd,d->c", tr.asarray(X), tr.asarray(X), tr.ones(4))
    assert isinstance(found, tr.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.einsum("abc,abd,d->c", X, X, np.ones(4)))
    expression = opt_einsum.contract_expression("ab,bc->ac", (2, 3), (3, 4))
    assert isinstance(expression(tr.ones((2, 3)), tr.ones((3, 4)), backend="tensor_runtime"), tr.Tensor)


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "autoray", None)
    monkeypatch.setitem(sys.modules, "einops", None)
    with pytest.raises(BackendUnavailableError, match="pip install autoray"):
        use_with_autoray()
    with pytest.raises(BackendUnavailableError, match="pip install einops"):
        use_with_einops()


def test_einops_finds_a_class_that_answers_all_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    class AbstractBackend:
        """Stands for that of einops, which is not installed here; its own tests are run by ``make test-clients``."""

    backends = ModuleType("einops._backends")
    backends.AbstractBackend = AbstractBackend  # type: ignore[attr-defined]
    einops = ModuleType("einops")
    einops._backends = backends  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "einops", einops)
    monkeypatch.setitem(sys.modules, "einops._backends", backends)
    use_with_einops()
    use_with_einops()

    (found,) = AbstractBackend.__subclasses__()
    ours: Any = found()
    x = tr.asarray(X)
    assert ours.framework_name == "tensor_runtime"
    assert ours.is_appropriate_type(x) and not ours.is_appropriate_type(X)
    same(ours.from_numpy(X), X)
    np.testing.assert_array_equal(ours.to_numpy(x), X)
    same(ours.arange(2, 5), np.arange(2, 5))
    same(ours.reshape(x, [6, 4]), X.reshape(6, 4))
    same(ours.transpose(x, (2, 0, 1)), X.transpose(2, 0, 1))
    same(ours.reduce(x, "mean", [0, 2]), X.mean((0, 2)))
    same(ours.stack_on_zeroth_dimension([x, x]), np.stack([X, X]))
    same(ours.tile(ours.add_axis(x, 1), (1, 2, 1, 1)), np.tile(X[:, None], (1, 2, 1, 1)))
    same(ours.concat([x, x], 1), np.concatenate([X, X], 1))
    same(ours.einsum("abc->ca", x), X.sum(1).T)
    assert ours.is_float_type(x) and not ours.is_float_type(tr.ones(1, I64))


def test_functions_of_a_family_in_trouble_are_not_taken() -> None:
    good = Family("good", "good 1.0", "good/1", autoray="tensor_linalg.quimb_table:QUIMB")
    table = FamilyTable(lambda: [good, Family("bad", "bad 1.0", autoray="nowhere:NAMES", trouble="broken")])
    assert "linalg.svd" in table.functions_for_autoray()
    for place, said in (
        ("nowhere:NAMES", "No module named 'nowhere'"),
        ("math:pi", "math:pi is a float"),
        ("x", "'x'"),
    ):
        waves = [Family("waves", "waves 1.0", "waves/1", autoray=place)]
        table = FamilyTable(partial(list, waves))
        with pytest.raises(PluginLoadError, match=f"autoray: {place} of waves 1.0 did not load: .*{said}"):
            table.functions_for_autoray()


def test_indices_of_a_wrong_shape_stay_our_errors() -> None:
    with pytest.raises(ShapeError):
        asked("reshape", X, (5, 5))
