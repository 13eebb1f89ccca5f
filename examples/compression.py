"""An image and a volume in fewer numbers: truncated singular values, and Tucker's decomposition.

    python examples/compression.py --error 0.05 --picture out/compression.png

The image is made, not photographed: a few smooth hills, a grating and noise, [rows, columns, 3 colours]. As a matrix it
is cut by `tensor_linalg.svd_truncated` at a relative error, colour by colour in one batch; as a tensor by Tucker's
decomposition, one `tensor_linalg.split` for each axis, which leaves a small core and a basis for each axis. Both errors
are measured against the image, and may not exceed what was asked for.

Source: L. De Lathauwer, B. De Moor and J. Vandewalle, SIAM J. Matrix Anal. Appl. 21, 1253 (2000), with axes cut in
turn as N. Vannieuwenhoven, R. Vandebril and K. Meerbergen do, SIAM J. Sci. Comput. 34, A1027 (2012).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import prod
from pathlib import Path

import tensor_runtime as tr
from tensor_linalg import matmul, split, svd_truncated


def image(rows: int, columns: int) -> tr.Tensor:
    """Hills, a grating and a little noise, [rows, columns, 3]; about 0 to 1.

    >>> image(4, 5).shape
    (4, 5, 3)
    """
    y, x = tr.linspace(0.0, 1.0, rows).reshape((rows, 1)), tr.linspace(0.0, 1.0, columns).reshape((1, columns))
    colours = []
    for colour in range(3):
        hills = tr.exp(-((x - 0.3 - 0.2 * colour) ** 2.0 + (y - 0.5) ** 2.0) * 12.0)
        ridge = tr.exp(-((x - y) ** 2.0) * 40.0) * 0.5
        grating = tr.sin((x * 30.0) * (1.0 + 0.1 * colour)) * tr.cos(y * 14.0) * 0.2
        colours.append(hills + ridge + grating + tr.normal((rows, columns), seed=colour) * 0.01)
    return tr.stack(colours, axis=2)


def by_singular_values(x: tr.Tensor, error: float) -> tuple[tr.Tensor, int]:
    """What is left of the matrices [M, N, B...], and how many numbers it takes; all matrices get one rank.

    >>> by_singular_values(tr.ones((4, 6, 2)), 0.1)[1]
    20
    """
    u, s, vh, _, _ = svd_truncated(x, cutoff=error**2)
    u = u * tr.expand_dims(s, 0)
    return matmul(u, vh), u.size + vh.size


def by_tucker(x: tr.Tensor, error: float) -> tuple[tr.Tensor, int]:
    """What is left of a tensor, and how many numbers it takes: a core, and a basis for each axis.

    Each axis may lose an equal share of the squared error; errors of different axes are orthogonal.

    >>> by_tucker(tr.ones((4, 6, 2)), 0.1)[1]
    13
    """
    core, bases = x, []
    allowed = error**2 * float(tr.sum(x * x)) / x.rank
    for axis in range(x.rank):
        basis, _, rest, _ = split(core, axis, absorb="right", cutoff=allowed, relative=False)
        core = tr.move_axes(rest, 0, axis)
        bases.append(basis)
    whole = core
    for axis, basis in enumerate(bases):
        whole = tr.move_axes(tr.tensordot(basis, whole, axes=([1], [axis])), 0, axis)
    return whole, core.size + sum(basis.size for basis in bases)


def draw(pictures: dict[str, tr.Tensor], picture: Path) -> None:
    """The image and what is left of it, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(pictures), 3.4), layout="constrained")
    for axes, (title, x) in zip(figure.subplots(1, len(pictures)), pictures.items(), strict=True):
        axes.imshow(tr.clip(x, 0.0, 1.0).to_numpy())
        axes.set(title=title, xticks=[], yticks=[])
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Compress, say how well, and fail where an error is larger than was asked for."""
    parser = argparse.ArgumentParser(description="An image in fewer numbers.")
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--columns", type=int, default=320)
    parser.add_argument("--error", type=float, default=0.05, help="relative, in the Frobenius norm (default: 0.05)")
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/compression.png")
    arguments = parser.parse_args(argv)
    if min(arguments.rows, arguments.columns) < 2 or not 0 < arguments.error < 1:
        parser.error("at least 2 rows and columns, and an error between 0 and 1")
    x = image(arguments.rows, arguments.columns)
    pictures, failed = {f"{prod(x.shape)} numbers": x}, False
    for name, function in (("singular values", by_singular_values), ("Tucker", by_tucker)):
        approximation, numbers = function(x, arguments.error)
        error = float(tr.norm(approximation - x)) / float(tr.norm(x))
        print(f"{name}: {numbers} of {x.size} numbers, relative error {error:.4f}")
        pictures[f"{name}: {numbers}"] = approximation
        failed |= error > arguments.error * (1 + 1e-9)
    if arguments.picture:
        try:
            draw(pictures, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if failed:
        parser.exit(1, "an error is larger than was asked for\n")


if __name__ == "__main__":
    main()
