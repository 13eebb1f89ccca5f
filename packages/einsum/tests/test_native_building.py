"""What the extension reads and builds at once: the same as what is read and built in Python."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_einsum import native
from tensor_einsum.notation.network import Network, read_network, resolve
from tensor_einsum.notation.reading import parse
from tensor_einsum.search.path import to_ids
from tensor_einsum.steps import steps as building
from tensor_einsum.steps.steps import Step

pytestmark = pytest.mark.skipif(not native.AVAILABLE, reason="the extension was not built")

_ALPHABET = "abcXY09éŁ"


@st.composite
def _networks(draw: st.DrawFn) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """A notation, mostly without anything unusual, and shapes that fit."""
    extents = {label: draw(st.integers(0, 4) | st.just(10**10)) for label in _ALPHABET}
    terms = draw(st.lists(st.text(_ALPHABET, max_size=4, min_size=0), min_size=1, max_size=5))
    known = sorted({*chain.from_iterable(terms)})
    output = "".join(draw(st.permutations(known))[: draw(st.integers(0, len(known)))])
    arrow = draw(st.sampled_from(["->" + output, "->" + output, ""]))
    return ",".join(terms) + arrow, tuple(tuple(extents[label] for label in term) for term in terms)


@given(_networks())
def test_notations_are_read_as_in_python(case: tuple[str, tuple[tuple[int, ...], ...]]) -> None:
    text, shapes = case
    assert native.LIBRARY.read_plain(text, shapes) is not None
    assert read_network("plan", text, shapes) == (resolve("plan", parse(text), shapes), None)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("i j->ij", ((2, 3),)),
        ("ij,(jk,kl)", ((2, 2), (2, 2), (2, 2))),
        ("...i", ((2,),)),
        ("[i]j", ((2, 3),)),
        ("i->j", ((2,),)),
        ("ij->i->j", ((2, 3),)),
        ("ij->i,j", ((2, 3),)),
        ("ij-", ((2, 3),)),
        ("ij,", ((2, 3),)),
        ("ij,jk", ((2, 3),)),
        ("ij", ((2, 3), (3, 4))),
        ("ij", ((2,),)),
        ("ij,jk", ((2, 1), (3, 4))),
        ("ij,jk", ((2, 5), (3, 4))),
        ("i\u00a0", ((2, 3),)),
        ("\ud800", ((2,),)),
        ("\u4e2d", ((2,),)),
        ("abcdefghijklmnopqrstu", ((1,) * 21,)),
    ],
)
def test_whatever_is_not_as_usual_is_left_to_python(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert native.LIBRARY.read_plain(text, shapes) is None


@given(_networks(), st.data())
def test_steps_are_those_that_python_builds(case: tuple[str, tuple[tuple[int, ...], ...]], data: st.DataObject) -> None:
    network, _ = read_network("plan", *case)
    left = len(case[1])
    linear = []
    while left > 1:
        pair = data.draw(st.permutations(range(left)))[:2]
        linear.append(tuple(pair))
        left -= 1
    path = to_ids(linear, len(case[1]))
    found = native.LIBRARY.build_steps(Step, network.inputs, network.output, network.names, network.extents, path, 8)
    usual = len({*network.output}) == len(network.output) and all(len({*term}) == len(term) for term in network.inputs)
    if not (usual and path):
        assert found is None
    elif found is None:
        assert max(network.extents) == 10**10  # whose products are beyond 64 bits
    else:
        assert found == building._Builder(network, 8, ()).build(path)
        assert {*map(type, found)} == {Step}


@pytest.mark.parametrize(
    "path", [(), ((0,),), ((0, 1, 2),), ((0, 0),), ((0, 2),), ((-1, 0),), ((0, 1), (2, 3)), ((0, "1"),), (0,)]
)
def test_paths_that_are_not_of_pairs_are_left_to_python(path: tuple[object, ...]) -> None:
    network, _ = read_network("plan", "ij,jk->ik", ((2, 3), (3, 4)))
    try:
        found = native.LIBRARY.build_steps(
            Step,
            network.inputs,
            network.output,
            network.names,
            network.extents,
            path,
            8,  # type: ignore[arg-type]
        )
    except TypeError:
        return
    assert found is None


def test_labels_that_are_not_there_are_no_steps() -> None:
    network = Network("ij", ((0, 7), (7, 1)), (0, 1), ("i", "j"), ((2, 3), (3, 4)), (2, 3), ((0, 7), (7, 1)))
    arguments = network.inputs, network.output, network.names, network.extents, ((0, 1),), 8
    assert native.LIBRARY.build_steps(Step, *arguments) is None
