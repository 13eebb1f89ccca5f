"""The conformance suite: what every backend must do, as one class to subclass (extra ``testing``).

```python
@pytest.fixture(scope="module")
def placement() -> Placement:
    return as_placement("mine")


class TestMyBackend(BackendConformance):
    pass
```

``tensor_runtime.testing.pytest_plugin`` does the same in one line, and counts what either of both finds.

Every case runs with its operands as given, and as equal views: transposed, backwards, with gaps. Results are compared
on the host, with the bits that an oracle in plain Python expects. What no result shows, ``conformance_parts.memory``
and ``conformance_parts.facts`` ask; ``conformance_parts.sequences`` asks backends that run several kernels as one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

import pytest
from hypothesis import HealthCheck, given, settings

from tensor_core.dtypes import C64, I32
from tensor_core.errors import TensorError, UnsupportedOperationError
from tensor_core.host.tensor import HostTensorView
from tensor_core.shapes import canonical_strides
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.contraction import tensordot
from tensor_runtime.ops.indexing import copy_into, mutable_view
from tensor_runtime.ops.reduction import sum
from tensor_runtime.ops.views import copy
from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import download, trace_transfers, upload
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases, family_cases
from tensor_runtime.testing.comparing import difference, inverted
from tensor_runtime.testing.conformance_parts.devices import DevicesConformance
from tensor_runtime.testing.conformance_parts.facts import FactsConformance
from tensor_runtime.testing.conformance_parts.memory import Lacking, MemoryConformance, check_unsupported, require
from tensor_runtime.testing.conformance_parts.sequences import SequenceConformance
from tensor_runtime.testing.layout_variants import VARIANTS
from tensor_runtime.testing.oracle import Host
from tensor_runtime.testing.pytest_plugin import LACKING, PLACE
from tensor_runtime.testing.strategies import ViewedTensor, tensors, viewed_tensors

Record = Callable[[str, object], None]
CASES = (*all_cases(), *family_cases())
MOVING = frozenset(
    {"to", "upload", "download", "tensor", "from_flat", "asarray", "copy_into", "item", "tabulate", "from_function"}
)
"""Operations that may move elements between placements."""

ANYWHERE: Final[Mapping[str, Callable[[Tensor], Tensor]]] = {
    "add": lambda x: add(x, x),
    "cast": lambda x: cast(x, I32),
    "convert": lambda x: convert(x, C64),
    "equal": lambda x: equal(x, x),
    "sum": lambda x: sum(x, axis=tuple(range(0, x.rank, 2))),
    "tensordot": lambda x: tensordot(x, x, axes=0),
}
"""Operations that take any tensor; of small whole numbers they are exact, whatever the order."""


class BackendConformance(MemoryConformance, FactsConformance, SequenceConformance, DevicesConformance):
    """Subclass it under a name that begins with ``Test``, beside a fixture ``placement`` that says where to compute.

    >>> "add-F64" in [case.id for case in CASES]
    True
    """

    layouts: ClassVar[Collection[str]] = tuple(VARIANTS)
    """In which every case runs; fewer for a second backend on kernels that were tried in all."""

    def array_is_laid_out(self, tensor: Tensor) -> bool:
        """Whether the array lies in memory as the tensor's form says, as ``examine`` of its backend does."""
        backend: Any = registry.backend_for(tensor.placement)
        examine = None if getattr(backend, "only_pure", False) else getattr(backend, "examine", None)
        return examine is None or examine(tensor._array, tensor._form) is None

    @pytest.fixture(autouse=True)
    def placement_in_the_report(self, placement: Placement, record_property: Record) -> None:
        """Where a test computed, for whoever counts."""
        record_property(PLACE, str(placement))

    @pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
    def test_case(self, case: Case, placement: Placement, record_property: Record) -> None:
        """A case gives what it must, whatever the layout of its operands."""
        for lacking in sorted(check_case(case, placement, self.array_is_laid_out, self.layouts)):
            record_property(LACKING, lacking)

    def test_identifiers_are_unique(self) -> None:
        """No two cases bear one name."""
        seen: set[str] = set()
        twice = {case.id for case in CASES if case.id in seen or seen.add(case.id)}  # type: ignore[func-returns-value]
        require(not twice, f"cases share the names {sorted(twice)}")

    def test_what_is_lacking_bears_a_reason(self, placement: Placement) -> None:
        """``unsupported()`` names operations, each with words."""
        for name, reason in registry.backend_for(placement).unsupported().items():
            require(bool(name) and len(reason) > 3, f"unsupported() gives {name!r} the reason {reason!r}")

    def test_any_chain_of_views_names_the_same_elements(self, placement: Placement) -> None:
        """Views of views give the elements that the host's layouts give."""

        @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of it
        @given(viewed_tensors(placement))
        def holds(viewed: ViewedTensor) -> None:
            found = difference(download(viewed.tensor), viewed.host.copy())
            require(found is None, f"after {viewed.steps}: {found}")

        holds()

    @pytest.mark.parametrize("name", sorted(ANYWHERE))
    def test_a_view_computes_what_its_copy_does(self, name: str, placement: Placement, record_property: Record) -> None:
        """Strides of 0 and of any sign, and elements named twice, make no difference."""
        lacking: set[Lacking] = set()

        @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of it
        @given(tensors(placement))
        def holds(view: Tensor) -> None:
            try:
                expected = ANYWHERE[name](copy(view))
            except UnsupportedOperationError as error:
                lacking.add(check_unsupported(error, placement, name))
                return
            found = difference(download(ANYWHERE[name](view)), download(expected), 1)  # the sign of a zero is free
            require(found is None, f"{name} of {view._form}: {found}")

        holds()
        for one in sorted(lacking):
            record_property(LACKING, one)


