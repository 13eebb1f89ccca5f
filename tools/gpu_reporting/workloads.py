"""Workloads of the benchmark: a call by its name, operands, and the least ratios that are accepted."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from benchmarks.networks import Network, circuit, lattice

from gpu_reporting.subject import Subject

Shapes = tuple[tuple[int, ...], ...]
Array = npt.NDArray[Any]
Numbers = Literal["any", "above 0", "positive", "symmetric", "decaying"]
"""How numbers are drawn: any, or none below 0; how matrices: positive definite, symmetric, singular values of 2^-k."""
BEST: Final = "best"
"""In place of a library's name: whichever is the fastest."""


class Workload(NamedTuple):
    """A call, and the least ratios, theirs over ours in time, that are accepted."""

    name: str
    dtype: str  # as NumPy says it
    shapes: Callable[[Subject], Shapes]  # of ours: axes of a batch come last
    call: str  # key of ``peers.Library.calls``; "" for ``equation``
    accept: tuple[tuple[str, float], ...] = ()  # names of libraries, or BEST
    equation: str = ""  # of an einsum
    numbers: Numbers = "any"
    rate: Literal["", "flops", "bytes"] = ""  # bytes are of operands and result
    repeats: int = 1  # calls in a row before anybody waits
    residual: float = float("inf")  # the largest error that is accepted, where it is less than that of rounding
    memory: float = 0.0  # the most bytes that are accepted, over PyTorch's; 0 accepts any
    network: Callable[[Subject], Network] | None = None  # which gives equation and shapes

    def of(self, subject: Subject, /) -> Workload:
        """With the equation and the shapes of its network, if it has one.

        >>> [workload.of(Subject("sim", False)).equation for workload in WORKLOADS if workload.network][0]
        'ab,bc,ad,cd->'
        """
        if self.network is None:
            return self
        found = self.network(subject)
        return self._replace(equation=found.notation, shapes=lambda subject: tuple(found.shapes))

    def drawn(self, subject: Subject, /) -> list[Array]:
        """Operands, the same for every library."""
        draw = np.random.default_rng(1)
        return [_DRAWN[self.numbers](_normal(draw, shape, self.dtype)) for shape in self.shapes(subject)]


