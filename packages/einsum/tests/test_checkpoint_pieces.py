"""Elements on their way into a checkpoint: in ranges of bounded size, one at a time, whatever lies how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_einsum import plan
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


def test_one_piece_is_there_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Piece(bytearray):
        """One that can be referred to weakly."""

        __hash__ = object.__hash__

    alive: WeakSet[Any] = WeakSet()
    most: list[int] = []

    def watched(x: tr.Tensor) -> Iterator[memoryview]:
        for piece in elements_of(x):
            made = Piece(piece)
            alive.add(made)
            most.append(len(alive))
            yield memoryview(made)
            del made

    monkeypatch.setattr(checkpoint, "_PIECE", PIECE)
    monkeypatch.setattr(checkpoint, "elements_of", watched)
    x = tr.tensor(np.arange(9600.0).reshape(80, 120) % 7 == 0).T
    found, path = plan("ij,ij->ij", x, x).with_slices("i"), tmp_path / "sum"
    saved: list[bytes] = []
    result = found(x, x, checkpoint=path, checkpoint_seconds=0, on_step=lambda *_: saved.append(_content(path)))

    assert np.array_equal(result.to_numpy(), x.to_numpy())
    assert len(saved[-1].partition(b"\n")[2]) == 9600
    assert len(most) > 100 and max(most) <= 3  # what is written, what was written last, and the next one


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
