"""What a tensor prints: metadata always, elements where that costs neither time nor a transfer."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest

import tensor_runtime as tr
from tensor_core import DTYPES, DType, HostTensor
from tensor_core.host.tensor import HostTensorView
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.rows import BackendRow, BackendTable
from tensor_runtime.testing.simulated_device import SimulatedBackend


def lines(x: tr.Tensor) -> list[str]:
    return repr(x).splitlines()


def test_the_first_line_says_dtype_shape_layout_and_placement() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert lines(x) == ["Tensor(F64, (2, 2), column-major, cpu)", " 1.0  2.0", " 3.0  4.0"]
    assert lines(x.T) == ["Tensor(F64, (2, 2), strides (2, 1), cpu)", " 1.0  3.0", " 2.0  4.0"]


def test_the_size_is_shown_from_one_mebibyte_on() -> None:
    assert lines(tr.zeros((1024, 127)))[0] == "Tensor(F64, (1024, 127), column-major, cpu)"
    assert lines(tr.zeros((1024, 128)))[0] == "Tensor(F64, (1024, 128), column-major, cpu, 1.0 MiB)"
    assert lines(tr.broadcast_to(tr.zeros((1,)), (1 << 25,)))[0].endswith("strides (0,), cpu, 256.0 MiB)")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (2, 0, 3), (2, 1, 3), (1, 1, 1, 2)], ids=str)
def test_elements_are_printed_as_a_host_tensor_prints_them(shape: tuple[int, ...], dtype: DType) -> None:
    x = tr.ones(shape, dtype=dtype)
    assert lines(x)[1:] == repr(tr.download(x)).splitlines()[1:]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([math.nan, math.inf, -0.0], "  nan   inf  -0.0"),
        ([1e300, 1 / 3], "     1e+300  0.33333333"),
        ([True, False], "  True  False"),
        ([1, -20], "   1  -20"),
        ([1 - 2j], " 1.0-2.0j"),
    ],
)
def test_special_elements_are_readable(values: list[Any], shown: str) -> None:
    assert lines(tr.tensor(values))[1] == shown


def test_frontal_slices_follow_their_index() -> None:
    assert lines(tr.from_flat(range(8), (2, 2, 2)))[1:] == [
        "[:, :, 0] =",
        " 0  2",
        " 1  3",
        "[:, :, 1] =",
        " 4  6",
        " 5  7",
    ]


@pytest.mark.parametrize(
    "shape", [(10**6,), (2000, 2000), (300, 200, 100), (50,) * 4, (2,) * 20, (1, 10**6), (10, 10, 1000)]
)
def test_few_elements_are_read_whatever_the_size(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    x = tr.broadcast_to(tr.zeros((1,) * len(shape)), shape)
    read = 0
    look_up = HostTensorView.__getitem__

    def counted(self: Any, index: Any) -> Any:
        nonlocal read
        read += 1
        return look_up(self, index)

    monkeypatch.setattr(HostTensorView, "__getitem__", counted)
    text = repr(x)
    assert 0 < read <= 1000
    assert len(text.splitlines()) < 100
    assert "..." in text


def test_a_view_shows_its_own_elements() -> None:
    x = tr.from_flat(range(6), (2, 3))
    assert lines(x[::-1, 1]) == ["Tensor(I64, (2,), strides (-1,), cpu)", " 3  2"]
    assert lines(tr.diagonal_view(x[:, :2]))[1] == " 0  3"


def test_printing_records_no_transfer() -> None:
    x = tr.ones((3, 3))
    with tr.trace_transfers() as log:
        repr(x)
    assert log == []


def test_a_tensor_on_a_device_shows_its_metadata_only() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "device-for-text")
    tr.register_backend(device.name, device)
    try:
        x = tr.upload(HostTensor.from_nested([1.0, 2.0]), device.placement())
        with tr.trace_transfers() as log:
            assert repr(x) == "Tensor(F64, (2,), column-major, device-for-text:0)"
        assert log == []
    finally:
        registry.unregister(device.name)
    assert repr(x) == "Tensor(F64, (2,), column-major, device-for-text:0)", "also when its backend is gone"


def page(x: Any) -> str:
    """What a notebook shows, as well-formed markup."""
    text: str = x._repr_html_()
    ElementTree.fromstring(text)
    return text


def test_notebooks_show_frontal_slices_as_tables() -> None:
    x = tr.arange(2 * 3 * 5).reshape((2, 3, 5))
    found = ElementTree.fromstring(page(x))
    assert found.findtext("code") == "Tensor(I64 (int64), (2, 3, 5), column-major, cpu)"
    tables = found.findall("table")
    assert [one.findtext("caption/code") for one in tables] == [f"[:, :, {k}]" for k in range(4)]
    for k, table in enumerate(tables):
        cells = [[int(cell.text or "") for cell in row] for row in table.iter("tr")]
        assert cells == x[:, :, k].tolist()
    assert found.findtext("p") == "1 more of these slices"


def test_notebooks_show_edges_of_long_axes_at_the_cost_of_small_tensors() -> None:
    x = tr.broadcast_to(tr.tensor(1.0), (10**6, 10**6))  # which nobody could read whole
    table = ElementTree.fromstring(page(x)).find("table")
    assert table is not None
    rows = [[cell.text for cell in row] for row in table.iter("tr")]
    assert [len(row) for row in rows] == [7] * 7
    assert rows[3] == ["..."] * 7 and rows[0] == ["1.0"] * 3 + ["..."] + ["1.0"] * 3


@pytest.mark.parametrize("x", [tr.tensor(2.5), tr.zeros((0, 3)), tr.tensor([1j]), tr.tensor([[True]])])
def test_notebooks_show_every_rank_and_dtype(x: Any) -> None:
    assert f"{x.dtype} ({x.dtype.numpy_name}), {x.shape}" in page(x)


def test_notebooks_read_nothing_from_a_device() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "device<b>")
    tr.register_backend(device.name, device)
    try:
        x = tr.upload(HostTensor.from_nested([1.0, 2.0]), device.placement())
        with tr.trace_transfers() as log:
            shown = page(x)
        assert log == []
    finally:
        registry.unregister(device.name)
    assert shown == "<div><code>Tensor(F64 (float64), (2,), column-major, device&lt;b&gt;:0)</code></div>"


def test_notebooks_show_backends_and_mark_those_in_trouble() -> None:
    rows = [BackendRow("<npu>", "npu", "npu 1.0", "broken: a & b", True), BackendRow("cpu", "cpu", "x", "ready")]
    found = ElementTree.fromstring(page(BackendTable(rows)))
    assert [[cell.text for cell in row] for row in found.iter("tr")] == [
        ["name", "devices", "distribution", "status"],
        ["<npu>", "npu", "npu 1.0", "broken: a & b"],
        ["cpu", "cpu", "x", "ready"],
    ]
    assert ["style" in row.attrib for row in found.iter("tr")] == [False, True, False]
    assert "<td" in page(tr.backends())


def test_text_is_the_representation() -> None:
    x: Any = tr.tensor([1.0])
    assert str(x) == repr(x) == f"{x}"