@pytest.fixture(scope="module")
def placement(request: pytest.FixtureRequest) -> Placement:
    """Where the option ``--conformance`` of ``tensor_runtime.testing.pytest_plugin`` says."""
    return as_placement(request.config.getoption("--conformance"))


class TestConformance(BackendConformance):
    """What that plugin collects, and nobody else: this file is named as no file of tests is.

    >>> issubclass(TestConformance, BackendConformance)
    True
    """


def check_case(
    case: Case,
    placement: Placement,
    array_is_laid_out: Callable[[Tensor], bool] = lambda tensor: True,
    layouts: Collection[str] = tuple(VARIANTS),
    /,
) -> set[Lacking]:
    """Run one case at a placement, in layouts of its operands.

    Returns:
        What the backend lacks for it: the operation and the reason.

    Raises:
        AssertionError: something is not as it must be; the message says what.

    >>> from tensor_runtime.placement import CPU
    >>> check_case(CASES[0], CPU)
    set()
    """
    expected = None
    lacking: set[Lacking] = set()
    for name in layouts if case.operands else ["as given"]:
        variant = VARIANTS[name]
        operands = [variant(host, placement) for host in case.operands]
        where = f"{case.id}, operands {name}"
        try:
            results = _called(case, placement, operands, where)
            compared = _compared(case, operands, results)
        except UnsupportedOperationError as error:
            lacking.add(check_unsupported(error, placement, where))
            results, compared = None, ()
        if results is None:
            _check_operands(case, operands, where)
            continue
        if expected is None:
            expected = _as_tuple(case.expected())
        seen = _check_values(case, compared, expected, where)
        for position, result in enumerate(results):
            what = f"{where}: result {position}" if len(results) > 1 else where
            require(isinstance(result, Tensor), f"{what}: a {type(result).__name__}, expected a tensor")
            require(result.placement is placement, f"{what}: on {result.placement}, expected {placement}")
            _check_layout(result, what, array_is_laid_out)
            if not case.shares:
                _check_owned(result, download(result) if case.compared else seen[position], what)
        _check_operands(case, operands, where)
        if name == "as given" and not case.shares:  # what was written into the first result is not in the second
            again = _compared(case, operands, _called(case, placement, operands, where))
            _check_values(case, again, expected, f"{where}: a second call")
    return lacking


def _called(case: Case, placement: Placement, operands: Sequence[Tensor], where: str) -> tuple[Any, ...] | None:
    """The results; None where the case expects an error and got it."""
    with warnings.catch_warnings(), trace_transfers() as log:
        warnings.simplefilter("error")
        try:
            results = _as_tuple(case.call(*operands) if operands else case.call(placement))
        except TensorError as error:
            if case.error is None or not isinstance(error, case.error):
                raise
            return None
    require(case.error is None, f"{where}: no error, expected {case.error and case.error.__name__}")
    if case.operation not in MOVING and not case.reads:
        require(not log, f"{where}: moved elements: {log}")
    return results


def _compared(case: Case, operands: Sequence[Tensor], results: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """What the case expects is of these tensors."""
    if case.compared is None or results is None:
        return results or ()
    return _as_tuple(case.compared(*operands, *results))


def _check_values(case: Case, found: Sequence[Any], expected: Sequence[Any], where: str) -> list[Host]:
    """What was found, on the host."""
    require(len(found) == len(expected), f"{where}: {len(found)} results, expected {len(expected)}")
    seen = []
    for position, (one, wanted) in enumerate(zip(found, expected, strict=True)):
        what = f"{where}: result {position}" if len(found) > 1 else where
        require(isinstance(one, Tensor), f"{what}: a {type(one).__name__}, expected a tensor")
        seen.append(download(one))
        differing = difference(seen[-1], wanted, case.ulps)
        require(differing is None, f"{what}: {differing}")
    return seen


def _check_operands(case: Case, operands: Sequence[Tensor], where: str) -> None:
    """They were made as the case says, and still are so: one that was not would not become so by a call."""
    for operand, host in zip(operands, case.operands, strict=True):
        found = difference(download(operand), host)
        require(found is None, f"{where}: an operand has changed with the result, or was not made as given: {found}")


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


def _check_layout(result: Tensor, what: str, array_is_laid_out: Callable[[Tensor], bool]) -> None:
    """The array lies as the form says."""
    if hasattr(registry.backend_for(result.placement), "lend"):
        lent = HostTensorView.borrow(result.buffer.array)
        strides = canonical_strides(lent.shape, lent.layout.strides)
        require(lent.shape == result.shape, f"{what}: the array has shape {lent.shape}, the form {result.shape}")
        require(strides == result.strides, f"{what}: the array has strides {strides}, the form {result.strides}")
    else:
        require(array_is_laid_out(result), f"{what}: the array is not laid out as {result._form}")


def _check_owned(result: Tensor, elements: Host, what: str) -> None:
    """Compact and writable; the caller, who has its elements, then looks whether an operand changed."""
    require(result.is_compact, f"{what}: strides {result.strides}, expected a compact result")
    other = inverted(elements)
    copy_into(mutable_view(result), upload(other, result.placement))
    require(download(result).tobytes() == other.tobytes(), f"{what}: the result could not be written")
