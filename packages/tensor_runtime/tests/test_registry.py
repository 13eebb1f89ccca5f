"""The registry: who serves a device, and what is reported of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    BackendContractError,
    BackendError,
    BackendUnavailableError,
    PlacementError,
    PluginConflictError,
    PluginLoadError,
    UnsupportedOperationError,
)
from tensor_runtime.backends.discovery import Candidate
from tensor_runtime.backends.registry import Registry
from tensor_runtime.backends.registry import registry as the_registry
from tensor_runtime.doctor import report
from tensor_runtime.placement import CPU, as_placement
from tensor_runtime.protocols import PROTOCOL_VERSION
from tensor_runtime.testing.simulated_device import SimulatedBackend

CPU_INFO = {"device_kinds": ("cpu",)}


def registry_of(*candidates: tuple[str, Callable[[], object], Mapping[str, Any]]) -> Registry:
    def discover() -> Iterable[Candidate]:
        return [Candidate(name, f"{name}-dist 1.0", load, info) for name, load, info in candidates]

    return Registry(discover)


def cpu() -> object:
    return tr.backend("cpu")


def raising(error: BaseException) -> Callable[[], object]:
    def load() -> object:
        raise error

    return load


def recursing() -> object:
    return recursing()


def test_listing_loads_nothing() -> None:
    registry = registry_of(
        ("bad", raising(AssertionError("loaded")), {"device_kinds": ("bad",)}), ("cpu", cpu, CPU_INFO)
    )

    assert [(row.name, row.devices, row.status) for row in registry.backends()] == [
        ("bad", "bad", "not loaded"),
        ("cpu", "cpu", "not loaded"),
    ]
    assert registry.backend_for(CPU) is tr.backend("cpu")
    assert registry.backends()[1].status == "ready"


@pytest.mark.parametrize(
    "error", [ImportError("libfoo.so"), SystemExit(3), SyntaxError("x"), RecursionError("deep"), ValueError("v")]
)
def test_a_broken_plugin_is_reported_and_breaks_nobody_else(error: BaseException) -> None:
    registry = registry_of(("bad", raising(error), {"device_kinds": ("npu",)}), ("cpu", cpu, CPU_INFO))

    with pytest.raises(PluginLoadError, match="bad-dist 1\\.0 did not load") as caught:
        registry.backend_for(as_placement("npu"))
    assert caught.value.__cause__ is error
    assert registry.backend_for(CPU) is tr.backend("cpu")
    assert registry.backends()[0].status.startswith(f"broken: {type(error).__name__}")


def test_a_plugin_that_recurses_without_end_is_reported() -> None:
    with pytest.raises(PluginLoadError, match="RecursionError"):
        registry_of(("deep", recursing, {"device_kinds": ("npu",)})).backend("deep")


def test_a_plugin_that_is_no_backend_is_reported() -> None:
    with pytest.raises(PluginLoadError) as caught:
        registry_of(("odd", lambda: 3, {"device_kinds": ("npu",)})).backend("odd")
    assert isinstance(caught.value.__cause__, BackendContractError)


def test_two_claims_of_one_device_are_a_conflict_at_use() -> None:
    registry = registry_of(("one", cpu, CPU_INFO), ("two", cpu, CPU_INFO))

    assert len(registry.backends()) == 2
    with pytest.raises(PluginConflictError, match="'one' of one-dist 1\\.0 and 'two' of two-dist 1\\.0"):
        registry.backend_for(CPU)


def test_two_plugins_of_one_name_are_a_conflict_at_use() -> None:
    with pytest.raises(PluginConflictError, match="name 'cpu' is taken"):
        registry_of(("cpu", cpu, CPU_INFO), ("cpu", cpu, {"device_kinds": ("npu",)})).backend("cpu")


def test_an_outdated_plugin_is_refused_politely() -> None:
    registry = registry_of(("old", cpu, {"device_kinds": ("npu",), "protocol_version": 0}))

    with pytest.raises(
        BackendUnavailableError, match=f"written for backend protocol 0; this runtime speaks {PROTOCOL_VERSION}"
    ):
        registry.backend("old")


def test_an_unavailable_backend_says_why() -> None:
    registry = registry_of(
        ("gpu", cpu, {"device_kinds": ("cuda",), "status": "not in this release", "reason": "CPU only"})
    )

    with pytest.raises(BackendUnavailableError, match="not in this release: CPU only"):
        registry.backend_for(as_placement("cuda:0"))


def test_nobody_serving_the_cpu_names_the_install_command() -> None:
    with pytest.raises(BackendUnavailableError, match="pip install ironstride-tensor-cpu"):
        registry_of().backend_for(CPU)


def test_a_backend_without_info_is_asked_itself() -> None:
    assert registry_of(("bad", raising(ImportError("x")), {}), ("plain", cpu, {})).backend_for(CPU) is cpu()


def test_an_unknown_name_lists_what_is_there() -> None:
    with pytest.raises(BackendUnavailableError, match="'nope' is not installed; installed: cpu"):
        registry_of(("cpu", cpu, CPU_INFO)).backend("nope")


def test_refresh_reads_again() -> None:
    found: list[Candidate] = []
    registry = Registry(lambda: list(found))
    with pytest.raises(BackendUnavailableError):
        registry.backend_for(CPU)
    found.append(Candidate("cpu", "late 1.0", cpu, CPU_INFO))
    registry.refresh()

    assert registry.backend_for(CPU) is cpu()


def test_the_printed_table_has_one_line_each() -> None:
    lines = repr(tr.backends()).splitlines()

    assert lines[0].split() == ["name", "devices", "distribution", "status"]
    assert len(lines) == len(tr.backends()) + 1


def test_a_registered_device_computes_on_its_own_arrays(device: SimulatedBackend) -> None:
    a = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    b = tr.to(a, device.placement())

    assert repr(b.placement) == "simulated:0"
    assert tr.to((b @ b.T + 1.0)[::-1], "cpu").to_numpy().tolist() == [[12.0, 26.0], [6.0, 12.0]]


def test_registering_a_second_backend_for_a_device_is_refused(device: SimulatedBackend) -> None:
    with pytest.raises(PluginConflictError, match="belongs to one backend"):
        tr.register_backend("again", device)
    with pytest.raises(PluginConflictError):
        tr.register_backend("cpu", SimulatedBackend(tr.backend("cpu"), "third"))


def test_operands_in_two_places_are_listed_and_nothing_moves(device: SimulatedBackend) -> None:
    a = tr.zeros((2, 2))
    b = tr.to(a, device.placement())

    with tr.trace_transfers() as log, pytest.raises(PlacementError) as caught:
        tr.add(a, b)
    assert log == []
    text = str(caught.value)
    assert "operand 0: F64 (2, 2) on cpu" in text
    assert "operand 1: F64 (2, 2) on simulated:0" in text
    assert "to(x, 'cpu')" in text


def test_every_byte_moved_is_recorded(device: SimulatedBackend) -> None:
    with tr.trace_transfers() as log:
        b = tr.to(tr.zeros((3,)), device.placement())
        tr.to(b, device.placement())
        tr.add(b, b)
        tr.download(b)
    assert [(entry.operation, entry.source, entry.target, entry.nbytes) for entry in log] == [
        ("upload", "host", "simulated:0", 24),  # of the host's memory, which is read where it lies
        ("download", "simulated:0", "host", 24),
    ]


def test_a_device_tensor_never_reaches_numpy_silently(device: SimulatedBackend) -> None:
    import numpy as np

    b = tr.to(tr.zeros((3,)), device.placement())
    with tr.trace_transfers() as log, pytest.raises(PlacementError, match="nothing is moved silently"):
        np.asarray(b)
    assert log == []


def test_what_a_backend_lacks_is_refused_with_its_reason(device: SimulatedBackend) -> None:
    b = tr.to(tr.ones((2,)), device.placement())

    with pytest.raises(UnsupportedOperationError, match="the device has no square root"):
        tr.sqrt(b)


def test_a_status_of_ready_means_ready() -> None:
    info = {"device_kinds": ("cpu",), "status": "ready", "reason": "the driver answers"}

    assert registry_of(("cpu", cpu, info)).backend_for(CPU) is cpu()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (
            ("cpu", {"device_kinds": ("npu",)}),
            "conflict: backend name 'cpu' is taken by one 1.0 and two 2.0; uninstall one",
        ),
        (
            ("two", CPU_INFO),
            "conflict: device 'cpu' is claimed by 'cpu' of one 1.0 and 'two' of two 2.0; uninstall one, or choose",
        ),
    ],
)
def test_two_claims_of_one_name_or_device_are_shown_by_both_rows(
    second: tuple[str, Mapping[str, Any]], words: str
) -> None:
    first = Candidate("cpu", "one 1.0", cpu, CPU_INFO)
    rows = Registry(lambda: [first, Candidate(second[0], "two 2.0", cpu, second[1])]).backends()

    statuses = {row.distribution: row.status for row in rows}
    assert statuses["one 1.0"].startswith(words)
    assert statuses["two 2.0"] == statuses["one 1.0"]


def test_a_claim_that_cannot_be_used_is_no_conflict() -> None:
    registry = registry_of(("cpu", cpu, CPU_INFO), ("old", cpu, {**CPU_INFO, "status": "no driver"}))

    assert [row.status for row in registry.backends()] == ["not loaded", "no driver"]
    assert registry.backend_for(CPU) is cpu()


def test_a_backend_without_info_is_imported_only_when_nobody_else_claims_the_device() -> None:
    asked = []

    def load() -> object:
        asked.append(1)
        return SimulatedBackend(tr.backend("cpu"), "shy")

    registry = registry_of(("cpu", cpu, CPU_INFO), ("shy", load, {}))
    registry.backend_for(CPU)
    registry.backends()
    assert asked == []
    assert registry.backend_for(as_placement("shy")).name == "shy"
    assert registry.backends()[1][:2] == ("shy", "shy")


def test_a_broken_plugin_that_may_serve_a_device_is_named_with_it() -> None:
    with pytest.raises(
        BackendUnavailableError, match=r"device 'npu'; 'bad' of bad-dist 1\.0 may, but is broken: ImportE"
    ):
        registry_of(("bad", raising(ImportError("lib")), {}), ("cpu", cpu, CPU_INFO)).backend_for(as_placement("npu"))


def test_a_device_that_nobody_serves_asks_for_no_package_that_would_not_help() -> None:
    with pytest.raises(BackendUnavailableError) as caught:
        registry_of(("cpu", cpu, CPU_INFO)).backend_for(as_placement("cuda"))
    assert str(caught.value) == (
        "no backend serves device 'cuda'; install a package that serves it, or call register_backend()"
    )


def test_an_error_of_several_lines_is_one_line_of_the_table() -> None:
    registry = registry_of(("bad", raising(ImportError("first\n  second")), {"device_kinds": ("npu",)}))
    with pytest.raises(PluginLoadError):
        registry.backend("bad")

    assert registry.backends()[0].status == "broken: ImportError: first second"


def test_a_backend_that_is_broken_is_in_no_conflict_but_its_own() -> None:
    registry = registry_of(("cpu", cpu, CPU_INFO), ("cpu2", raising(ImportError("x")), CPU_INFO))
    with pytest.raises(PluginLoadError):
        registry.backend("cpu2")

    assert registry.backends()[1].status == "broken: ImportError: x"
    assert registry.backends()[0].status.startswith("conflict: device 'cpu' is claimed by 'cpu' of ")


@pytest.mark.parametrize("method", ["operations", "unsupported"])
def test_a_backend_whose_report_fails_is_broken_and_breaks_nobody_else(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> Any:
        raise KeyError("lost\ntable")

    device = SimulatedBackend(tr.backend("cpu"), "frail")
    tr.register_backend("frail", device)
    try:
        monkeypatch.setattr(device, method, failing)
        rows = {row.name: row for row in tr.backends()}
        assert rows["frail"].status == "broken: it does not say which operations it has: KeyError: 'lost\\ntable'"
        assert (rows["frail"].troubled, rows["cpu"].troubled, rows["cpu"].status) == (True, False, "ready")
        assert {row.backend for row in tr.threads()} == {"cpu"}
        with tr.set_threads(1):
            pass
        lines, healthy = report(the_registry)
        assert not healthy
        assert f"problem: frail of this process: {rows['frail'].status}" in lines
        assert f"  status  {rows['frail'].status}" in [line.replace("status      ", "status  ") for line in lines]
    finally:
        the_registry.unregister("frail")


def test_a_kernel_brought_for_a_backend_whose_report_fails_is_an_error_of_our_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = SimulatedBackend(tr.backend("cpu"), "frail")
    tr.register_backend("frail", device)
    tr.register_kernel("frail", "exp", lambda *forms: max)
    try:
        monkeypatch.setattr(device, "operations", lambda: {}["lost"])
        with pytest.raises(BackendError, match="operations: the backend failed: KeyError: 'lost'"):
            tr.exp(tr.ones(2, placement=device.placement()))
    finally:
        the_registry.unregister_kernel("frail", "exp")
        the_registry.unregister("frail")


def test_a_backend_that_says_why_it_cannot_be_used_is_in_no_trouble_whatever_the_words() -> None:
    registry = registry_of(("cpu", cpu, CPU_INFO), ("npu", cpu, {"device_kinds": ("npu",), "status": "broken driver"}))

    assert [(row.status, row.troubled) for row in registry.backends()] == [
        ("not loaded", False),
        ("broken driver", False),
    ]
    assert report(registry)[1]
