"""Calls of every public function of `cuprous.scipy`: `call(sp, x)`, where `sp` has SciPy's modules and, as `sp.np`,
NumPy's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

import cuprous as cp
from cuprous._unsupported import Unsupported

Call = Callable[[Any, Any], Any]

MODULES = (
    "fft", "fftpack", "interpolate", "linalg", "ndimage", "signal", "signal.windows", "sparse", "sparse.csgraph",
    "sparse.linalg", "spatial", "spatial.distance", "special", "stats",
)  # fmt: skip


def namespace(xp: Any) -> SimpleNamespace:
    """Returns SciPy's modules for NumPy arrays, or ours for our arrays."""
    root = "scipy" if xp is np else "cuprous.scipy"
    found = {name.replace(".", "_"): import_module(f"{root}.{name}") for name in MODULES}
    return SimpleNamespace(np=xp, distance=found["spatial_distance"], **found)


THEIRS, OURS = namespace(np), namespace(cp)


def public() -> list[str]:
    """Returns the functions of all modules by their qualified names."""
    found = []
    for module in MODULES:
        ours = import_module(f"cuprous.scipy.{module}")
        for name in ours.__all__:
            value = getattr(ours, name)
            if callable(value) and not isinstance(value, Unsupported) and not _is_error(value):
                found.append(f"{module}.{name}")
    return found


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, (Exception, Warning))


def _module(sp: Any, name: str) -> Any:
    return getattr(sp, name.replace(".", "_"))


def plain(module: str, *names: str, more: tuple[Any, ...] = (), **options: Any) -> dict[str, Call]:
    """Returns calls with an array, more arguments and options."""
    return {
        f"{module}.{name}": lambda sp, x, name=name: getattr(_module(sp, module), name)(x, *more, **options)
        for name in names
    }


def doubled(module: str, *names: str) -> dict[str, Call]:
    """Returns calls with an array and another of the same shape."""
    return {
        f"{module}.{name}": lambda sp, x, name=name: getattr(_module(sp, module), name)(x, _other(x)) for name in names
    }


def _other(x: Any) -> Any:
    """Returns the elements of x in another order."""
    return x[::-1] if x.ndim else x


def _weights(sp: Any) -> Any:
    return sp.np.asarray([0.5, 1.0, 0.25])


def _box(sp: Any, x: Any) -> Any:
    """Returns weights with the same number of axes as x."""
    return sp.np.ones((3,) * x.ndim)


def _labels(sp: Any, x: Any) -> Any:
    return sp.np.asarray(np.arange(x.size).reshape(x.shape) % 3)


def _differences(line: Any, result: Any) -> None:
    """Filters one line, for `generic_filter1d`."""
    result[:] = line[2:] - line[:-2]


