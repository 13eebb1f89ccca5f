"""Elements on their way into a checkpoint: in ranges of bounded size, whatever lies how."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_einsum.slices import checkpoint
from tensor_einsum.slices.checkpoint import digest_of_operands, elements_of

PIECE = 1000
STRIDED: dict[str, Callable[[tr.Tensor], tr.Tensor]] = {
    "transposed, a long axis last": lambda x: x.reshape(4, 1200).T,
    "transposed, a long axis first": lambda x: x.reshape(1200, 4).T,
    "large slices": lambda x: tr.permute_axes(x.reshape(30, 80, 2), (1, 0, 2)),
    "one large slice": lambda x: tr.permute_axes(x.reshape(60, 80, 1), (1, 0, 2)),
    "a vector with gaps": lambda x: x[::2],
    "a reversed vector": lambda x: x[::-1],
    "a repeated vector": lambda x: tr.broadcast_to(x[:300], (7, 300)),
}


@pytest.mark.parametrize("dtype", ["F64", "Bool"])
@pytest.mark.parametrize("layout", STRIDED)
def test_strided_elements_come_in_ranges(layout: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_PIECE", PIECE)
    numbers = tr.tensor(np.arange(4800.0))
    x = STRIDED[layout](numbers if dtype == "F64" else tr.equal(tr.remainder(numbers, 7.0), 0.0))
    assert not x.is_compact

    pieces = [bytes(piece) for piece in elements_of(x)]
    assert b"".join(pieces) == x.to_numpy().tobytes("F")
    assert max(map(len, pieces)) <= PIECE
    assert len(pieces) <= 2 * x.nbytes // PIECE + 60  # 60 slices are ranges of their own, at most


def test_compact_bool_comes_in_ranges_and_has_one_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tr.tensor(np.arange(4800.0).reshape(60, 80) % 7 == 0)
    whole = digest_of_operands([x])
    monkeypatch.setattr(checkpoint, "_PIECE", PIECE)

    pieces = [bytes(piece) for piece in elements_of(x)]
    assert b"".join(pieces) == x.to_numpy().tobytes("F")
    assert [len(piece) for piece in pieces] == [960] * 5
    assert digest_of_operands([x]) == digest_of_operands([tr.copy(x.T).T]) == whole
    described = blake2b(b"Bool (60, 80) " + b"".join(pieces), digest_size=32).hexdigest()
    assert whole == blake2b(described.encode(), digest_size=32).hexdigest()
