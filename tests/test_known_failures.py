"""Failures that other libraries have shipped, each by its number in our list, never to be repeated here.

They are of views, sizes, subnormal numbers and plug-ins; those of files are in ``test_known_failures_files.py``.
What may crash or hang runs in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tensor_runtime as tr
from programs import run
from tensor_core import (
    I64,
    HostTensor,
    HostTensorView,
    OverlappingViewError,
    ReadOnlyError,
    SizeLimitError,
    TensorLayout,
    broadcast_view,
    validate_layout,
)
from tensor_core.host.storage import Storage


def test_k1_stride_times_step_beyond_int64_is_refused_and_crashes_nobody() -> None:
    # NumPy 2.4 wraps the product and crashes when the element is read.
    printed = run(
        """
        import itertools
        from tensor_core import HostTensorView, I64, SliceSpec, TensorError, TensorLayout, slice_view
        from tensor_core.host.storage import Storage
        import tensor_runtime as tr

        storage = Storage.of(I64, range(4))
        strides = [sign * (2**k + d) for k in (31, 32, 60, 61, 62, 63) for d in (-1, 0, 1) for sign in (1, -1)]
        for stride, step in itertools.product(strides, (2, 3, -2, 2**31, 2**62, -(2**63))):
            for extent in (1, 2, 2**31, 2**62):
                try:
                    layout = TensorLayout((extent,), (stride,), 1)
                    view = HostTensorView(storage, slice_view(layout, [SliceSpec(0, None, step)]))
                    print(view.to_nested() if view.size < 9 else 1 / 0)
                except TensorError as error:
                    assert "2**63" in str(error) or "allocation" in str(error) or "slice" in str(error), error
        x = tr.tensor([1, 2, 3, 4])
        for step in (2**31, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**64)):
            assert x[::step].to_numpy().tolist() == [1 if step > 0 else 4]
            assert tr.broadcast_to(x[:1], (2, 3))[:, ::step].to_numpy().tolist() == [[1], [1]]
        print("survived")
        """
    )
    assert set(printed.split()) == {"[1]", "survived"}


def test_k2_huge_sizes_behind_zero_strides_are_refused_before_anything_is_allocated() -> None:
    one = Storage.of(I64, [7])
    for shape in ((2**63 - 1,), (2**31, 2**31), (2**40, 2**40), (2**62, 2), (2**60,)):
        with pytest.raises(SizeLimitError):
            HostTensorView(one, TensorLayout(shape, [0] * len(shape)))
    with pytest.raises(SizeLimitError):
        HostTensor.from_nested([7]).broadcast_view((2**60, 1))
    with pytest.raises(SizeLimitError):
        tr.broadcast_to(tr.tensor([7]), (2**60, 1))
    with pytest.raises(SizeLimitError):
        tr.zeros((2**31, 2**32))
    with pytest.raises(SizeLimitError):
        broadcast_view(TensorLayout((1,)), (2**63,))


def test_k2_an_empty_tensor_counts_its_other_extents() -> None:
    with pytest.raises(SizeLimitError):
        TensorLayout((0, 2**63 - 1, 2))
    with pytest.raises(SizeLimitError):
        validate_layout(TensorLayout((2**61, 0)), 0, 8)
    validate_layout(TensorLayout((2**59, 0)), 0, 8)
    assert HostTensor.zeros((0, 2**59), I64).size == 0
    assert tr.zeros((0, 2**59), dtype=I64).size == 0


def test_k13_no_write_goes_through_a_view_that_names_an_element_twice() -> None:
    x = HostTensor.from_nested([1, 2, 3])
    for view in (x[None].broadcast_view((2, 3)), x.window_view(2, 0), x[:1].broadcast_view((4,))):
        with pytest.raises(OverlappingViewError):
            view[...] = 9
    assert x.to_list() == [1, 2, 3]
    y = tr.tensor([1, 2, 3])
    for repeated in (tr.broadcast_to(y, (2, 3)), tr.broadcast_to(y[:1], (4,))):
        with pytest.raises(OverlappingViewError):
            tr.mutable_view(repeated)
        with pytest.raises(ReadOnlyError):
            tr.copy_into(repeated, tr.zeros(repeated.shape, dtype=I64))  # type: ignore[arg-type]
    assert y.to_numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "package",
    ["tensor_core", "tensor_runtime", "tensor_cpu", "tensor_gpu", "tensor_einsum", "tensor_linalg", "ironstride"],
)
def test_k14_importing_a_package_leaves_subnormal_numbers_alone(package: str) -> None:
    printed = run(
        f"""
        import {package}
        tiny = float("5e-324")
        print(tiny * 1.0 != 0.0, tiny / 1.0 != 0.0, 2.0**-1022 / 2.0 != 0.0)
        """
    )
    assert printed.split() == ["True"] * 3


def test_k14_computing_leaves_subnormal_numbers_alone() -> None:
    printed = run(
        """
        import numpy as np
        import tensor_runtime as tr

        tiny = tr.tensor([2.0**-1074] * 64)
        ones = tr.ones((64, 64))
        for kept in (tiny + 0.0, tiny * 1.0, tiny @ ones, tr.einsum("i,ij->j", tiny, ones), tr.sum(tiny)):
            assert kept.to_numpy().all(), kept
        small = tr.convert(tr.cast(tr.tensor([2.0**-149] * 64), "F32"), "F64")
        assert (small.to_numpy() == 2.0**-149).all()
        print(np.float64(2.0**-1074) * 1.0 != 0.0, (np.full(64, 2.0**-1022) / 2.0 != 0.0).all())
        """
    )
    assert printed.split() == ["True", "True"]


BROKEN = {
    "importing": "import a_module_that_nobody_has",
    "syntax": "def broken(:",
    "exiting": "import sys; sys.exit(3)",
    "recursing": "def f(): return f()\nf()",
    "raising": "raise ValueError('half installed')",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_k18_a_broken_plugin_is_reported_and_breaks_nothing_else(kind: str, tmp_path: Path) -> None:
    (tmp_path / "broken_plugin.py").write_text(BROKEN[kind], encoding="utf-8")
    folder = tmp_path / "broken_plugin-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n", encoding="utf-8")
    groups = "[tensor_runtime.backends]\nbroken = broken_plugin:backend\n"
    if kind != "recursing":  # light information may be broken, too
        groups += "\n[tensor_runtime.backend_info]\nbroken = broken_plugin:info\n"
    groups += "\n[tensor_runtime.families]\nbroken = broken_plugin:FAMILY\n"
    (folder / "entry_points.txt").write_text(groups, encoding="utf-8")
    printed = run(
        """
        import sys
        import tensor_runtime as tr
        from tensor_core import PluginLoadError

        assert "broken_plugin" not in sys.modules
        listed = {row.name: row for row in tr.backends()}
        assert listed["broken"].distribution == "broken-plugin 1.0", listed
        assert (tr.tensor([1.0, 2.0]) + 1.0).to_numpy().tolist() == [2.0, 3.0]
        assert tr.einsum("i,i->", tr.ones(3), tr.ones(3)).item() == 3.0
        try:
            tr.backend("broken")
        except PluginLoadError as error:
            assert "broken-plugin 1.0" in str(error) and error.__cause__ is not None, error
            print("refused")
        print({row.name: row.status for row in tr.backends()}["broken"])
        print({family.name: family.trouble for family in tr.families()}["broken"])
        """,
        tmp_path,
    )
    assert printed.splitlines()[0] == "refused"
    assert printed.splitlines()[1].startswith("broken: ")
    assert printed.splitlines()[2].startswith("broken: ")
