"""A hundred thousand Kalman filters at once, each with 6 states and 2 measurements, checked against the truth.

    python examples/kalman.py --filters 100000 --picture out/kalman.png

Targets move in the plane with positions, velocities and accelerations that noise changes; positions are measured, with
noise. The means are one tensor [6, filters], the covariances one [6, 6, filters]: batch axes come last, so that a step
is written as for one filter, with `tensor_linalg.matmul`, `matvec` and `solve`, and without a loop. The filters say how
far they are off, their covariances; the mean of the squared error, measured in these, has to be the number of states.

Units: a step of time is 1. Source: R. E. Kalman, J. Basic Eng. 82, 35 (1960); Y. Bar-Shalom, X. R. Li and
T. Kirubarajan, Estimation with Applications to Tracking and Navigation (2001), §5.2 and §5.4 (the test).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensor_runtime as tr
from tensor_linalg import cholesky, matmul, matvec, mT, solve, vecdot


class State(NamedTuple):
    """What the filters know: means [6, filters] and covariances [6, 6, filters]."""

    mean: tr.Tensor
    covariance: tr.Tensor


def model() -> tuple[tr.Tensor, tr.Tensor, tr.Tensor, tr.Tensor]:
    """How targets move, [6, 6], and their noise, [6, 6]; how they are measured, [2, 6], and its noise, [2, 2].

    >>> [one.shape for one in model()]
    [(6, 6), (6, 6), (2, 6), (2, 2)]
    """
    plane = tr.eye(2)
    motion = tr.kron(tr.tensor([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), plane)
    push = tr.tensor([[1 / 36, 1 / 12, 1 / 6], [1 / 12, 1 / 4, 1 / 2], [1 / 6, 1 / 2, 1.0]])  # of a constant jerk
    noise = tr.kron(push + tr.eye(3) * 1e-3, plane) * 0.01
    return motion, noise, tr.kron(tr.tensor([[1.0, 0.0, 0.0]]), plane), plane * 0.25


def step(state: State, seen: tr.Tensor) -> State:
    """Predict, and correct by measurements [2, filters].

    >>> step(State(tr.zeros((6, 4)), tr.ones((6, 6, 4))), tr.zeros((2, 4))).covariance.shape
    (6, 6, 4)
    """
    f, q, h, r = model()
    mean, p = matvec(f, state.mean), matmul(matmul(f, state.covariance), f.T) + tr.expand_dims(q, 2)
    hp = matmul(h, p)
    gain = mT(solve(matmul(hp, h.T) + tr.expand_dims(r, 2), hp))
    return State(mean + matvec(gain, seen - matvec(h, mean)), p - matmul(gain, hp))


def draw(errors: list[float], said: list[float], picture: Path) -> None:
    """The error of positions over time, and what the filters say of it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(range(1, len(errors) + 1), errors, "o", label="error of positions")
    axes.plot(range(1, len(said) + 1), said, label="as the filters say")
    axes.set(xlabel="step", ylabel="root of the mean square", ylim=(0, None))
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Follow the targets, say how fast and how well, and fail where the filters are off by more than they say."""
    parser = argparse.ArgumentParser(description="Many Kalman filters at once.")
    parser.add_argument("--filters", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/kalman.png")
    arguments = parser.parse_args(argv)
    count, steps = arguments.filters, arguments.steps
    if count < 1 or steps < 1:
        parser.error("at least 1 filter and 1 step")
    f, q, h, r = model()
    truth: tr.Tensor = tr.normal((6, count), seed=1)
    state = State(tr.zeros((6, count)), tr.broadcast_to(tr.expand_dims(tr.eye(6), 2), (6, 6, count)))
    errors, said, spent = [], [], 0.0
    for number in range(steps):
        truth = matvec(f, truth) + matvec(cholesky(q), tr.normal((6, count), seed=2, stream=number))
        seen = matvec(h, truth) + matvec(cholesky(r), tr.normal((2, count), seed=3, stream=number))
        start = time.perf_counter()
        state = step(state, seen)
        spent += time.perf_counter() - start
        off = (truth - state.mean)[:2]
        errors.append(math.sqrt(float(tr.mean(off * off))))
        said.append(math.sqrt(float(tr.mean(state.covariance[0, 0] + state.covariance[1, 1])) / 2))
    off = truth - state.mean
    weighted = solve(state.covariance, tr.expand_dims(off, 1))[:, 0]
    found, allowed = float(tr.mean(vecdot(off, weighted))), 5 * math.sqrt(12 / count)  # χ² of 6 has the variance 12
    print(f"{count} filters: {spent / steps / count * 1e9:.0f} ns for a step of one")
    print(f"squared error in units of the covariance: {found:.4f}, 6 within {allowed:.4f} allowed")
    if arguments.picture:
        try:
            draw(errors, said, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if abs(found - 6) > allowed:
        parser.exit(1, "the filters are off by more than they say\n")


if __name__ == "__main__":
    main()