NDIMAGE: dict[str, Call] = {
    **plain("ndimage", "gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace",
            more=(1.5,)),
    **plain("ndimage", "laplace", "prewitt", "sobel", "uniform_filter", "spline_filter", "spline_filter1d"),
    **plain("ndimage", "uniform_filter1d", "maximum_filter1d", "minimum_filter1d", "maximum_filter", "minimum_filter",
            "median_filter", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "black_tophat",
            "white_tophat", "morphological_gradient", "morphological_laplace", more=(3,)),
    **plain("ndimage", "percentile_filter", more=(30, 3)), **plain("ndimage", "rank_filter", more=(1, 3)),
    "ndimage.convolve1d": lambda sp, x: sp.ndimage.convolve1d(x, _weights(sp)),
    "ndimage.correlate1d": lambda sp, x: sp.ndimage.correlate1d(x, _weights(sp), axis=0),
    "ndimage.convolve": lambda sp, x: sp.ndimage.convolve(x, _box(sp, x)),
    "ndimage.correlate": lambda sp, x: sp.ndimage.correlate(x, _box(sp, x), mode="wrap"),
    **plain("ndimage", "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss",
            "binary_opening", "binary_propagation"),
    **plain("ndimage", "distance_transform_bf", "distance_transform_cdt", "distance_transform_edt"),
    **{f"ndimage.{name} indices": lambda sp, x, name=name: getattr(sp.ndimage, name)(x, return_indices=True)[1]
       for name in ("distance_transform_bf", "distance_transform_edt")},
    "ndimage.generic_filter": lambda sp, x: sp.ndimage.generic_filter(x, np.ptp, 3),
    "ndimage.generic_filter1d": lambda sp, x: sp.ndimage.generic_filter1d(x, _differences, 3),
    "ndimage.vectorized_filter": lambda sp, x: sp.ndimage.vectorized_filter(x, sp.np.sum, size=3),
    "ndimage.geometric_transform": lambda sp, x: sp.ndimage.geometric_transform(
        x, lambda place: tuple(0.75 * i for i in place), order=1),
    **plain("ndimage", "center_of_mass", "extrema", "maximum", "maximum_position", "mean", "median", "minimum",
            "minimum_position", "standard_deviation", "sum", "sum_labels", "variance", "label"),
    **{f"ndimage.{name} labels": lambda sp, x, name=name: getattr(sp.ndimage, name)(x, _labels(sp, x), [0, 2])
       for name in ("center_of_mass", "extrema", "maximum", "maximum_position", "mean", "median", "minimum",
                    "minimum_position", "standard_deviation", "sum", "sum_labels", "variance")},
    "ndimage.find_objects": lambda sp, x: sp.ndimage.find_objects(x),
    "ndimage.histogram": lambda sp, x: sp.ndimage.histogram(x, -3, 3, 4),
    "ndimage.value_indices": lambda sp, x: sorted(sp.ndimage.value_indices(x).items()),
    "ndimage.labeled_comprehension": lambda sp, x: sp.ndimage.labeled_comprehension(
        x, _labels(sp, x), sp.np.asarray([0, 1]), sp.np.sum, float, 0),
    "ndimage.generic_gradient_magnitude": lambda sp, x: sp.ndimage.generic_gradient_magnitude(x, sp.ndimage.sobel),
    "ndimage.generic_laplace": lambda sp, x: sp.ndimage.generic_laplace(
        x, lambda a, axis, output, mode, cval: sp.ndimage.correlate1d(a, [1, -2, 1], axis, output, mode, cval)),
    **plain("ndimage", "fourier_ellipsoid", "fourier_gaussian", "fourier_shift", "fourier_uniform", more=(1.5,)),
    **plain("ndimage", "shift", more=(0.5,)), **plain("ndimage", "zoom", more=(1.5,)),
    **plain("ndimage", "rotate", more=(30,)),
    "ndimage.affine_transform": lambda sp, x: sp.ndimage.affine_transform(x, sp.np.eye(x.ndim) * 0.9, order=1),
    "ndimage.map_coordinates": lambda sp, x: sp.ndimage.map_coordinates(x, sp.np.ones((x.ndim, 4)) * 0.3, order=1),
    "ndimage.iterate_structure": lambda sp, x: sp.ndimage.iterate_structure(x, 2),
}  # fmt: skip

SIGNAL: dict[str, Call] = {
    **doubled("signal", "convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d",
              "choose_conv_method"),
    "signal.argrelextrema": lambda sp, x: sp.signal.argrelextrema(x, sp.np.greater),
    **plain("signal", "argrelmax", "argrelmin", "detrend", "hilbert", "medfilt", "medfilt2d", "periodogram", "wiener"),
    "signal.lfilter_zi": lambda sp, x: sp.signal.lfilter_zi(_other(x), x),
    **plain("signal", "welch", "spectrogram", "stft", nperseg=4),
    **{f"signal.{name}": lambda sp, x, name=name: getattr(sp.signal, name)(x, _other(x), nperseg=4)
       for name in ("coherence", "csd")},
    "signal.coherence": lambda sp, x: sp.signal.coherence(x, _other(x), nperseg=3, noverlap=2),
    "signal.istft": lambda sp, x: sp.signal.istft(x, nperseg=4),
    "signal.decimate": lambda sp, x: sp.signal.decimate(x, 2, n=2, ftype="fir"),
    "signal.find_peaks": lambda sp, x: [(found := sp.signal.find_peaks(x, height=0))[0], found[1]["peak_heights"]],
    "signal.peak_prominences": lambda sp, x: sp.signal.peak_prominences(x, sp.np.asarray([1])),
    "signal.peak_widths": lambda sp, x: sp.signal.peak_widths(x, sp.np.asarray([1])),
    "signal.lfilter": lambda sp, x: sp.signal.lfilter([1.0, 0.5], [1.0, -0.25], x),
    "signal.lfilter axis": lambda sp, x: sp.signal.lfilter([1.0, 0.5], [1.0, -0.25], x, axis=0),
    "signal.lfiltic": lambda sp, x: sp.signal.lfiltic([1.0, 0.5], [1.0, -0.25], x),
    "signal.filtfilt": lambda sp, x: sp.signal.filtfilt([1.0, 0.5], [1.0, -0.25], x, padlen=1),
    "signal.sosfilt": lambda sp, x: sp.signal.sosfilt(sp.np.asarray([[1.0, 0.5, 0, 1, -0.25, 0]]), x),
    "signal.sosfilt_zi": lambda sp, x: sp.signal.sosfilt_zi(x),
    "signal.sosfiltfilt": lambda sp, x: sp.signal.sosfiltfilt(
        sp.np.asarray([[1.0, 0.5, 0, 1, -0.25, 0]]), x, padlen=1),
    **plain("signal", "resample", more=(7,)), **plain("signal", "resample_poly", more=(2, 3)),
    "signal.savgol_filter": lambda sp, x: sp.signal.savgol_filter(x, 3, 1),
    "signal.upfirdn": lambda sp, x: sp.signal.upfirdn(_weights(sp), x, 2, 1),
}  # fmt: skip

