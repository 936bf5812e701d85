"""Function -> kinds of input (of tests/inputs/test_scipy_inputs.py) for which SciPy's result is an accident of its
implementation, or which docs/differences.md says differ; and numbers with which a function is not compared.
"""

from __future__ import annotations

from typing import Any

import scipy

from tests.conftest import DEVICE

ACCIDENTS: dict[str, Any] = {}


def _add(names: str, *kinds: Any, prefix: str = "") -> None:
    for name in names.split():
        ACCIDENTS[prefix + name] = (*ACCIDENTS.get(prefix + name, ()), *kinds)


_EVERY = ("vector", "square", "wide", "cube", "scalar", "empty", "no rows", "one", "one by one", "nan", "inf",
          "integers", "int32", "uint8", "bool", "complex", "complex64", "float32", "shares")  # fmt: skip

# --- interpolate
# Without points there is no nearest one: an error, where SciPy has NaN.
_add("NearestNDInterpolator", "empty", "no rows", prefix="interpolate.")

# --- ndimage
# SciPy's moving sum propagates NaN and infinity. Its extremes skip NaN or not, depending on the position.
_add("uniform_filter uniform_filter1d", "nan", "inf", prefix="ndimage.")
_add("maximum_filter1d minimum_filter1d maximum_filter minimum_filter median_filter grey_closing grey_dilation "
     "grey_erosion grey_opening black_tophat white_tophat morphological_gradient morphological_laplace "
     "percentile_filter rank_filter", "nan", prefix="ndimage.")  # fmt: skip
# Without a zero the distance is infinite, not an arbitrary number.
_add("distance_transform_bf distance_transform_edt", *(set(_EVERY) - {"empty", "no rows", "integers", "int32", "uint8",
     "bool", "float32"}), prefix="ndimage.")  # fmt: skip
_add("distance_transform_cdt", "scalar", prefix="ndimage.")
# An element of a 0-d array has no position.
_add("center_of_mass", "scalar", prefix="ndimage.")
ACCIDENTS["ndimage.center_of_mass labels"] = ("scalar",)
# NaN has no position.
_add("extrema maximum_position minimum_position", "nan", prefix="ndimage.")
# A complex number whose imaginary part is 0.
_add("standard_deviation variance", "complex", "complex64", prefix="ndimage.")
# Labels that do not occur.
ACCIDENTS["ndimage.median labels"] = ("scalar", "one", "one by one")
_add("find_objects", "empty", "no rows", prefix="ndimage.")

# --- signal
# Empty input is an error or an empty result, depending on mode and rank.
_add("convolve correlate", "empty", "no rows", prefix="signal.")
_add("convolve2d correlate2d", "no rows", prefix="signal.")
# 0 · NaN where zeros are assumed.
_add("convolve correlate", "nan", "inf", prefix="signal.")
# LAPACK's message about an empty matrix.
_add("detrend savgol_filter", "no rows", prefix="signal.")
_add("medfilt order_filter", "nan", prefix="signal.")
_add("medfilt2d", "integers", prefix="signal.")  # one axis is enough for some dtypes
_add("spectrogram sosfilt", "empty", prefix="signal.")
_add("istft", "one by one", prefix="signal.")  # a transform of no points
_add("peak_widths", "inf", prefix="signal.")
_add("lfilter sosfilt", "inf", prefix="signal.")  # all values after infinity are NaN
ACCIDENTS["signal.lfilter axis"] = ("inf",)
_add("lfiltic", "scalar", prefix="signal.")
_add("windows.taylor", (8, False), prefix="signal.")  # the second argument is a number there
_add("windows.tukey", ("x",), prefix="signal.")

# --- fft
# The combination of infinities depends on the algorithm.
_add("fft rfft irfft hfft ihfft fftn rfftn irfftn hfftn ihfftn dct dst dstn", "inf", prefix="fft.")
_add("fft fftn rfft irfft dct dst dstn", "inf", prefix="fftpack.")
# For transforms without points, SciPy treats several axes as one.
_add("irfft2 hfft2", "one by one", prefix="fft.")
_add("irfftn hfftn", "one", "one by one", prefix="fft.")
_add("fftshift ifftshift", "scalar", prefix="fft.")  # unpacks the axes
_add("fftshift ifftshift", "scalar", prefix="fftpack.")

