"""Signs, parts, and complex numbers from parts equal NumPy's, to the bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts, numbers, same
from tensor_core import C32, C64, F32, I64, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES
from tensor_core.errors import DTypeError

TWO_SHAPES = [((2, 3), (2, 3)), ((), ()), ((2, 3), ()), ((3,), (2, 1)), ((2, 1, 3), (4, 1)), ((0, 2), (1, 1))]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 1, 2)])
def test_signs_and_parts_equal_numpys(dtype: Any, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype, 1)
    for x in layouts(a):
        for name in ("real", "imag"):
            result = getattr(tr, name)(x)
            same(result, np.array(getattr(np, name)(a)))
            assert not np.shares_memory(result.to_numpy(), x.to_numpy())
        if dtype is Bool:
            with pytest.raises(DTypeError, match="sign: operand is Bool; accepted: C32, C64, F32, F64, I32, I64"):
                tr.sign(x)
            continue
        same(tr.sign(x), np.sign(a))


def test_edges_of_sign() -> None:
    nan, inf = math.nan, math.inf
    result = tr.sign(tr.tensor([0.0, -0.0, nan, inf, -inf, 5e-324])).to_numpy()
    np.testing.assert_array_equal(result, [0, 0, nan, 1, -1, 1])
    assert not np.signbit(result[:2]).any()
    one_infinite = tr.tensor([complex(inf, 1), complex(-inf, 1), complex(1, inf), complex(2, -inf)])
    assert tr.sign(one_infinite).to_numpy().tolist() == [1, -1, 1j, -1j]
    assert np.isnan(tr.sign(tr.tensor([complex(nan, 1), complex(inf, inf), complex(1, nan)])).to_numpy()).all()
    np.testing.assert_allclose(tr.sign(tr.tensor([3 + 4j, 1e300 + 1e300j])).to_numpy(), [0.6 + 0.8j, (1 + 1j) / 2**0.5])
    assert tr.sign(tr.tensor([0j])).item() == 0


@pytest.mark.parametrize("shapes", TWO_SHAPES, ids=str)
@pytest.mark.parametrize("re_type", DTYPES, ids=str)
@pytest.mark.parametrize("im_type", DTYPES, ids=str)
def test_complex_joins_parts(shapes: Any, re_type: Any, im_type: Any) -> None:
    a, b = numbers(shapes[0], re_type, 1), numbers(shapes[1], im_type, 2)
    for x in layouts(a):
        for y in layouts(b):
            if re_type in COMPLEX or im_type in COMPLEX:
                with pytest.raises(DTypeError, match="complex: operands are"):
                    tr.complex(x, y)
                continue
            result = tr.complex(x, y)
            single = as_dtype(np.result_type(a, b)) is F32
            assert result.dtype is (C32 if single else C64)
            full = np.broadcast_shapes(a.shape, b.shape)
            np.testing.assert_array_equal(tr.real(result).to_numpy(), np.broadcast_to(a, full))
            np.testing.assert_array_equal(tr.imag(result).to_numpy(), np.broadcast_to(b, full))
            assert result.is_compact


def test_complex_keeps_the_bits_of_its_parts() -> None:
    edges = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5])
    joined = tr.complex(tr.asarray(edges[:, None]), tr.asarray(edges)).to_numpy()
    np.testing.assert_array_equal(joined.real, np.broadcast_to(edges[:, None], (6, 6)))
    np.testing.assert_array_equal(np.signbit(joined.imag), np.signbit(np.broadcast_to(edges, (6, 6))))
    assert tr.complex(tr.ones(2, dtype=F32), 2).dtype is C32
    assert tr.complex(-0.0, tr.tensor([1, 2], dtype=I64)).to_numpy().tolist() == [-0.0 + 1j, -0.0 + 2j]
    assert tr.complex(tr.tensor(1.0), tr.tensor(2.0)).item() == 1 + 2j
    assert tr.complex(tr.tensor(True), 0.5).dtype is C64