FFT: dict[str, Call] = {
    **plain("fft", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "hfft2",
            "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "dct", "dctn", "idct", "idctn", "dst",
            "dstn", "idst", "idstn", "fftshift", "ifftshift"),
    **{f"fft.{name} type": lambda sp, x, name=name: getattr(sp.fft, name)(x, type=4, norm="ortho")
       for name in ("dct", "dctn", "idct", "idctn", "dst", "dstn", "idst", "idstn")},
    **{f"fft.{name} axis": lambda sp, x, name=name: getattr(sp.fft, name)(x, n=4, axis=0)
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "dct", "dst")},
    **plain("fftpack", "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "dct", "dctn", "idct", "idctn",
            "dst", "dstn", "idst", "idstn", "fftshift", "ifftshift"),
}  # fmt: skip


def _paired(name: str) -> Call:
    return lambda sp, x: getattr(sp.distance, name)(x, _other(x))


DISTANCE: dict[str, Call] = {
    **{f"spatial.distance.{name}": _paired(name) for name in (
        "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming",
        "jaccard", "minkowski", "rogerstanimoto", "russellrao", "sokalsneath", "sqeuclidean", "yule", "cdist")},
    "spatial.distance.mahalanobis": lambda sp, x: sp.distance.mahalanobis(x, _other(x), sp.np.eye(x.shape[0])),
    "spatial.distance.seuclidean": lambda sp, x: sp.distance.seuclidean(x, _other(x), sp.np.ones(x.shape[0])),
    **plain("spatial.distance", "pdist", "squareform", "is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y"),
    **{f"spatial.distance.{name}": _paired(name) for name in ("jensenshannon", "directed_hausdorff")},
}  # fmt: skip

STATS: dict[str, Call] = {
    **plain("stats", "bartlett", "chisquare", "describe", "entropy", "gmean", "hmean", "iqr", "jarque_bera", "kurtosis",
            "kurtosistest", "median_abs_deviation", "mode", "normaltest", "rankdata", "sem", "skew", "skewtest",
            "variation", "zscore"),
    **{f"stats.{name} axis": lambda sp, x, name=name: getattr(sp.stats, name)(x, axis=-1)
       for name in ("entropy", "gmean", "hmean", "iqr", "kurtosis", "median_abs_deviation", "mode", "rankdata", "sem",
                    "skew", "variation", "zscore", "describe")},
    **doubled("stats", "bartlett", "f_oneway", "kendalltau", "ks_2samp", "levene", "linregress", "mannwhitneyu",
              "pearsonr", "spearmanr", "ttest_ind", "ttest_rel", "zmap"),
    **plain("stats", "moment", more=(3,)), **plain("stats", "pmean", more=(2.0,)),
    **plain("stats", "trim_mean", more=(0.2,)), **plain("stats", "ttest_1samp", more=(0.5,)),
    "stats.ttest_ind_from_stats": lambda sp, x: sp.stats.ttest_ind_from_stats(x, 1.0, 9, 0.5, 2.0, 7),
    **{f"stats.{name}": lambda sp, x, name=name: getattr(sp.stats, name).cdf(x)
       for name in ("norm", "expon", "uniform", "logistic", "cauchy")},
    **{f"stats.{name}": lambda sp, x, name=name: getattr(sp.stats, name).pdf(x, 2.5)
       for name in ("t", "chi2", "gamma")},
    **{f"stats.{name}": lambda sp, x, name=name: getattr(sp.stats, name).cdf(x, 2.5, 3.0) for name in ("beta", "f")},
}  # fmt: skip


