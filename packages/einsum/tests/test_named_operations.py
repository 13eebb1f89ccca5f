"""A message begins with the name of what was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_einsum import Plan, einsum, plan

A = tr.ones((2, 2))
MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "a character that is no label": (("i%,jk", A, A), {}),
    "an arrow too many": (("ij->i->", A), {}),
    "a stray dash": (("ij-", A), {}),
    "dots": (("i..", A), {}),
    "two ellipses": (("......", A), {}),
    "an open parenthesis": (("(ij", A), {}),
    "a closed one": (("ij)", A), {}),
    "nothing behind it": (("(ij)k", A), {}),
    "a label before it": (("i(j)", A), {}),
    "an operand in the output": (("ij->i,j", A), {}),
    "an unknown output": (("ij->k", A), {}),
    "an open bracket": (("[ij", A), {}),
    "a closed bracket": (("ij]", A), {}),
    "no name": (("[]j", A), {}),
    "a bracket in a name": (("[i[j]", A), {}),
    "a name that cannot be printed": (("[\n]j", A), {}),
    "half a character": (("\ud800j", A), {}),
    "interleaved, an unknown output": ((A, (0, 1), (2,)), {}),
    "interleaved, two ellipses": ((A, (..., ...), ()), {}),
    "interleaved, no order": ((A, (0, "j")), {}),
    "interleaved, no labels": ((A, 3), {}),
    "nothing to contract": ((A,), {}),
    "too few operands": (("ij,jk", A), {}),
    "none": (("ij,jk",), {}),
    "another rank": (("ijk", A), {}),
    "other extents": (("ij,jk", A, tr.ones((3, 3))), {}),
    "a diagonal": (("ii", tr.ones((2, 3))), {}),
    "an ellipsis left out": (("...->", A), {}),
    "no search": (("ij,jk,kl", A, A, A), {"optimize": "best"}),
    "no search for two": (("ij,jk", A, A), {"optimize": "best"}),
    "no path": (("ij,jk,kl", A, A, A), {"optimize": 3}),
    "an empty step": (("ij,jk,kl", A, A, A), {"optimize": [()]}),
    "a position twice": (("ij,jk,kl", A, A, A), {"optimize": [(0, 0)]}),
    "no such position": (("ij,jk,kl", A, A, A), {"optimize": [(0, 3)]}),
    "an incomplete path": (("ij,jk,kl", A, A, A), {"optimize": [(0, 1)]}),
    "two orders": (("ij,(jk,kl)", A, A, A), {"optimize": "greedy"}),
    "a search that fails": (("ij,jk,kl", A, A, A), {"optimize": lambda *problem: 1 // 0}),
    "seconds": (("ij,jk,kl", A, A, A), {"seconds": -1}),
    "seconds of another search": (("ij,jk,kl", A, A, A), {"seconds": 1, "optimize": "greedy"}),
    "an objective": (("ij,jk,kl", A, A, A), {"objective": "beauty"}),
    "bytes": (("ij,jk,kl", A, A, A), {"memory_limit": "much"}),
    "no limit that can be kept": (("ij,jk,kl->il", A, A, A), {"memory_limit": 1}),
    "no algebra": (("ij,jk,kl", A, A, A), {"algebra": "max_plus"}),
    "no such operand": (("ij,jk,kl", A, A, A), {"conj": 7}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("function", [einsum, plan])
def test_a_message_names_what_was_called(function: Callable[..., Any], mistake: str) -> None:
    arguments, options = MISTAKES[mistake]
    for _ in range(2):
        with pytest.raises(tr.TensorError) as caught:
            function(*arguments, **options)
        assert str(caught.value).startswith(f"{function.__name__}: ")


def test_a_notation_that_the_other_refused_is_refused_under_the_own_name() -> None:
    for first, second in ((einsum, plan), (plan, einsum)):
        for function in (first, second):
            with pytest.raises(tr.TensorError, match=f"^{function.__name__}: "):
                function("ij->%", A)


def test_a_stored_plan_names_itself() -> None:
    text = plan("ij,jk->ik", A, A).to_json()
    with pytest.raises(tr.TensorError, match=r"^Plan\.from_json: "):
        Plan.from_json(text.replace("ij,jk->ik", "ij,j%->ik"))