def _normal(draw: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    x = draw.standard_normal(shape, dtype="float32" if dtype in ("float32", "complex64") else "float64")
    return x + 1j * draw.permutation(x) if dtype.startswith("complex") else x


def _symmetric(x: Array) -> Array:
    return x + x.swapaxes(0, 1).conj()


def _positive(x: Array) -> Array:
    if x.shape[0] != x.shape[1]:  # a right-hand side
        return x
    shift: Array = (4 * x.shape[0] * np.eye(x.shape[0])).reshape(*x.shape[:2], *(1,) * (x.ndim - 2))
    return np.asarray(_symmetric(x) + shift, x.dtype)


def _decaying(x: Array) -> Array:
    (u, _), (v, _) = np.linalg.qr(x), np.linalg.qr(x.T)
    return np.asarray((u * 2.0 ** -np.arange(len(x))) @ v)


_DRAWN: Final[Mapping[Numbers, Callable[[Array], Array]]] = {
    "any": lambda x: x,
    "above 0": lambda x: np.abs(x).astype(x.dtype),
    "positive": _positive,
    "symmetric": _symmetric,
    "decaying": _decaying,
}


def _square(whole: int, small: int, count: int = 1) -> Callable[[Subject], Shapes]:
    return lambda subject: ((subject.size(whole, small),) * 2,) * count


def _stack(rows: int, columns: int, count: int, *, sides: int = 0) -> Callable[[Subject], Shapes]:
    def shapes(subject: Subject) -> Shapes:
        behind = subject.size(count, 3)
        return ((rows, columns, behind), *([(rows, sides, behind)] if sides else []))

    return shapes


def _axes(whole: tuple[int, ...], small: tuple[int, ...]) -> Callable[[Subject], Shapes]:
    return lambda subject: (whole if subject.size(1, 0) else small,)


def _pair(subject: Subject) -> Shapes:
    extent = subject.size(128, 4)
    return (4 * extent, extent, extent), (extent, extent, 4 * extent)


NETWORKS: Final = (("PyTorch", 1.0), ("JAX", 1.0))
MEMORY: Final = 1.05


def _chain(sites: int, bond: int) -> Workload:
    """The overlap of two matrix product states, site by site: a network whose order is the same for all."""
    letters = iter(string.ascii_letters)
    above, below = ([next(letters) for _ in range(sites + 1)] for _ in range(2))
    terms: list[str] = []
    for k in range(sites):
        site = next(letters)
        terms += [above[k] + site + above[k + 1], below[k] + site + below[k + 1]]
    output = above[0] + below[0] + above[-1] + below[-1]

    def shapes(subject: Subject) -> Shapes:
        wide = subject.size(bond, 2)
        extents = [2, *[wide] * (sites - 1), 2]
        return tuple((left, 2, right) for left, right in pairwise(extents) for _ in range(2))

    equation = f"{','.join(terms)}->{output}"
    return Workload(f"overlap of {sites} sites", "float64", shapes, "", NETWORKS, equation, memory=MEMORY)


def _network(name: str, whole: Callable[[], Network], small: Callable[[], Network], dtype: str) -> Workload:
    def chosen(subject: Subject) -> Network:
        return whole() if subject.size(1, 0) else small()

    return Workload(name, dtype, lambda subject: (), "", NETWORKS, numbers="above 0", memory=MEMORY, network=chosen)


PRODUCT: Final = "ij,jk->ik"
CEILINGS: Final = (
    Workload("copy", "float64", _axes((1 << 27,), (64,)), "copy", rate="bytes"),
    Workload("F64 product", "float64", _square(8192, 8, 2), "", ((BEST, 0.97),), PRODUCT, rate="flops"),
    Workload("F32 product", "float32", _square(8192, 8, 2), "", ((BEST, 0.97),), PRODUCT, rate="flops"),
    Workload("C32 product", "complex64", _square(8192, 8, 2), "", ((BEST, 0.95),), PRODUCT, rate="flops"),
    Workload("C64 product", "complex128", _square(4096, 8, 2), "", ((BEST, 0.95),), PRODUCT, rate="flops"),
)
_LEGS: Final = string.ascii_lowercase[:25]
_TENSOR: Final = ("cuTENSOR", 0.9)
_TORCH: Final = (("PyTorch", 0.95),)
_TWICE: Final = (("PyTorch", 2.0), ("CuPy", 2.0))
_DIGITS: Final = 1e-13
_PERMUTED: Final = (
    Workload("transpose", "float64", _square(8192, 8), "", (_TENSOR,), "ij->ji", rate="bytes"),
    Workload(
        "4 axes permuted",
        "float64",
        _axes((128, 64, 128, 128), (4, 3, 2, 5)),
        "",
        (_TENSOR,),
        "abcd->dbca",
        rate="bytes",
    ),
    Workload(
        "6 axes permuted",  # of the three the worst, which is what is asked of PyTorch
        "float64",
        _axes((32, 16, 32, 16, 32, 16), (2, 3, 2, 1, 3, 2)),
        "",
        (_TENSOR, ("PyTorch", 1.2)),
        "abcdef->fbdcea",
        rate="bytes",
    ),
    Workload(
        "25 legs of 2 permuted",
        "float64",
        _axes((2,) * 25, (2,) * 8 + (1,) * 17),
        "",
        (("cuTENSOR", 1.5),),
        f"{_LEGS}->{_LEGS[12::-1]}{_LEGS[13:]}",
        rate="bytes",
    ),
)
_FACTORED: Final = (
    Workload("Cholesky of one", "float64", _square(8192, 8), "cholesky", _TORCH, numbers="positive"),
    Workload("Cholesky of 32×32", "float64", _stack(32, 32, 4096), "cholesky", _TORCH, numbers="positive"),
    Workload("SVD of 32×32", "float64", _stack(32, 32, 4096), "svd", _TORCH),
    Workload("SVD of 64×64", "float64", _stack(64, 64, 256), "svd", _TWICE, residual=_DIGITS),
    Workload(
        "SVD of 256×256",
        "float64",
        lambda s: ((s.size(256, 12),) * 2 + (s.size(32, 3),),),
        "svd",
        _TWICE,
        residual=_DIGITS,
    ),
    Workload(
        "SVD of one C64 matrix, decaying",
        "complex128",
        _square(512, 8),
        "best svd",
        (("PyTorch", 1.0),),
        numbers="decaying",
    ),
    Workload(
        "eigenvalues of 100×100",
        "float64",
        _stack(100, 100, 500),
        "eigh",
        (("CuPy", 1.0), ("PyTorch", 20.0)),
        numbers="symmetric",
    ),
    Workload("QR of 32×16", "float64", _stack(32, 16, 8192), "qr", (("PyTorch", 20.0),), residual=_DIGITS),
    Workload("solve 64×64", "float64", _stack(64, 64, 4096, sides=1), "solve", _TORCH, numbers="positive"),
)
WORKLOADS: Final = (
    Workload(
        "products of 64×64", "float64", _stack(64, 64, 20_000, sides=64), "", _TORCH, "ijb,jkb->ikb", rate="bytes"
    ),
    Workload("1,000 products of 16×16, one by one", "float64", _square(16, 4, 2), "", (), PRODUCT, repeats=1000),
    *_PERMUTED,
    Workload("elementwise sum", "float64", _square(8192, 8, 2), "add", _TORCH, rate="bytes"),
    Workload("F64 to F32", "float64", _square(8192, 8), "cast", _TORCH, rate="bytes"),
    Workload("sum along an axis", "float64", _square(8192, 8), "sum", ((BEST, 0.9),), rate="bytes"),
    Workload("largest of all", "float64", _square(8192, 8), "max", ((BEST, 0.9),), rate="bytes"),
    Workload("pair of tensors", "float64", _pair, "", (("PyTorch", 1.0), _TENSOR), "abc,cbd->ad"),
    *_FACTORED,
    _chain(12, 256),
    _network("a PEPS", lambda: lattice(6, 6, bond=16), lambda: lattice(2, 2), "float64"),
    # The last one, as compiling its 540 operands may take JAX long.
    _network("an amplitude of a circuit", lambda: circuit(5, 5, 14, 0), lambda: circuit(2, 2, 2, 0), "complex128"),
)