def _line(sp: Any, x: Any) -> Any:
    return sp.np.arange(float(x.shape[0]))


def _spline(name: str, *more: Any) -> Call:
    return lambda sp, x: getattr(sp.interpolate, name)(_line(sp, x), x, *more)(sp.np.asarray([0.5, 1.25, 2.0]))


INTERPOLATE: dict[str, Call] = {
    **{f"interpolate.{name}": _spline(name) for name in (
        "Akima1DInterpolator", "CubicSpline", "PchipInterpolator", "make_interp_spline")},
    "interpolate.CubicHermiteSpline": lambda sp, x: sp.interpolate.CubicHermiteSpline(_line(sp, x), x, x)(
        sp.np.asarray([0.5, 1.25])),
    "interpolate.pchip_interpolate": lambda sp, x: sp.interpolate.pchip_interpolate(
        _line(sp, x), x, sp.np.asarray([0.5])),
    "interpolate.interp1d": lambda sp, x: sp.interpolate.interp1d(_line(sp, x), x, axis=0)(sp.np.asarray([0.5, 1.25])),
    "interpolate.interp1d cubic": lambda sp, x: sp.interpolate.interp1d(_line(sp, x), x, "cubic", axis=0)(
        sp.np.asarray([0.5, 1.25])),
    "interpolate.RegularGridInterpolator": lambda sp, x: sp.interpolate.RegularGridInterpolator(
        tuple(sp.np.arange(float(n)) for n in x.shape), x)(sp.np.full((2, x.ndim), 0.25)),
    "interpolate.interpn": lambda sp, x: sp.interpolate.interpn(
        tuple(sp.np.arange(float(n)) for n in x.shape), x, sp.np.full((2, x.ndim), 0.25), "nearest"),
    "interpolate.PPoly": lambda sp, x: sp.interpolate.PPoly(x, sp.np.arange(x.shape[1] + 1.0))(sp.np.asarray([0.5])),
    "interpolate.BPoly": lambda sp, x: sp.interpolate.BPoly(x, sp.np.arange(x.shape[1] + 1.0))(sp.np.asarray([0.5])),
    "interpolate.RBFInterpolator": lambda sp, x: sp.interpolate.RBFInterpolator(
        sp.np.arange(float(x.shape[0]))[:, None], x, kernel="linear")(sp.np.asarray([[0.5]])),
    "interpolate.NearestNDInterpolator": lambda sp, x: sp.interpolate.NearestNDInterpolator(
        sp.np.stack([sp.np.arange(float(x.shape[0]))] * 2, 1), x)(sp.np.asarray([[0.3, 0.3]])),
    "interpolate.NdBSpline": lambda sp, x: sp.interpolate.NdBSpline(
        tuple(sp.np.arange(n + 2.0) for n in x.shape), x, 1)(sp.np.ones((2, x.ndim))),
    "interpolate.BSpline": lambda sp, x: sp.interpolate.BSpline(sp.np.arange(x.shape[0] + 2.0), x, 1)(
        sp.np.asarray([1.5, 2.0])),
}  # fmt: skip

