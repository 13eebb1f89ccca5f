"""Labels that are sets, or hold some: named alike in every process, and however the sets were made."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_einsum import SubscriptsError, einsum, plan
from tensor_einsum.notation.label_names import as_python

PROGRAM = """
import tensor_runtime as tr
from tensor_einsum import plan
edge, corner = frozenset(("left", "right", "up")), (frozenset((frozenset(("a", "b", "c")), 1)), "x")
p = plan((2, 3), (edge, corner), (3,), (corner,), (edge,))
print(p.to_json())
print(p.marginals(tr.ones((2, 3)), tr.ones((3,)), labels=[edge]).keys())
"""


def test_plans_of_set_labels_do_not_depend_on_the_process() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout.splitlines()[0]
        for seed in range(4)
    }
    assert len(told) == 1


labels = st.recursive(
    st.integers() | st.text(max_size=3) | st.none(),
    lambda inner: st.frozensets(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple),
)


@given(labels)
def test_what_is_no_set_is_named_as_it_prints(label: object) -> None:
    text = as_python(label)
    assert eval(text) == label
    if "frozenset" not in text:
        assert text == repr(label)


def test_equal_sets_have_one_name() -> None:
    numbers = [8, 0, 16, 24]  # which collide in a small table
    one, other = frozenset(numbers), frozenset(reversed(numbers))
    found = plan((2, 3), (one, "j"), (3,), ("j",), (other,))
    assert found == plan((2, 3), (other, "j"), (3,), ("j",), (one,))
    assert found.names[0] == "frozenset({0, 16, 24, 8})"
    assert found.marginals(tr.ones((2, 3)), tr.ones((3,)), labels=[other])


@pytest.mark.parametrize("kind", [set, frozenset])
def test_classes_that_print_otherwise_keep_their_names(kind: type) -> None:
    class Bond(kind):  # type: ignore[misc]
        def __repr__(self) -> str:
            return "bond"

    assert as_python(Bond("ab")) == "bond"
    assert as_python(kind()) == repr(kind())


def test_a_number_of_more_digits_than_python_prints_is_a_label() -> None:
    a, long = tr.tensor([[1.0, 2.0], [3.0, 4.0]]), 10**5000
    assert einsum(a, (long, 0), (long,)).tolist() == [3.0, 7.0]
    assert einsum(a, ((1, long), 0), ((1, long),)).tolist() == [3.0, 7.0]
    with pytest.raises(SubscriptsError, match="output label 7 is in no operand"):
        einsum(a, (long, 0), (long, 7))
