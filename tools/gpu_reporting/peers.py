"""The libraries that are compared: how each takes an array, computes, and is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import tensor_linalg
import tensor_runtime as tr
from tensor_einsum import einsum

Run = Callable[..., Any]


class Library(NamedTuple):
    """How to compute with one library."""

    take: Callable[[Any], Any]  # from a NumPy array
    einsum: Run
    calls: Mapping[str, Run]
    wait: Callable[[Any], object]  # for the result of a call


def ours(place: str, /) -> Library:
    """Our own, at a placement."""
    calls: dict[str, Run] = {"copy": tr.copy, "add": tr.add, "sum": lambda x: tr.sum(x, axis=0)}
    calls["cholesky"] = tensor_linalg.cholesky
    return Library(lambda x: tr.to(tr.asarray(x), place), einsum, calls, lambda y: tr.synchronize(place))


def torch() -> Library | None:
    """PyTorch on its first GPU, in full precision."""
    if not _installed("torch"):
        return None
    xp: Any = import_module("torch")
    if not xp.cuda.is_available():
        return None
    xp.backends.cuda.matmul.allow_tf32 = False
    calls: dict[str, Run] = {"copy": xp.clone, "add": xp.add, "sum": lambda x: xp.sum(x, 0)}
    calls["cholesky"] = xp.linalg.cholesky
    return Library(
        lambda x: xp.from_numpy(x).cuda(),
        lambda equation, *x: xp.einsum(equation, *x).contiguous(),
        calls,
        lambda y: xp.cuda.synchronize(),
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
    made = xla.jit(xp.einsum, static_argnums=0)
    calls: dict[str, Run] = {"copy": xla.jit(xp.copy), "add": xla.jit(xp.add), "sum": xla.jit(lambda x: x.sum(0))}
    calls["cholesky"] = xla.jit(xp.linalg.cholesky)
    return Library(xla.device_put, made, calls, lambda y: y.block_until_ready())


def cupy() -> Library | None:
    """CuPy by itself."""
    if not _installed("cupy"):
        return None
    xp: Any = import_module("cupy")
    if not xp.cuda.is_available():
        return None
    calls: dict[str, Run] = {"copy": lambda x: x.copy(), "add": xp.add, "sum": lambda x: x.sum(0)}
    calls["cholesky"] = xp.linalg.cholesky
    return Library(
        xp.asarray,
        lambda equation, *x: xp.ascontiguousarray(xp.einsum(equation, *x)),
        calls,
        lambda y: xp.cuda.get_current_stream().synchronize(),
    )


PEERS: Final[Mapping[str, Callable[[], Library | None]]] = {"PyTorch": torch, "JAX": jax, "CuPy": cupy}


def _installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True