ONE = (
    "erf", "erfc", "erfinv", "erfcinv", "gamma", "gammaln", "loggamma", "rgamma", "digamma", "psi", "expit", "logit",
    "log_expit", "ndtr", "ndtri", "log_ndtr", "i0", "i0e", "sinc", "entr", "exp10", "exp2", "expm1", "log1p", "exprel",
    "cbrt", "j0", "j1", "y0", "y1", "i1", "i1e", "k0", "k0e", "k1", "k1e", "erfcx", "erfi", "dawsn", "ellipk",
    "ellipkm1", "ellipe", "round", "shichi", "zetac", "sindg", "cosdg", "tandg", "cotdg", "cosm1", "gammasgn",
    "kolmogorov", "expi", "exp1",
    "fresnel", "lambertw", "log_softmax", "logsumexp", "sici", "softmax", "factorial",
)  # fmt: skip
TWO = (
    "beta", "betaln", "binom", "xlogy", "xlog1py", "rel_entr", "kl_div", "huber", "pseudo_huber", "boxcox",
    "inv_boxcox", "boxcox1p", "inv_boxcox1p", "poch", "agm", "comb", "perm", "zeta", "gammainc", "gammaincc", "powm1",
    "ellipeinc", "ellipj", "ellipkinc",
)  # fmt: skip
SPECIAL: dict[str, Call] = {
    **plain("special", *ONE), **doubled("special", *TWO),
    **{f"special.{name}": lambda sp, x, name=name: getattr(sp.special, name)(2, x)
       for name in ("jn", "yn", "spherical_yn", "polygamma", "kn", "iv", "ive", "expn", "chdtr", "chdtrc", "pdtr",
                    "pdtrc")},
    **{f"special.{name}": lambda sp, x, name=name: getattr(sp.special, name)(3.0, x)
       for name in ("gammaincinv", "gammainccinv", "chdtri", "stdtr", "stdtrit")},
    **{f"special.{name}": lambda sp, x, name=name: getattr(sp.special, name)(2.0, 3.0, x)
       for name in ("betainc", "betaincc", "betaincinv", "betainccinv", "fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc")},
    **{f"special.{name}": lambda sp, x, name=name: getattr(sp.special, name)(2, 5, x) for name in ("bdtr", "bdtrc")},
    **{f"special.{name}": lambda sp, x, name=name: getattr(sp.special, name)(2.0, 5.0, x)
       for name in ("bdtri", "nbdtr", "nbdtrc", "nbdtri")},
    "special.pdtri": lambda sp, x: sp.special.pdtri(2.0, x),
    "special.lpmv": lambda sp, x: sp.special.lpmv(1, 3, x),
    "special.sph_harm_y": lambda sp, x: sp.special.sph_harm_y(3, 1, x, 0.5),
    "special.diric": lambda sp, x: sp.special.diric(x, 5),
    "special.multigammaln": lambda sp, x: sp.special.multigammaln(x, 2),
    "special.radian": lambda sp, x: sp.special.radian(x, 30, 15),
}  # fmt: skip