# --- spatial.distance
_add("canberra chebyshev", "nan", prefix="spatial.distance.")  # skips NaN
_add("canberra", "inf", prefix="spatial.distance.")
_add("chebyshev cityblock", "integers", prefix="spatial.distance.")  # integers, where ours are float64
_add("cosine", "bool", prefix="spatial.distance.")  # counts with truth values
_add("rogerstanimoto russellrao sokalsneath", "empty", prefix="spatial.distance.")  # 0 / 0
_add("russellrao", "inf", prefix="spatial.distance.")
_add("squareform", "scalar", prefix="spatial.distance.")
_add("directed_hausdorff", "vector", "scalar", "empty", "no rows", "one", "nan", "inf", "integers", "bool", "complex64",
     "shares", prefix="spatial.distance.")  # fmt: skip # reads the second extent before anything is checked

# --- stats
# Samples whose variances are equal up to rounding, or unsigned differences.
_add("bartlett", "integers", "int32", "bool", "shares", prefix="stats.")
_add("describe", "bool", prefix="stats.")
_add("ttest_rel", "uint8", prefix="stats.")
_add("f_oneway", "wide", "one by one", prefix="stats.")
_add("mode", "empty", "no rows", "nan", prefix="stats.")
_add("mannwhitneyu", "float32", prefix="stats.")  # the p-value's dtype
_add("pearsonr", "scalar", prefix="stats.")
_add("spearmanr", "wide", prefix="stats.")  # square roots of rounding

# --- interpolate
_add("make_interp_spline", "empty", "no rows", prefix="interpolate.")
_add("interp1d", "inf", prefix="interpolate.")

# --- special
_add("i0 j0 j1 y0 y1 i1 jn yn iv ive", "inf", prefix="special.")  # NaN, where limits are finite
_add("sindg cosdg tandg cotdg", "inf", prefix="special.")
_add("softmax log_softmax", "empty", "no rows", "uint8", prefix="special.")  # unsigned differences
_add("logsumexp", "no rows", prefix="special.")
_add("huber", "inf", prefix="special.")
_add("zeta polygamma", "wide", "inf", "float32", prefix="special.")  # not continued
_add("polygamma", "vector", "square", "cube", prefix="special.")
_add(
    "factorial kn yn spherical_yn expn gammaincinv gammainccinv diric radian", "float32", prefix="special."
)  # float64 there
_add("stdtrit", "integers", "int32", "uint8", "bool", "float32", prefix="special.")  # infinity for p = 0
_add("multigammaln", "vector", "square", "wide", "cube", "integers", "int32", "float32", "shares", prefix="special.")

_add("ellipkinc", "wide", prefix="special.")  # the sign of a pole

# --- sparse
_add("coo_matrix csc_array csc_matrix csr_matrix tril triu", "scalar", prefix="sparse.")  # a matrix of one element
_add("diags diags_array", "one by one", "integers", prefix="sparse.")
_add("linalg.aslinearoperator", "scalar", "empty", prefix="sparse.")
_add("linalg.gmres", "nan", "inf", prefix="sparse.")
# A dense triangular matrix is solved in blocks, where NaN and infinity reach other rows.
_add("linalg.spsolve_triangular", "nan", "inf", prefix="sparse.")
_add("linalg.minres", "complex64", prefix="sparse.")
_add("linalg.lsmr", "complex", "complex64", prefix="sparse.")  # SciPy's takes no complex matrix and real vector
_add("linalg.eigsh", "scalar", "one by one", prefix="sparse.")

# --- by device and SciPy version
if DEVICE != "cpu":  # cuFFT spreads NaN over the whole line
    _add("hfft irfft", "nan", prefix="fft.")
if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18):  # Cuprous follows 1.17
    _add("euclidean minkowski sqeuclidean", "square", prefix="spatial.distance.")
    _add("mannwhitneyu", "scalar", prefix="stats.")
