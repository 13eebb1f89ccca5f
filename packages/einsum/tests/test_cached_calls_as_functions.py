"""What ``cached_call`` gives is a function as any other, with the extension and without."""

from __future__ import annotations

import copy
import doctest
import gc
import inspect
import io
import pickle
import pydoc
import weakref
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_einsum import api, einsum, native, plan
from tensor_einsum.cached_calls import cached_call
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable
from without_extension import printed

NATIVE = pytest.mark.skipif(not native.AVAILABLE, reason="the extension was not built")


A = tr.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_einsum_looks_like_the_function_it_is() -> None:
    assert str(inspect.signature(einsum)) == "(notation: 'Any', /, *operands: 'Any', **options: 'Any') -> 'Any'"
    assert str(inspect.signature(plan("i->", (2,)))) == "(*operands: 'Tensor', **options: 'Any') -> 'Any'"
    assert einsum.__name__ == einsum.__qualname__ == "einsum"
    assert einsum.__module__ == "tensor_einsum.api"
    assert (einsum.__doc__ or "").startswith("Sum of products")
    assert inspect.isroutine(einsum)
    assert repr(einsum).startswith("<function einsum at ")
    assert "def einsum(notation: Any" in inspect.getsource(einsum)
    written = io.StringIO()
    pydoc.Helper(output=written)(einsum)
    assert written.getvalue().startswith("Help on ")
    assert "einsum(notation: 'Any', /, *operands: 'Any', **options: 'Any') -> 'Any'" in written.getvalue()
    assert "Einstein's convention" in written.getvalue()
    assert "einsum(" in pydoc.plain(pydoc.render_doc(api))


def test_einsum_is_found_again_by_pickle_and_copy_and_may_be_held_weakly() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(einsum, protocol)) is einsum
    assert copy.copy(einsum) is einsum
    assert copy.deepcopy(einsum) is einsum
    assert weakref.ref(einsum)() is einsum
    assert {einsum: 1}[einsum] == 1


def test_as_an_attribute_of_a_class_it_is_a_method() -> None:
    class Notation(str):
        __slots__ = ()
        contract = einsum

    assert Notation("ii->").contract(A).item() == 5.0
    assert Notation.contract("ii->", A).item() == 5.0


def test_the_examples_in_the_documentation_of_cached_calls_are_found() -> None:
    examples = {test.name: len(test.examples) for test in doctest.DocTestFinder().find(api)}
    assert examples["tensor_einsum.api.einsum"] > 10


@NATIVE
def test_a_decorated_function_leaves_with_what_refers_to_it() -> None:
    table: CacheTable[Any] = CacheTable(BoundedCache())

    def make() -> list[weakref.ref[Any]]:
        def function(name: str, x: Any) -> Any:
            return "in Python", function, decorated

        decorated = cached_call(table)(function)
        decorated.itself = decorated  # type: ignore[attr-defined]
        assert decorated("a", A)[0] == "in Python"
        return [weakref.ref(function), weakref.ref(decorated)]

    watched = make()
    gc.collect()
    assert [one() for one in watched] == [None, None]


@NATIVE
def test_the_native_call_refuses_to_be_made_from_anything_else() -> None:
    make: Any = native.LIBRARY.CachedCall

    class Loose:
        _form = _array = None

    with pytest.raises(AttributeError):
        make(len, {}, len, int)
    with pytest.raises(TypeError, match="_form of Loose is no slot"):
        make(len, {}, len, Loose)
    with pytest.raises(TypeError):
        make(len, [], len, tr.Tensor)
    with pytest.raises(TypeError):
        make(len, {}, len)
    with pytest.raises(TypeError, match="positional"):
        make(len, {}, len, tensor=tr.Tensor)
    assert make(len, {}, len, tr.Tensor)([1, 2]) == 2
    with pytest.raises(TypeError):
        make.anything = 1


def test_without_the_extension_every_call_is_the_same() -> None:
    code = (
        "import tensor_runtime as tr\n"
        "from tensor_einsum import einsum, plan\n"
        "from types import FunctionType\n"
        "a = tr.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        "p = plan('ij,jk->ik', a, a)\n"
        "for _ in range(3):\n"
        "    found = [einsum('ij,jk->ik', a, a), einsum('ij,jk->ik', a, a, optimize='greedy'), p(a, a)]\n"
        "print(type(einsum) is FunctionType, [x.to_numpy().tolist() for x in found])\n"
    )
    assert printed(code) == f"True {[[[7.0, 10.0], [15.0, 22.0]]] * 3}\n"