SPARSE: dict[str, Call] = {
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)(x).toarray()
       for name in ("coo_array", "coo_matrix", "csc_array", "csc_matrix", "csr_array", "csr_matrix", "dia_array",
                    "dia_matrix", "tril", "triu")},
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)(*[sp.sparse.csr_array(x)] * 2).toarray()
       for name in ("kron", "kronsum")},
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)([sp.sparse.csr_array(x)] * 2).toarray()
       for name in ("hstack", "vstack", "block_diag")},
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)([[sp.sparse.csr_array(x), None]]).toarray()
       for name in ("bmat", "block_array")},
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)([x]).toarray()
       for name in ("diags", "diags_array")},
    **{f"sparse.{name}": lambda sp, x, name=name: getattr(sp.sparse, name)([x, x[:-1]], offsets=[0, 1]).toarray()
       for name in ("diags", "diags_array")},
    "signal.lombscargle": lambda sp, x: sp.signal.lombscargle(
        sp.np.arange(1.0, x.shape[0] + 1), x[0], sp.np.asarray([0.5, 1.0, 2.0])),
    "sparse.find": lambda sp, x: sp.sparse.find(sp.sparse.coo_array(x)),
    "sparse.csr_array @": lambda sp, x: sp.sparse.csr_array(x) @ x,
    "sparse.csr_array sum": lambda sp, x: sp.sparse.csr_array(x).sum(axis=0),
    **{f"sparse.csgraph.{name}": lambda sp, x, name=name: getattr(sp.sparse_csgraph, name)(sp.np.abs(x))
       for name in ("laplacian", "shortest_path", "floyd_warshall", "dijkstra", "bellman_ford", "johnson",
                    "connected_components")},
    "sparse.csgraph.csgraph_from_dense": lambda sp, x: sp.sparse_csgraph.csgraph_from_dense(x).toarray(),
    "sparse.csgraph.csgraph_to_dense": lambda sp, x: sp.sparse_csgraph.csgraph_to_dense(sp.sparse.csr_array(x)),
    "sparse.linalg.norm": lambda sp, x: sp.sparse_linalg.norm(sp.sparse.csr_array(x)),
    "sparse.linalg.matrix_power": lambda sp, x: sp.sparse_linalg.matrix_power(sp.sparse.csr_array(x), 2).toarray(),
    "sparse.linalg.spsolve": lambda sp, x: sp.sparse_linalg.spsolve(
        sp.sparse.csr_array(x + 9 * sp.np.eye(x.shape[0])), sp.np.ones(x.shape[0])),
    "sparse.linalg.splu": lambda sp, x: sp.sparse_linalg.splu(
        sp.sparse.csc_array(x + 9 * sp.np.eye(x.shape[0]))).solve(sp.np.ones(x.shape[0])),
    "sparse.linalg.factorized": lambda sp, x: sp.sparse_linalg.factorized(
        sp.sparse.csc_array(x + 9 * sp.np.eye(x.shape[0])))(sp.np.ones(x.shape[0])),
    "sparse.linalg.spsolve_triangular": lambda sp, x: sp.sparse_linalg.spsolve_triangular(
        sp.sparse.csr_array(sp.np.tril(x + 9 * sp.np.eye(x.shape[0]))), sp.np.ones(x.shape[0])),
    "sparse.linalg.aslinearoperator": lambda sp, x: sp.sparse_linalg.aslinearoperator(x).matvec(x[0]),
    **{f"sparse.linalg.{name}": lambda sp, x, name=name: getattr(sp.sparse_linalg, name)(
        x + sp.np.conj(x.T) + 20 * sp.np.eye(x.shape[0]), sp.np.ones(x.shape[0]), rtol=1e-13,
        **({} if name == "minres" else {"atol": 1e-13}))[0]
       for name in ("cg", "cgs", "bicgstab", "gmres", "minres")},
    "sparse.linalg.lsqr": lambda sp, x: sp.sparse_linalg.lsqr(
        x + 9 * sp.np.eye(x.shape[0]), sp.np.ones(x.shape[0]), atol=1e-14, btol=1e-14)[0],
    "fft.fht": lambda sp, x: sp.fft.fht(x, 0.1, 0.5, 0.2, -0.3),
    "fft.ifht": lambda sp, x: sp.fft.ifht(x, 0.1, 0.5, 0.2, -0.3),
    "signal.order_filter": lambda sp, x: sp.signal.order_filter(x, sp.np.ones((3,) * x.ndim), 1),
    "signal.czt": lambda sp, x: sp.signal.czt(x, 5),
    "signal.zoom_fft": lambda sp, x: sp.signal.zoom_fft(x, [0.25, 1.5], 4),
    "sparse.linalg.lsmr": lambda sp, x: sp.sparse_linalg.lsmr(
        x + 9 * sp.np.eye(x.shape[0]), sp.np.ones(x.shape[0]), atol=1e-14, btol=1e-14, maxiter=50)[0],
    "sparse.linalg.eigsh": lambda sp, x: sp.sparse_linalg.eigsh(
        sp.sparse.csr_array(x + sp.np.conj(x.T)), 1, return_eigenvectors=False),
    "sparse.linalg.svds": lambda sp, x: sp.sparse_linalg.svds(x, 1, return_singular_vectors=False),
}  # fmt: skip

CALLS: dict[str, Call] = {
    **NDIMAGE, **SIGNAL, **FFT, **DISTANCE, **STATS, **INTERPOLATE, **SPECIAL, **SPARSE,
}  # fmt: skip

