"""The libraries that are compared: how each takes an array, computes, and is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import opt_einsum

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_einsum import einsum, plan

Run = Callable[..., Any]
FACTORS: Final = ("cholesky", "svd", "eigh", "qr", "solve")
"""Calls on matrices: elsewhere the axes of a batch come first."""


class Library(NamedTuple):
    """How to compute with one library."""

    take: Callable[[Any], Any]  # from a NumPy array
    einsum: Run
    calls: Mapping[str, Run]
    wait: Callable[[Any], object]  # for the result of a call
    give: Callable[[Any], Any] = np.asarray  # to a NumPy array
    leading: bool = True  # whether the axes of a batch come first

    def taken(self, call: str, operands: Sequence[Any], /) -> list[Any]:
        """Operands of a call, where and as this library has them."""
        if call == "upload":
            return list(operands)
        first = self.leading and call in FACTORS
        return [self.take(np.ascontiguousarray(np.moveaxis(x, (0, 1), (-2, -1))) if first else x) for x in operands]


@cache
def order(equation: str, *shapes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The order of a contraction, the same for every library."""
    return list(plan(equation, *shapes).path)


def ours(place: str, /) -> Library:
    """Our own, at a placement."""

    def contract(equation: str, *operands: tr.Tensor) -> tr.Tensor:
        if len(operands) < 3:
            return einsum(equation, *operands)
        return einsum(equation, *operands, optimize=order(equation, *(x.shape for x in operands)))

    calls: dict[str, Run] = {
        "copy": tr.copy,
        "add": tr.add,
        "cast": lambda x: tr.cast(x, tr.F32),
        "sum": lambda x: tr.sum(x, axis=0),
        "max": tr.max,
        "upload": lambda x: tr.to(tr.asarray(x), place),
        "download": lambda x: tr.to(x, "cpu"),
        **{name: getattr(tl, name) for name in FACTORS},
    }
    return Library(
        lambda x: tr.to(tr.asarray(x), place),
        contract,
        calls,
        lambda y: tr.synchronize(place),
        lambda y: tr.to(y, "cpu").to_numpy(),
        leading=False,
    )


def torch() -> Library | None:
    """PyTorch on its first GPU, in full precision."""
    if not _installed("torch"):
        return None
    xp: Any = import_module("torch")
    if not xp.cuda.is_available():
        return None
    xp.backends.cuda.matmul.allow_tf32 = False
    calls: dict[str, Run] = {
        "copy": xp.clone,
        "add": xp.add,
        "cast": lambda x: x.float(),
        "sum": lambda x: xp.sum(x, 0),
        "max": xp.max,
        "upload": lambda x: xp.from_numpy(x).cuda(),
        "download": lambda x: x.cpu(),
        **_factors(xp),
    }
    return Library(
        lambda x: xp.from_numpy(x).cuda(),
        lambda equation, *x: _contracted(xp, equation, *x).contiguous(),
        calls,
        lambda y: xp.cuda.synchronize(),
        lambda y: y.cpu().numpy(),
    )


def jax() -> Library | None:
    """JAX, compiled, where its first device is a GPU."""
    if not _installed("jax"):
        return None
    xla: Any = import_module("jax")
    xla.config.update("jax_enable_x64", True)
    xla.config.update("jax_default_matmul_precision", "highest")
    if xla.default_backend() != "gpu":
        return None
    xp: Any = import_module("jax.numpy")
    calls: dict[str, Run] = {
        "copy": xla.jit(xp.copy),
        "add": xla.jit(xp.add),
        "cast": xla.jit(lambda x: x.astype("float32")),
        "sum": xla.jit(lambda x: x.sum(0)),
        "max": xla.jit(xp.max),
        "upload": xla.device_put,
        "download": np.asarray,
        **{name: xla.jit(call) for name, call in _factors(xp).items()},
    }
    return Library(xla.device_put, xla.jit(partial(_contracted, xp), static_argnums=0), calls, xla.block_until_ready)


def cupy() -> Library | None:
    """CuPy by itself."""
    if not _installed("cupy"):
        return None
    xp: Any = import_module("cupy")
    if not xp.cuda.is_available():
        return None
    calls: dict[str, Run] = {
        "copy": lambda x: x.copy(),
        "add": xp.add,
        "cast": lambda x: x.astype("float32"),
        "sum": lambda x: x.sum(0),
        "max": xp.max,
        "upload": xp.asarray,
        "download": xp.asnumpy,
        **_factors(xp),
    }
    return Library(
        xp.asarray,
        lambda equation, *x: xp.ascontiguousarray(_contracted(xp, equation, *x)),
        calls,
        lambda y: xp.cuda.get_current_stream().synchronize(),
        xp.asnumpy,
    )


PEERS: Final[Mapping[str, Callable[[], Library | None]]] = {"PyTorch": torch, "JAX": jax, "CuPy": cupy}


def _contracted(xp: Any, equation: str, *operands: Any) -> Any:
    if len(operands) < 3:
        return xp.einsum(equation, *operands)
    path = order(equation, *(tuple(x.shape) for x in operands))
    return opt_einsum.contract(equation, *operands, optimize=path)


def _factors(xp: Any) -> dict[str, Run]:
    found: dict[str, Run] = {name: getattr(xp.linalg, name) for name in FACTORS}
    return {**found, "svd": lambda x: xp.linalg.svd(x, full_matrices=False)}


def _installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True
