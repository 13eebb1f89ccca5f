"""SciPy's functions of the array API standard, on tensors and on NumPy's arrays; results stay tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from scipy import cluster, differentiate, fft, integrate, ndimage, signal, special, stats
from scipy.optimize import elementwise, rosen
from scipy.spatial.transform import Rotation

import tensor_runtime as tr

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
V = np.abs(RNG.normal(size=20)) + 0.1
INSIDE = np.clip(V, 0.1, 0.9)

Function = Callable[..., Any]
CALLS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    **{
        f"special.{name}": (getattr(special, name), (INSIDE,))
        for name in (
            *("gamma", "gammaln", "erf", "erfc", "expit", "logit", "ndtr", "ndtri", "log_ndtr", "entr"),
            *("i0", "i0e", "i1", "i1e"),
        )
    },
    **{
        f"special.{name}": (getattr(special, name), (V, V + 1))
        for name in ("xlogy", "rel_entr", "gammainc", "gammaincc")
    },
    **{
        f"special.{name}": (lambda x, name=name: getattr(special, name)(x, axis=0), (X,))
        for name in ("logsumexp", "softmax", "log_softmax")
    },
    **{
        f"stats.{name}": (getattr(stats, name), (X,))
        for name in (
            *(
                "skew",
                "kurtosis",
                "moment",
                "zscore",
                "sem",
                "variation",
                "iqr",
                "tmean",
                "tvar",
                "tmin",
                "tmax",
                "tstd",
            ),
            *("tsem", "differential_entropy", "circmean", "circvar", "circstd", "lmoment"),
        )
    },
    **{f"stats.{name}": (getattr(stats, name), (np.abs(X),)) for name in ("gmean", "hmean", "entropy")},
    **{f"stats.{name}": (getattr(stats, name), (V,)) for name in ("kstat", "kstatvar")},
    **{
        f"stats.{name}": (lambda x, name=name: tuple(getattr(stats, name)(x)), (X,))
        for name in ("skewtest", "kurtosistest", "normaltest")
    },
    "stats.pmean": (lambda x: stats.pmean(x, 2), (np.abs(X),)),
    "stats.zmap": (lambda x: stats.zmap(x, x), (X,)),
    "stats.describe": (lambda x: tuple(stats.describe(x))[2:], (X,)),
    "stats.jarque_bera": (lambda x: tuple(stats.jarque_bera(x)), (V,)),
    "stats.ttest_1samp": (lambda x: tuple(stats.ttest_1samp(x, 0.0)), (X,)),
    "stats.ttest_ind": (lambda x, y: tuple(stats.ttest_ind(x, y)), (X, X + 0.1)),
    "stats.ttest_rel": (lambda x, y: tuple(stats.ttest_rel(x, y)), (X, X**2)),
    "stats.pearsonr": (lambda x, y: tuple(stats.pearsonr(x, y)), (V, V**2)),
    "stats.chisquare": (lambda x: tuple(stats.chisquare(x)), (np.abs(X),)),
    "stats.quantile": (lambda x: stats.quantile(x, 0.3, axis=0), (X,)),
    "cluster.vq.whiten": (cluster.vq.whiten, (X,)),
    "cluster.vq.vq": (lambda x: cluster.vq.vq(x, x[:3, :]), (X,)),
    "cluster.vq.kmeans": (lambda x: cluster.vq.kmeans(x, x[:3, :]), (X,)),
    "cluster.hierarchy.linkage": (cluster.hierarchy.linkage, (X,)),
    "ndimage.gaussian_filter": (lambda x: ndimage.gaussian_filter(x, 1.0), (X,)),
    "ndimage.sobel": (ndimage.sobel, (X,)),
    "ndimage.zoom": (lambda x: ndimage.zoom(x, 2.0), (X,)),
    **{f"fft.{name}": (getattr(fft, name), (X,)) for name in ("fft", "ifft", "rfft", "fftn", "fftshift")},
    "signal.detrend": (lambda x: signal.detrend(x, axis=0), (X,)),
    "signal.hilbert": (lambda x: signal.hilbert(x, axis=0), (X,)),
    "signal.fftconvolve": (signal.fftconvolve, (V, V)),
    "signal.sosfilt": (signal.sosfilt, (signal.butter(2, 0.3, output="sos"), V)),
    "integrate.trapezoid": (lambda x: integrate.trapezoid(x, axis=0), (X,)),
    "integrate.simpson": (lambda x: integrate.simpson(x, axis=0), (X,)),
    "integrate.cumulative_trapezoid": (lambda x: integrate.cumulative_trapezoid(x, axis=0), (X,)),
    "integrate.cubature": (lambda x: integrate.cubature(lambda t: t[:, 0] ** 2, x[:1], x[:1] + 1).estimate, (V,)),
    "integrate.tanhsinh": (lambda x: integrate.tanhsinh(lambda t: t**2, x, x + 1).integral, (V,)),
    "differentiate.derivative": (lambda x: differentiate.derivative(lambda t: t**3, x).df, (V,)),
    "optimize.elementwise.find_root": (
        lambda x: elementwise.find_root(lambda t, c: t**2 - c, (0 * x, x + 1), args=(x,)).x,
        (V,),
    ),
    "optimize.elementwise.find_minimum": (
        lambda x: elementwise.find_minimum(lambda t: (t - 0.3) ** 2, (x - 5, x - 1, x + 5)).x,
        (V,),
    ),
    "optimize.rosen": (rosen, (V,)),
    "spatial.transform.Rotation": (lambda x: Rotation.from_rotvec(x).as_quat(), (X,)),
    "constants.convert_temperature": (lambda x: scipy.constants.convert_temperature(x, "C", "K"), (V,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_function(name: str) -> None:
    function, arrays = CALLS[name]
    found, expected = function(*map(tr.asarray, arrays)), function(*arrays)
    together = isinstance(expected, tuple)
    for one, other in zip(found, expected, strict=True) if together else [(found, expected)]:
        assert isinstance(one, tr.Tensor | float), f"left our type: {type(one)}"
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-8, atol=1e-12)