#: Functions of numbers, with valid and invalid arguments.
NUMBERS: dict[str, list[tuple[Any, ...]]] = {
    **{f"signal.windows.{name}": [(7,), (8, False), (0,), (1,), (-1,), (2.5,), ("x",)] for name in (
        "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine", "exponential", "flattop",
        "hamming", "hann", "lanczos", "nuttall", "parzen", "taylor", "triang", "tukey")},
    **{f"signal.windows.{name}": [(7, 2.0), (8, 3.0, False), (0, 1), (1, 1), (-1, 1), (2.5, 1), ("x", 1)] for name in (
        "gaussian", "kaiser", "general_hamming")},
    "signal.windows.chebwin": [(7, 100), (8, 60), (0, 60), (1, 60), (-1, 60)],
    "signal.windows.dpss": [(7, 2), (8, 2.5, 2), (0, 2), (-1, 2), (7, 5), (7, 2, 9)],
    "signal.windows.general_cosine": [(7, [0.5, 0.5]), (0, [1]), (-1, [1])],
    "signal.windows.general_gaussian": [(7, 1.5, 2), (0, 1, 1), (-1, 1, 1)],
    "signal.windows.kaiser_bessel_derived": [(8, 2.0), (0, 2.0), (-2, 2.0), (7, 2.0)],
    "signal.windows.get_window": [("hann", 7), (("kaiser", 4.0), 8), ("bogus", 7), ("kaiser", 7), ("hann", -1),
        (4.0, 7)],
    "signal.get_window": [("hann", 7), (("tukey", 0.5), 8), ("bogus", 7), (("gaussian",), 7)],
    "signal.butter": [(2, 0.3), (3, [0.2, 0.5], "band"), (2, 1.5), (2, 0.3, "bogus"), (2, [0.1, 0.2], "low"), (0, 0.3)],
    "signal.cheby1": [(2, 1, 0.3), (3, 1, [0.2, 0.5], "band"), (2, 1, 1.5), (2, 1, 0.3, "bogus")],
    "signal.cheby2": [(2, 20, 0.3), (3, 20, [0.2, 0.5], "band"), (2, 20, 1.5), (2, 20, 0.3, "bogus")],
    "signal.firwin": [(7, 0.3), (8, 0.3), (7, [0.2, 0.5]), (7, 1.5), (7, []), (7, [0.5, 0.2]), (0, 0.3)],
    "signal.correlation_lags": [(5, 3), (4, 7, "same"), (5, 2, "same"), (3, 5, "valid"), (5, 3, "valid"), (5, 3, "x")],
    "signal.kaiser_atten": [(20, 0.2), (1, 0.1)],
    "signal.kaiser_beta": [(60,), (30,), (10,)],
    "signal.savgol_coeffs": [(5, 2), (5, 2, 1), (5, 5), (4, 2), (5, 2, 0, 1.0, 7), (5, 2, 0, 1.0, None, "bogus")],
    "ndimage.generate_binary_structure": [(2, 1), (3, 2), (0, 1), (1, 0), (2, 9), (-1, 1)],
    "fft.next_fast_len": [(7,), (97,), (13, True), (0,), (-1,), (2.5,), ("x",)],
    "fft.prev_fast_len": [(7,), (97,), (13, True), (0,), (-1,), (2.5,), ("x",)],
    "fft.fhtoffset": [(0.1, 0.5), (0.3, -1.2, 0.7, 0.4)],
    "fft.fftfreq": [(5,), (4, 0.5), (0,), ("x",)],
    "fft.rfftfreq": [(5,), (4, 0.5), (0,), ("x",)],
    "fftpack.next_fast_len": [(7,), (97,), (0,), (-1,), (2.5,), ("x",)],
    "fftpack.fftfreq": [(5,), (4, 0.5), (0,), ("x",)],
    "fftpack.rfftfreq": [(5,), (4, 0.5), (0,), (-1,), (2.5,), ("x",)],
    "sparse.eye": [(3,), (2, 3, 1), (0,), (-1,)],
    "sparse.eye_array": [(3,), (2, 3), (-1,)],
    "sparse.identity": [(3,), (-1,)],
}  # fmt: skip

