from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypedDict

from tensor_einsum.steps.steps import Step

class _Result(TypedDict):
    path: tuple[tuple[int, int], ...]
    sliced: tuple[int, ...]
    measure: tuple[float, float, float, float]
    rotations: int
    rotation_seconds: float
    tried: list[tuple[str, int, float]]
    history: list[tuple[int, float, float]]
    stopped: str

def search(
    inputs: tuple[tuple[int, ...], ...],
    output: tuple[int, ...],
    bits: tuple[float, ...],
    smallest: bool,
    timed: bool,
    element_products: float,
    cached: float,
    uncached: float,
    product_rate: float,
    element_rate: float,
    step_seconds: float,
    rotations: float,
    share: float,
    seconds: float,
    most_rotations: float,
    largest: float,
    seed: int,
    threads: int,
    /,
) -> _Result: ...
def layouts(
    extents: tuple[float, ...],
    operands: tuple[tuple[int, ...], ...],
    steps: list[tuple[int, int, tuple[int, ...]]],
    worth: float,
    /,
) -> tuple[tuple[int, ...], ...] | None: ...
def product_cost(
    extents: tuple[float, ...],
    a: tuple[int, ...],
    b: tuple[int, ...],
    c: tuple[int, ...],
    closely: bool = False,
    /,
) -> float: ...
def read_plain(
    text: str, shapes: tuple[tuple[int, ...], ...], /
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], tuple[str, ...], tuple[int, ...]] | None: ...
def build_steps(
    step: type[Step],
    inputs: tuple[tuple[int, ...], ...],
    output: tuple[int, ...],
    names: tuple[str, ...],
    extents: tuple[int, ...],
    path: tuple[tuple[int, ...], ...],
    itemsize: int,
    /,
) -> tuple[Step, ...] | None: ...

_Path = tuple[
    int,
    tuple[tuple[int, ...], ...],
    tuple[tuple[tuple[int, ...], ...], ...],
    tuple[list[int], ...],
    tuple[bytes, ...],
    int,
    int,
    bool,
]

def lives(
    path: _Path, sizes: list[int], varies: bytes, extents: list[int], shares: list[float], cut: bool, /
) -> list[int] | None: ...
def excesses(
    path: _Path,
    sizes: list[int],
    varies: bytes,
    extents: list[int],
    shares: list[float],
    limit: int,
    labels: Sequence[int],
    /,
) -> list[int | None] | None: ...

class CachedCall:
    def __init__(
        self,
        function: Callable[..., Any],
        found: dict[Any, Any],
        fail: Callable[[Exception, Any], NoReturn],
        tensor: type,
        /,
    ) -> None: ...
    def __call__(self, *arguments: Any, **options: Any) -> Any: ...
