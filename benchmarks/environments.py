"""All environments of a network, as a multiple of one contraction; and JAX's gradient likewise, where it is installed.

Networks have about 400 tensors; the order is that of our search, or from left to right, and JAX follows the same. Ours
are timed first, contraction and sweep in turns, before JAX is loaded, so that no idle pool of its threads is beside
them; then JAX's contraction and gradient in turns, both compiled beforehand. Gradients are compared element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import prod
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from benchmarks.networks import Network, circuit, lattice, regular
from benchmarks.report import duration
from benchmarks.timing import Spread, interleave, median_spread, stopwatch
from tensor_einsum import Plan, plan

TENSORS: Final = 400


def ring(sites: int, bond: int) -> Network:
    """The inner product of a matrix product state with periodic ends and its conjugate, site by site.

    >>> len(ring(10, 4).inputs)
    20
    """
    terms = []
    for site in range(sites):
        after = (site + 1) % sites
        physical = 2 * sites + site
        terms += [(2 * site, physical, 2 * after), (2 * site + 1, physical, 2 * after + 1)]
    return Network(f"state of {sites} sites, bond {bond}", tuple(terms), (), (bond,) * 2 * sites + (2,) * sites)


SEARCHED: Final = {"seconds": 3.0}
ROW_BY_ROW: Final = {"optimize": False}
NETWORKS: Final[tuple[tuple[Callable[[], Network], Mapping[str, Any]], ...]] = (
    (lambda: ring(TENSORS // 2, 8), SEARCHED),
    (lambda: ring(TENSORS // 2, 16), SEARCHED),
    (lambda: lattice(40, 10), ROW_BY_ROW),
    (lambda: lattice(25, 16), SEARCHED),
    (lambda: regular(3, 100, 1), SEARCHED),
    (lambda: circuit(6, 6, 7, 1), SEARCHED),
)
"""Each with how its order is found."""


class Result(NamedTuple):
    """Times in seconds, one for each turn; what is missing is empty."""

    network: str
    tensors: int
    flops: tuple[int, int]  # of the contraction, and of the sweep
    peak_bytes: tuple[int, int]
    contraction: list[float]
    sweep: list[float]
    frugal: list[float]  # the sweep in half the memory, where that can be
    contraction_jax: list[float]
    gradient_jax: list[float]
    compile_seconds: float
    difference: float  # the largest, relative to the largest element of each environment

    def ratio(self, above: str, below: str) -> Spread | None:
        """Of two times, turn by turn.

        >>> Result("", 0, (1, 3), (1, 1), [1.0] * 6, [3.0] * 6, [], [], [], 0.0, 0.0).ratio("sweep", "contraction")
        Spread(median=3.0, low=3.0, high=3.0)
        """
        pairs = list(zip(getattr(self, above), getattr(self, below), strict=False))
        return median_spread([over / under for over, under in pairs]) if pairs else None


def run(rounds: int, only: str, with_jax: bool) -> Iterator[Result]:
    """Every network, first with ours, then with JAX."""
    chosen = [(network, options) for make, options in NETWORKS if only in (network := make()).name]
    ours = [(*_ours(network, options, rounds), network) for network, options in chosen]
    for result, found, arrays, gradients, network in ours:
        if with_jax and find_spec("jax"):
            yield _beside_jax(result, found, arrays, gradients, network, rounds)
        else:
            yield result


def _arrays(network: Network) -> list[np.ndarray[Any, Any]]:
    """Positive elements, scaled so that the whole stays near 1 whatever the size."""
    random = np.random.default_rng(0)
    return [np.asfortranarray((random.random(shape) + 0.5) / prod(shape) ** 0.5) for shape in network.shapes]


def _ours(
    network: Network, options: Mapping[str, Any], rounds: int
) -> tuple[Result, Plan, list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    arrays = _arrays(network)
    operands = [tr.tensor(array) for array in arrays]
    found = plan(network.notation, *operands, **options)
    sweep = found.environments_plan()
    contenders = {
        "contraction": stopwatch("f(*x)", f=found, x=operands),
        "sweep": stopwatch("f(*x)", f=found.environments, x=operands),
    }
    limit = sweep.peak_bytes // 2
    try:
        found.environments_plan(memory_limit=limit)
        contenders["frugal"] = stopwatch("f(*x, memory_limit=m)", f=found.environments, x=operands, m=limit)
    except MemoryError:
        pass
    gradients = [environment.to_numpy() for environment in found.environments(*operands)]
    samples = {name: [value / 1e9 for value in turns] for name, turns in interleave(contenders, rounds=rounds).items()}
    costs = (found.flops, sweep.flops), (found.peak_bytes, sweep.peak_bytes)
    times = samples["contraction"], samples["sweep"], samples.get("frugal", [])
    return Result(network.name, len(arrays), *costs, *times, [], [], 0.0, 0.0), found, arrays, gradients


def _beside_jax(
    result: Result,
    found: Plan,
    arrays: Sequence[np.ndarray[Any, Any]],
    gradients: Sequence[np.ndarray[Any, Any]],
    network: Network,
    rounds: int,
) -> Result:
    import opt_einsum

    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    expression = opt_einsum.contract_expression(network.notation, *network.shapes, optimize=list(found.path))
    operands = [jax.numpy.array(array) for array in arrays]

    def contract(operands: Any) -> Any:
        return expression(*operands, backend="jax")

    begun = perf_counter()
    contraction = jax.jit(contract).lower(operands).compile()
    gradient = jax.jit(jax.grad(contract)).lower(operands).compile()
    seconds = perf_counter() - begun
    theirs = [np.asarray(one) for one in gradient(operands)]
    difference = max(
        float(np.max(np.abs(one - other)) / np.max(np.abs(other))) for one, other in zip(gradients, theirs, strict=True)
    )
    contenders = {
        "contraction": stopwatch("wait(f(x))", wait=jax.block_until_ready, f=contraction, x=operands),
        "gradient": stopwatch("wait(f(x))", wait=jax.block_until_ready, f=gradient, x=operands),
    }
    samples = {name: [value / 1e9 for value in turns] for name, turns in interleave(contenders, rounds=rounds).items()}
    return result._replace(
        contraction_jax=samples["contraction"],
        gradient_jax=samples["gradient"],
        compile_seconds=seconds,
        difference=difference,
    )


def as_markdown(results: Sequence[Result]) -> str:
    """A line for each network.

    >>> print(as_markdown([Result("ring", 4, (1, 3), (8, 16), [1.0], [3.0], [], [], [], 0.0, 0.0)]).splitlines()[-1])
    | ring | 4 | 1 s | 3 s | 3.00 (3.00–3.00) | 3.00 | 2.0 | – | – | – | – |
    """
    lines = [
        "Medians; ratios turn by turn, with their 95 % interval. All environments over one contraction: time, "
        "operations, memory at the peak, and time in half that memory. JAX: its gradient over its contraction; the "
        "last column is our sweep over its gradient.",
        "",
        "| network | tensors | contraction | environments | ratio | of flops | of memory | in half the memory "
        "| JAX gradient | ratio | ours/JAX |",
        "|---|" + "---:|" * 10,
    ]
    for one in results:
        frugal, jax = one.ratio("frugal", "contraction"), one.ratio("gradient_jax", "contraction_jax")
        cells = [
            one.network,
            str(one.tensors),
            duration(median(one.contraction)),
            duration(median(one.sweep)),
            str(one.ratio("sweep", "contraction")),
            f"{one.flops[1] / one.flops[0]:.2f}",
            f"{one.peak_bytes[1] / one.peak_bytes[0]:.1f}",
            f"{frugal.median:.2f}" if frugal else "–",
            duration(median(one.gradient_jax)) if jax else "–",
            str(jax) if jax else "–",
            f"{median(one.sweep) / median(one.gradient_jax):.2f}" if jax else "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