#: Other names -> the file that tests them.
ELSEWHERE = {
    **{f"signal.{name}": "test_waveforms.py" for name in (
        "chirp", "gausspulse", "sawtooth", "square", "sweep_poly", "unit_impulse")},
    **{f"fftpack.{name}": "test_fftpack.py" for name in (
        "cc_diff", "cs_diff", "diff", "hilbert", "ihilbert", "itilbert", "sc_diff", "shift", "ss_diff", "tilbert")},
    "fft.get_fft_plan": "test_fft_plans.py", "fftpack.get_fft_plan": "test_fft_plans.py",
    **dict.fromkeys(("fft.get_workers", "fft.set_workers"), "test_fft.py"),
    **dict.fromkeys(("sparse.issparse", "sparse.isspmatrix", "sparse.isspmatrix_coo", "sparse.isspmatrix_csc",
                     "sparse.isspmatrix_csr", "sparse.load_npz", "sparse.save_npz", "sparse.rand", "sparse.random",
                     "sparse.random_array", "sparse.spdiags", "sparse.sparray", "sparse.spmatrix"), "test_sparse.py"),
    **{f"signal.{name}": "test_filter_design.py" for name in (
        "CZT", "ZoomFFT", "czt_points", "abcd_normalize", "bessel", "besselap", "bilinear", "bilinear_zpk", "buttap",
        "buttord", "cheb1ap", "cheb1ord", "cheb2ap", "cheb2ord", "cont2discrete", "ellip", "ellipap", "ellipord",
        "findfreqs", "firls", "firwin2", "freqs", "freqs_zpk", "freqz", "freqz_sos", "freqz_zpk", "gammatone",
        "group_delay", "iircomb", "iirdesign", "iirfilter", "iirnotch", "iirpeak", "invres", "invresz", "kaiserord",
        "lp2bp", "lp2bp_zpk", "lp2bs", "lp2bs_zpk", "lp2hp", "lp2hp_zpk", "lp2lp", "lp2lp_zpk", "max_len_seq",
        "minimum_phase", "normalize", "place_poles", "residue", "residuez", "sos2tf", "sos2zpk", "sosfreqz", "ss2tf",
        "ss2zpk", "tf2sos", "tf2ss", "tf2zpk", "unique_roots", "zpk2sos", "zpk2ss", "zpk2tf")},
    **{f"linalg.{name}": "test_scipy_linalg.py" for name in (
        "bandwidth", "block_diag", "circulant", "companion", "convolution_matrix", "coshm", "dft", "expm", "fiedler",
        "hadamard", "hankel", "helmert", "hilbert", "khatri_rao", "kron", "leslie", "lu", "lu_factor", "lu_solve",
        "sinhm", "solve_triangular", "tanhm", "toeplitz")},
    **dict.fromkeys(("sparse.linalg.LinearOperator", "sparse.linalg.lobpcg", "sparse.linalg.SuperLU"),
                    "test_sparse_linalg.py"),
    **{f"interpolate.{name}": "test_fitted.py" for name in (
        "BarycentricInterpolator", "CloughTocher2DInterpolator", "InterpolatedUnivariateSpline", "KroghInterpolator",
        "LSQUnivariateSpline", "LinearNDInterpolator", "UnivariateSpline", "barycentric_interpolate", "griddata",
        "krogh_interpolate", "make_lsq_spline", "splantider", "splder")},
    **{f"spatial.{name}": "test_spatial.py" for name in ("Delaunay", "KDTree", "cKDTree", "distance_matrix")},
    **{f"signal.{name}": "test_orthants.py" for name in (
        "check_COLA", "check_NOLA", "deconvolve", "gauss_spline", "hilbert2", "sepfir2d", "vectorstrength")},
    **{f"signal.{name}": "test_signal_splines.py" for name in (
        "cspline1d", "cspline1d_eval", "cspline2d", "cwt", "morlet", "morlet2", "qmf", "qspline1d", "qspline1d_eval",
        "qspline2d", "ricker", "spline_filter", "symiirorder1", "symiirorder2", "band_stop_obj")},
    **dict.fromkeys(("linalg.fiedler_companion", "stats.boxcox_llf"), "test_orthants.py"),
    **dict.fromkeys(("special.btdtr", "special.btdtri"), "test_special_cupy.py"),  # CuPy's; SciPy has them no more
    "interpolate.NdPPoly": "test_grid_pieces.py",
    **{f"sparse.csgraph.{name}": "test_graph_searches.py" for name in (
        "breadth_first_order", "breadth_first_tree", "construct_dist_matrix", "depth_first_order", "depth_first_tree",
        "maximum_bipartite_matching", "maximum_flow", "min_weight_full_bipartite_matching", "minimum_spanning_tree",
        "reconstruct_path", "reverse_cuthill_mckee", "structural_rank", "yen")},
    **{f"sparse.{name}": "test_sparse_axes.py" for name in (
        "get_index_dtype", "matrix_transpose", "permute_dims", "safely_cast_index_arrays", "swapaxes")},
    "special.SpecialFunction": "test_special.py", "sparse.isspmatrix_dia": "test_sparse_dia.py",
    **{f"signal.{name}": "test_systems.py" for name in (
        "StateSpace", "TransferFunction", "ZerosPolesGain", "bode", "dbode", "dfreqresp", "dimpulse", "dlsim", "dlti",
        "dstep", "freqresp", "impulse", "lsim", "lti", "step")},
}  # fmt: skip
if not hasattr(THEIRS.ndimage, "vectorized_filter"):  # new in SciPy 1.16
    del CALLS["ndimage.vectorized_filter"]
    ELSEWHERE["ndimage.vectorized_filter"] = "test_generic_filters.py"
