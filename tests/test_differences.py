"""Each row of docs/differences.md holds, shown by one line per row. The line is true here. If the other
library is NumPy or SciPy and the row is specific, it also shows that library's behavior.

A row without a line here fails. A row that one line cannot show has a reason instead.
"""

# Each row is one line, of any length.
# ruff: noqa: E501, RUF001

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.scipy
import cuprous.scipy.fft
import cuprous.scipy.interpolate
import cuprous.scipy.ndimage
import cuprous.scipy.signal
import cuprous.scipy.sparse
import cuprous.scipy.sparse.linalg
import cuprous.scipy.spatial.distance
import cuprous.scipy.special
import cuprous.scipy.stats
import cuprous.torch as torch

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"


def rows() -> list[tuple[str, str]]:
    """Returns the section and first cell of each row."""
    found: list[tuple[str, str]] = []
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith(("| |", "|---")):
            found.append((section, re.split(r"(?<!\\)\|", line)[1].strip()))
    return found


def raises(error: Any, code: str) -> bool:
    """Returns true if the code raises that error."""
    try:
        exec(code, names())
    except error:
        return True
    return False


def warned(code: str) -> bool:
    """Returns true if the code warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, names())
    return bool(caught)


def host(x: Any) -> Any:
    """Returns an array as a NumPy array."""
    return cp.asnumpy(x)


def same(a: Any, b: Any, rtol: float = 1e-6) -> bool:
    """Returns true if the values are equal; NaN equals NaN."""
    got, want = (cp.asnumpy(x) if isinstance(x, cp.ndarray) else np.asarray(x) for x in (a, b))
    return bool(got.shape == want.shape and np.allclose(got, want, rtol=rtol, atol=0, equal_nan=True))


def pending(code: str) -> bool:
    """Returns true if the code records work and does not run it."""
    cp.synchronize()
    space = names()
    before = cp._core.stats()["steps"]
    exec(code, space)
    ran = cp._core.stats()["steps"] != before
    cp.synchronize()
    return not ran and cp._core.stats()["steps"] != before


def names() -> dict[str, Any]:
    """Returns the names that the lines may use."""
    here = cuprous.scipy
    found: dict[str, Any] = {
        "cp": cp, "np": np, "torch": torch, "nan": np.nan, "inf": np.inf, "raises": raises, "warned": warned,
        "host": host, "same": same, "pending": pending, "ndimage": here.ndimage, "signal": here.signal, "fft": here.fft,
        "special": here.special, "stats": here.stats, "interpolate": here.interpolate, "sparse": here.sparse,
        "distance": here.spatial.distance, "spatial": here.spatial,
    }  # fmt: skip
    try:
        import scipy
        import scipy.interpolate
        import scipy.ndimage
        import scipy.signal
        import scipy.sparse
        import scipy.spatial
        import scipy.special
    except ImportError:
        return found
    return {**found, "scipy": scipy}


#: First cell of the row -> an expression that is true, or several lines with `ok = ...` last.
LINES: dict[str, str] = {
    # From NumPy
    "When work is done": "pending('y = cp.ones(3) + 1')",
    "When errors show": "raises(ValueError, 'cp.ones(3) + cp.ones(4)') and raises(np.exceptions.AxisError, 'cp.ones(3).sum(axis=2)')",
    "Full reductions, `a[i, j]`": "type(cp.ones((2, 2)).sum()) is cp.ndarray and type(cp.ones((2, 2))[0, 1]) is cp.ndarray",
    "Floating-point warnings and `np.errstate`": "warned('np.ones(1) / np.zeros(1)') and not warned('(cp.ones(1) / cp.zeros(1)).get()')",
    "Integer-array index out of range": "cp.get_device() != 'cpu' or raises(IndexError, 'host(cp.ones(3)[cp.asarray([5])])')",
    "dtypes": "raises(TypeError, 'cp.asarray([\"text\"])') and raises(TypeError, 'cp.asarray([None])') and cp.ones(1, cp.bfloat16).dtype == cp.bfloat16",
    "bfloat16 (`ml_dtypes`) beside Python numbers and other dtypes": "(cp.ones(1, cp.bfloat16) * 2.5).dtype == cp.bfloat16 and (cp.ones(1, cp.bfloat16) + cp.ones(1, 'float16')).dtype == 'float32'",
    "Arguments that cannot change a result": "raises((ValueError, TypeError), 'cp.sort(cp.ones(3), kind=\"bubble\")') and same(cp.sort(cp.asarray([2, 1]), kind='heapsort'), [1, 2])",
    "Subclasses, masked arrays": "raises((NotImplementedError, AttributeError), 'cp.ma.array([1])')",
    "`a.shape = …`, `a.strides = …`, `a.dtype = …`, `a.resize()`, `a.setflags()`": "raises(AttributeError, 'cp.ones(4).shape = (2, 2)')",
    "`__array_wrap__`, `__array_priority__` of operands": "class W(np.ndarray):\n    pass\nok = type(cp.ones(2) + np.ones(2).view(W)) is cp.ndarray",
    "`__array__` of other objects": "class A:\n    def __array__(self, dtype=None, copy=None):\n        return cp.ones(2)\ntry:\n    cp.asarray(A())\n    ok = False\nexcept (TypeError, ValueError):\n    ok = True",
    "Views of bytes that are not at a multiple of the item size (`view`, `getfield`, `frombuffer`)": "raises(ValueError, 'cp.ones(3).getfield(\"i4\", 2)') and np.ones(3).getfield('i4', 2).shape == (3,)",
    "Calls that NumPy refuses": "cp.vstack(cp.ones(2) for _ in range(2)).shape == (2, 2) and raises(TypeError, 'np.vstack(np.ones(2) for _ in range(2))')",
    "Warnings of NumPy's past (`DeprecationWarning`, `FutureWarning`)": "not warned('cp.ones(3).flat[cp.asarray([True, False, True])]')",
    "`where=` without `out=`": "same(cp.add(cp.ones(2), 1, where=cp.asarray([True, False])), [2, 0])",
    "`device=`": "raises(ValueError, 'cp.ones(2, device=\"nowhere\")')",
    "Numbers that do not fit, `a[0] = 300` of uint8": "raises(OverflowError, 'cp.zeros(1, \"uint8\")[0] = 300')",
    "Random streams": "float(cp.random.default_rng(0).random()) != np.random.default_rng(0).random()",
    # Functions of arrays
    "`nanmax`, `nanmin`, `nanmean` of all-NaN slices": "not warned('host(cp.nanmax(cp.asarray([nan])))') and warned('np.nanmax(np.asarray([nan]))')",
    "`diagonal`, `broadcast_to`, `sliding_window_view`": "cp.broadcast_to(cp.ones(1), (3,)).flags.writeable and not np.broadcast_to(np.ones(1), (3,)).flags.writeable",
    "`allclose`, `array_equal`, `array_equiv`": "isinstance(cp.allclose(cp.ones(2), cp.ones(2)), cp.ndarray)",
    "`unique(sorted=False)`": "same(cp.unique(cp.asarray([3, 1, 2]), sorted=False), [1, 2, 3])",
    "`percentile(overwrite_input=True)`": "a = cp.asarray([3.0, 1.0, 2.0])\ncp.percentile(a, 50, overwrite_input=True)\nok = same(a, [3, 1, 2])",
    "`cross` of vectors of length 2": "same(cp.cross(cp.asarray([1.0, 2]), cp.asarray([3.0, 4])), -2.0)",
    "`i0` at infinity": "float(cp.i0(cp.asarray(inf))) == inf",
    '`load(mmap_mode="r+")`': "import tempfile\nwith tempfile.NamedTemporaryFile(suffix='.npy') as f:\n    np.save(f.name, np.zeros(2))\n    a = cp.load(f.name, mmap_mode='r+')\n    a[0] = 1\n    cp.synchronize()\n    ok = same(np.load(f.name), [0, 0])",
    "`sparse.linalg.minres`, `lsqr` of float32": "from cuprous.scipy.sparse.linalg import minres\nok = minres(sparse.csr_matrix(cp.eye(2, dtype='float32')), cp.ones(2, 'float32'))[0].dtype == 'float32'",
    "Sparse matrices: index arrays given to a constructor": "i = cp.asarray([0, 1], dtype='int32')\nm = sparse.csr_matrix((cp.ones(2), i, cp.asarray([0, 1, 2], dtype='int32')), (2, 2))\ni[0] = 1\nok = int(m.indices[0]) == 0",
    "Sparse matrices: sums over an axis, `todense` of `*_matrix`": "type(sparse.csr_matrix(cp.ones((2, 2))).sum(axis=0)) is cp.ndarray",
    "Sparse matrices: `argmax` with NaN": "int(sparse.csr_matrix(cp.asarray([[1.0, nan, 2.0]])).argmax()) == 1",
    "`linalg.eig`, `eigvals` of real matrices": "cp.linalg.eigvals(cp.eye(2)).dtype == 'complex128'",
    "`linalg.eigh` of NaN": "same(cp.linalg.eigh(cp.full((2, 2), nan))[0], [nan, nan])",
    "`vectorize` without `otypes`": "def twice(x):\n    return x + x\nok = cp.vectorize(twice)(cp.ones(2, 'i1')).dtype == 'int64' and np.vectorize(twice)(np.ones(2, 'i1')).dtype == 'int8'",
    "Missing functions (`asmatrix`, dates, …)": "raises(NotImplementedError, 'cp.asmatrix([1, 2])') and raises(NotImplementedError, 'cp.busday_count(1, 2)')",
    "`finfo(...).eps` and its like": "type(cp.finfo('float32').eps) is float and type(np.finfo('float32').eps) is np.float32",
    "`sort(descending=True)`": "same(cp.sort(cp.asarray([1.0, nan, 2.0]), descending=True), [nan, 2, 1])",
    "`nanquantile(weights=)` given for one axis, with NaN": "same(cp.nanquantile(cp.asarray([[1.0, nan, 3.0]]), 0.5, axis=1, weights=cp.asarray([1.0, 1.0, 5.0]), method='inverted_cdf'), [3.0])",
    "`convolve`, `signal.convolve`, `signal.correlate` with weights that are not finite": "bool(cp.isnan(cp.convolve(cp.asarray([1.0, 2, 3]), cp.asarray([1.0, inf])))[0]) and np.convolve([1.0, 2, 3], [1.0, inf])[0] == 1",
    "`isnan`, `isinf`, `isfinite` with `out=` of every second element": "o = cp.ones(48, bool)\ncp.isnan(cp.ones(24, 'float32'), out=o[::2])\nok = not bool(o[::2].any())",
    "`fft.hfft`, `ifft2`, `irfft2` with `out=`": "a, o = cp.ones((2, 2)), cp.zeros((2, 2), 'complex128')\ncp.fft.ifft2(a, out=o)\nok = float(o[0, 0].real) == 1",
    "`fft` of float16: the factor of `norm`": "bool((cp.fft.fft(cp.ones(65536, 'float16'), norm='forward') != 0).any())",
    "`fft.irfft`, `hfft` of an empty axis, with `n`": "same(cp.fft.irfft(cp.zeros(0, 'complex128'), n=4), np.zeros(4))",
    "`log1p` of complex numbers near zero": "z = np.complex64(0.001j)\nours, theirs = cp.log1p(cp.asarray(z)).get().real, np.log1p(z).real\nok = abs(ours - 5e-7) < 1e-11 < abs(theirs - 5e-7)",
    "Integers to powers that an integer array holds, some of them negative": "same(cp.asarray([2, 1, -1]) ** cp.asarray([-1, -1, -1]), [0, 1, -1]) and raises(ValueError, 'np.asarray([2]) ** np.asarray([-1])')",
    "Integer `reciprocal(0)` and division by zero": "int(cp.reciprocal(cp.asarray(0))) == 0 and int(cp.asarray(1) // cp.asarray(0)) == 0",
    "`np.asarray(a)`, `memoryview(a)` and libraries that read arrays": "cp.get_device() != 'cpu' or same(np.asarray(cp.ones(2)), [1, 1])",
    "NumPy arrays and lists as operands": "same(cp.ones(2) + np.ones(2), [2, 2])",
    "`special.gammainc`, `gammaincc` near `x = a` for `a` above 1e12": "1e-8 < abs(float(special.gammainc(1e20, 1e20)) - 0.5) < 1e-6 and bool(cp.isnan(special.gammainc(1e100, 1e100)))",
    "`max`, `min` with an integer `out=` that does not hold the values": "int(cp.max(cp.asarray([300, -5, 100]), out=cp.zeros((), 'uint8'))) == 300 % 256 != np.max([300, -5, 100], out=np.zeros((), 'uint8'), axis=None)",
    "`out=` given a NumPy array": "raises(TypeError, 'cp.add(cp.ones(1), 1, out=np.ones(1))')",
    "`quantile` and its like of integers whose difference their dtype does not hold": "float(cp.quantile(cp.asarray([-100, 100], dtype='int8'), 0.5)) == 0",
    "Sparse matrices: comparisons and extremes with a sparse row or column": "sparse.csr_matrix(cp.ones((2, 3))).maximum(sparse.csr_matrix(cp.ones((1, 3)))).shape == (2, 3)",
    "`a.view(bool)`": "np.asarray([2], 'u1').view(bool)[0] and raises(ValueError, 'cp.asarray([2], dtype=\"u1\").view(bool)')",
    "`lib.stride_tricks.as_strided`": "raises(ValueError, 'cp.lib.stride_tricks.as_strided(cp.zeros(4), (5,), (8,))')",
    "Sizes": "np.broadcast_to(np.ones(1, 'i1'), 2**62 + 1).size == 2**62 + 1 and raises(ValueError, 'cp.broadcast_to(cp.ones(1, \"i1\"), 2**62 + 1)')",
    # From CuPy
    "Reading by NumPy, NumPy arrays and lists as operands": "same(cp.ones(2) + np.ones(2), [2, 2])",
    "`a[i]` with an integer for each axis": "a = cp.zeros(2)\nb = a[0]\na[0] = 1\nok = float(b) == 0",
    "0-d results": "m = cp.ones(3).sum()\nn = m\nm += 1\nok = float(n) == 3",
    "`cp.fuse`": "same(cp.fuse(lambda x: x * 2 if x.ndim else x)(cp.ones(2)), [2, 2])",
    "Duplicate indices in writes": "a = cp.zeros(1)\na[cp.asarray([0, 0, 0])] = cp.asarray([1.0, 2, 3])\nok = float(a[0]) == 3",
    "`cupy.testing`, `memoize`, allocators and memory hooks, other formats of `cupyx`": "raises((NotImplementedError, AttributeError), 'cp.memoize(lambda: 1)')",
    "Array API standard": "cp.ones(1).__array_namespace__() is cp and cp.__array_api_version__ == '2025.12'",
    # Random numbers
    "`size=None`": "type(cp.random.default_rng(0).random()) is cp.ndarray and type(np.random.default_rng(0).random()) is float",
    "Parameters out of range": "raises(ValueError, 'cp.random.default_rng(0).normal(0, -1)') and not raises(ValueError, 'cp.random.default_rng(0).normal(cp.zeros(2), -cp.ones(2))')",
    "`vonmises`, `zipf`, `hypergeometric`, `multivariate_hypergeometric`": "raises(ValueError, 'cp.random.default_rng(0).zipf(cp.asarray([0.5]))')",
    "`choice(p=…)`, `dirichlet`, `multinomial`, `multivariate_normal`": "raises(ValueError, 'cp.random.default_rng(0).choice(2, p=cp.asarray([0.5, 0.6]))')",
    "`get_state()`": "isinstance(cp.random.RandomState(0).get_state(), dict)",
    "Lacks": "not hasattr(cp.random, 'MT19937') or raises(NotImplementedError, 'cp.random.MT19937()')",
    # cuprous.scipy
    "Filters of float32 (and float16, complex64)": "ndimage.gaussian_filter(cp.ones(9, 'float32'), 1).dtype == 'float32'",
    "`uniform_filter` with NaN or infinity": "int(cp.isnan(ndimage.uniform_filter(cp.asarray([1.0, nan, 1, 1, 1, 1]), 3)).sum()) == 3 and np.isnan(scipy.ndimage.uniform_filter(np.asarray([1.0, nan, 1, 1, 1, 1]), 3)).sum() > 3",
    "`correlate`, `convolve` in 2-d or more": "bool(cp.isnan(ndimage.correlate(cp.full((3, 3), nan), cp.zeros((1, 1)) + 1e-20)).all())",
    "`maximum_filter`, `minimum_filter`, ranks and medians, grey morphology with NaN": "int(cp.isnan(ndimage.maximum_filter(cp.asarray([1.0, 1, nan, 1, 1]), 3)).sum()) == 3",
    "Checks that all elements are finite (`signal.detrend`, `savgol_filter`, norms in `spatial.distance`, `interpolate` but for `CubicSpline`), or in range": "bool(cp.isnan(signal.detrend(cp.asarray([1.0, nan, 2.0]))).all()) and raises(ValueError, 'scipy.signal.detrend(np.asarray([1.0, nan, 2.0]))')",
    "`signal.convolve`, `correlate` of nothing": "signal.convolve(cp.zeros(0), cp.zeros(0)).size == 0",
    "`spatial.KDTree`": "spatial.KDTree([[0.0], [3.0]]).query_pairs(3.0).tolist() == [[0, 1]] and scipy.spatial.KDTree([[0.0], [3.0]]).query_pairs(3.0) == {(0, 1)}",
    "`spatial.Delaunay`, smoothing splines (`UnivariateSpline` and its like), `CloughTocher2DInterpolator`: where work is done": "type(spatial.Delaunay(np.eye(3)[:, :2]).on_host) is scipy.spatial.Delaunay",
    "`interpolate.BarycentricInterpolator.add_xi` of one point to an even number": "f, g = (m.BarycentricInterpolator([0.0, 1.0], [0.0, 1.0]) for m in (interpolate, scipy.interpolate))\nf.add_xi([2.0], [4.0])\ng.add_xi([2.0], [4.0])\nok = abs(float(f(3.0)) - 9.0) < 1e-9 < abs(float(g(3.0)) - 9.0)",
    "`special.ellipkinc` of m = 1 below -pi/2": "float(special.ellipkinc(-2.0, 1.0)) == -inf and scipy.special.ellipkinc(-2.0, 1.0) == inf",
    "`spatial.distance` of two vectors of integers": "distance.cityblock(cp.asarray([1, 2]), cp.asarray([3, 4])).dtype == 'float64'",
    "`ndimage.variance`, `standard_deviation` of complex numbers": "ndimage.variance(cp.asarray([1 + 1j, 2j])).dtype == 'float64'",
    "`fft`: `overwrite_x`, `workers`": "a = cp.asarray([1.0 + 0j, 2])\nfft.fft(a, overwrite_x=True)\nok = same(a, [1, 2]) and raises(ValueError, 'fft.fft(cp.ones(2), workers=0)')",
    "`fft`: `plan=`": "raises(NotImplementedError, 'fft.fft(cp.ones(2), plan=1)')",
    "`signal`: forms of systems, responses, partial fractions, and design of filters other than `butter`, `cheby1`, `cheby2`, `firwin`": "isinstance(signal.tf2zpk(cp.ones(2), [1.0, 0.5])[0], cp.ndarray)",
    "`signal.lfilter`, `sosfilt`: `zi` of CuPy's layout": "signal.lfilter([1, 2, 3], [1, 0.5], cp.ones(4), zi=cp.zeros(3))[1].shape == (3,) and raises(ValueError, 'scipy.signal.lfilter([1, 2, 3], [1, 0.5], np.ones(4), zi=np.zeros(3))')",
    "`sparse`: `==` and `!=` with a row or a column": "import warnings\nwarnings.simplefilter('ignore')\nok = (sparse.csr_matrix(cp.ones((2, 3))) == sparse.csr_matrix(cp.ones((1, 3)))).shape == (2, 3)",
    "`special`: Python scalars beside float32": "special.xlogy(2.0, cp.ones(1, 'float32')).dtype == 'float32'",
    "`special`: `where=`, `dtype=`": "raises(NotImplementedError, 'special.erf(cp.ones(1), where=cp.ones(1, bool))')",
    "`special`: bool, small integers, float16": "special.erf(cp.ones(1, 'float16')).dtype == 'float64'",
    "`special`: complex numbers": "raises(TypeError, 'special.gamma(cp.ones(1, \"complex128\"))')",
    "`ndimage`: measurements of one label that does not occur": "not raises(ValueError, 'ndimage.maximum(cp.ones(2), cp.ones(2, int), 5)')",
    "`ndimage.median` of labels that do not occur": "float(ndimage.median(cp.ones(2), cp.ones(2, int), 5)) == 0",
    "`ndimage.histogram` of several labels": "ndimage.histogram(cp.ones(2), 0, 2, 2, cp.ones(2, int), cp.asarray([1, 3])).shape == (2, 2)",
    "`ndimage`: results that are no positions": "type(ndimage.sum(cp.ones(2))) is cp.ndarray",
    "`ndimage.distance_transform_*` where there is no zero": "bool(cp.isinf(ndimage.distance_transform_edt(cp.ones(3))).all())",
    "`ndimage`: functions called once an element (`generic_filter`, `geometric_transform`) or line (`generic_filter1d`)": "same(ndimage.generic_filter(cp.arange(4.0), lambda w: type(w) is np.ndarray, 3), np.ones(4))",
    "`ndimage`: `scipy.LowLevelCallable`": "import ctypes\nf = scipy.LowLevelCallable(ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1))\nfrom cuprous.scipy.ndimage import generic_filter\ntry:\n    generic_filter(cp.ones(3), f, 3)\n    ok = False\nexcept NotImplementedError:\n    ok = True",
    "`ndimage.generic_filter`: `output` of float16 or complex": "ndimage.generic_filter(cp.ones(3), np.max, 3, output='float16').dtype == 'float16' and raises(RuntimeError, 'scipy.ndimage.generic_filter(np.ones(3), np.max, 3, output=\"float16\")')",
    "`special`: `j0`, `j1`, `jn`, `y0`, `y1`, `yn`, `i0`, `i1`, `iv` at infinity": "float(special.j0(cp.asarray(inf))) == 0 and float(special.i0(cp.asarray(inf))) == inf",
    "`special.jn`, `kn` of broken orders, `iv` of negative broken ones, `expn` between -1 and 0": "bool(cp.isnan(special.jn(0.5, cp.ones(1))).all())",
    "`special.lambertw` at -1/e": "abs(complex(special.lambertw(cp.asarray(-np.exp(-1.0)))) + 1) < 1e-6",
    "`special`: `sindg` and its like at infinity": "bool(cp.isnan(special.sindg(cp.asarray(inf))))",
    "`special.zeta` for x < 1 or q < 0, `polygamma` for x < 0": "bool(cp.isnan(special.zeta(cp.asarray(0.5))))",
    "`special`: `kn`, `yn`, `spherical_yn`, `expn`, `diric`, `radian`, `factorial`, `gammaincinv`, `gammainccinv`, `multigammaln` of float32": "special.kn(1, cp.ones(1, 'float32')).dtype == 'float32'",
    "`special.stdtrit` of p = 0": "float(special.stdtrit(3.0, cp.asarray(0.0))) == -inf",
    "`special`: `comb`, `perm`, `factorial` with `exact=True`": "raises(NotImplementedError, 'special.comb(5, 2, exact=True)')",
    "`special.multigammaln` for a ≤ (d − 1) / 2": "not raises(ValueError, 'special.multigammaln(cp.asarray(0.1), 3)') and raises(ValueError, 'scipy.special.multigammaln(0.1, 3)')",
    '`stats`: `nan_policy` other than "propagate"': "raises(NotImplementedError, 'stats.zscore(cp.ones(3), nan_policy=\"omit\")')",
    "`stats`: results of tests": "isinstance(stats.ttest_ind(cp.arange(5.0), cp.arange(5.0) + 1)[1], cp.ndarray)",
    '`spatial.distance`: "chebyshev" with NaN': "bool(cp.isnan(distance.chebyshev(cp.asarray([nan, 1.0]), cp.asarray([0.0, 0.0]))))",
    "`signal.find_peaks`: warnings about prominences and widths of 0": "not warned('signal.peak_prominences(cp.asarray([1.0, 1.0, 1.0]), cp.asarray([1]))') and warned('scipy.signal.peak_prominences(np.asarray([1.0, 1.0, 1.0]), [1])')",
    "`signal.find_peaks`: `distance` among equally high peaks": "same(signal.find_peaks(cp.asarray([0.0, 1, 0, 1, 0]), distance=3)[0], [3])",
    '`interpolate.interp1d` at NaN, kinds other than "linear"': "bool(cp.isnan(interpolate.interp1d(cp.arange(3.0), cp.arange(3.0), kind='nearest')(cp.asarray([nan]))).all())",
    '`interpolate.interp1d`, kinds "quadratic", "cubic" and higher degrees, with an infinite value': "bool(cp.isnan(interpolate.interp1d(cp.arange(5.0), cp.asarray([0, 1, inf, 3, 4.0]), kind='quadratic')(cp.asarray([0.5]))).all())",
    # From PyTorch
    "Random numbers of a seed": "torch.manual_seed(0)\na = torch.rand(1)\ntorch.manual_seed(0)\nok = bool((torch.rand(1) == a).all())",
    "A value saved for the backward pass and then overwritten": "y = torch.ones(2, requires_grad=True)\ne = y.exp()\ns = e.sum()\ne.detach().mul_(0)\ns.backward()\nok = abs(float(y.grad[0]) - np.e) < 1e-5",
    "A leaf that is made of a view whose elements share memory (`x.expand(2, 3).requires_grad_()`)": "x = torch.ones(1)\ny = x.expand(2, 3).requires_grad_()\nx.add_(1)\nok = float(y.detach()[0, 0]) == 1",
    "`from_numpy`, `numpy()`": "a = np.zeros(1)\nt = torch.from_numpy(a)\na[0] = 1\nok = float(t[0]) == 0",
    "`real`, `imag`, `view_as_real`, `view_as_complex`": "z = torch.zeros(1, dtype=torch.complex64)\nz.real.add_(1)\nok = float(z.real[0]) == 0",
    "Views made under `no_grad`, once their value was written to": "x = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    v = x[:1]\n    v.add_(1)\nok = (v * 2).tolist() == [4.0]\ntry:\n    v.is_leaf\n    ok = False\nexcept RuntimeError:\n    pass",
    "float16 and bfloat16 with a number, or with a tensor without axes that has more digits: `+` and `-`": "(torch.tensor([-3.0]).bfloat16() + 3.1).item() == torch.tensor(0.1).bfloat16().item()",
    "Hooks and `retain_grad` of an expanded view of which parts are read": "x = torch.ones(1, requires_grad=True)\ny = x.expand(2)\ny.retain_grad()\ny[:1].sum().backward()\nok = y.grad.tolist() == [0.5, 0.5] and x.grad.tolist() == [1.0]",
    '`scatter_reduce("amax", include_self=False)`, gradient where the excluded value is the extreme too': "x = torch.ones(1, requires_grad=True)\nx.scatter_reduce(0, torch.tensor([0]), x, 'amax', include_self=False).sum().backward()\nok = x.grad.tolist() == [1.0]",
    "`grad` of a sparse leaf after `x @ dense`": "x = torch.eye(2).to_sparse().detach().requires_grad_()\n(x @ torch.ones(2, 1)).sum().backward()\nok = x.grad.layout == torch.sparse_coo and x.grad._values().tolist() == [1.0, 1.0]",
    "Sparse tensors: layouts with blocks, batches of matrices, `solve`": "raises(NotImplementedError, 'torch.sparse_bsr_tensor([0], [0], [0])')",
    "`Embedding(sparse=True)`": "raises(NotImplementedError, 'torch.nn.Embedding(2, 2, sparse=True)')",
    'Tensors for `device("meta")`': "torch.ones(2, device='meta').device.type == 'cpu'",
    '`distributed`: the backend "gloo"': "raises(NotImplementedError, 'torch.distributed.init_process_group(\"cuda:gloo\")')",
    "Tensors made in `inference_mode`": "with torch.inference_mode():\n    a = torch.ones(1)\nok = not a.is_inference()",
    "`distributions`: `log_prob` of values outside the support": "d = torch.distributions.Gamma\nok = bool(d(1.5, 1.0).log_prob(torch.tensor(-1.0)).isnan()) and raises(ValueError, 'torch.distributions.Gamma(1.5, 1.0, validate_args=True).log_prob(torch.tensor(-1.0))')",
    "`distributions.Kumaraswamy(…).mode`": "abs(torch.distributions.Kumaraswamy(2.0, 3.0).mode.item() - 0.2**0.5) < 1e-6",
    "`Function` with `mark_dirty`, `grad(is_grads_batched=True)`": "raises(NotImplementedError, 'torch.autograd.grad(torch.ones(1, requires_grad=True).mul(2), [], is_grads_batched=True)')",
}

#: Rows that one line cannot show, with the reason.
OTHERWISE = {
    **dict.fromkeys(
        ["`nn.parallel.DistributedDataParallel`: a second `backward()` of one forward pass",
         "`distributed`: `get_group_rank`, `new_group` of ranks that do not exist or are repeated; roots that do not exist",
         '`distributed`: what ranks of "nccl" call', '`distributed`: `GLOO_SOCKET_IFNAME="eth0,eth1"`', "`distributed`: when a collective returns", "`distributed`: `all_gather_object` and the like",
         "`nn.parallel.DistributedDataParallel(gradient_as_bucket_view=)`",
         "`distributed.tensor.DTensor`: operands whose placements do not fit",
         "`distributed.tensor.DTensor`: gradients of `Replicate`",
         "`distributed.tensor.DTensor`: functions that it does not support", "`distributed.checkpoint`: files",
         "`distributed.checkpoint`: plans and metadata", "`distributed.checkpoint`: `use_collectives=False`",
         "`distributed.checkpoint`: options", "`fully_shard` without a mesh",
         "`fully_shard`: `reshard_after_forward` as a number", "`fully_shard` of what tensor parallelism divides"],
        "needs several processes: tests/distributed",
    ),
    "`DataParallel` of several devices: the copies of the module": "needs several GPUs: tests/sim",
    **dict.fromkeys(
        ['`distributed`: the backend "mpi"'], "needs MPI: tests/clients/test_mpi.py",
    ),
    **dict.fromkeys(
        ["Of 0.0 and -0.0: `maximum`, `minimum`, `fmax`, `fmin`, `clip` of both, extremes, sorts, sets",
         "Complex arithmetic with infinities, NaN or overflow: products, squares, quotients, powers",
         "Order of summation", "Last bits of `exp`, `sin`, …", "Filters of integers",
         "`fft` of lengths with a prime factor from 13 on, float64",
         "`special`: incomplete gamma and beta functions of large parameters", "`signal.lfilter`",
         "`signal.butter` and its like: order of zeros and poles (`output=\"zpk\"`), their pairs (`\"sos\"`)", "Decompositions of float32 and complex64",
         "`interpolate.RegularGridInterpolator(method=\"cubic\")`", "`interpolate.make_interp_spline`",
         "`ndimage`: splines of orders 2 to 5 for \"reflect\", \"grid-mirror\", \"nearest\"",
         "Signs and phases of eigenvectors, singular vectors and Q; order of `eigvals`"],
        "a bound on rounding, or another right answer: tested beside the function",
    ),
    **dict.fromkeys(
        ["Without a GPU", "CUDA toolkit headers", "Several streams",
         "`ElementwiseKernel`, `RawKernel`, `ReductionKernel`", "Convolutions of float32 on GPUs",
         "`partition`, `argpartition`"],
        "shows on a GPU",
    ),
    **dict.fromkeys(
        ["`einsum(optimize=)`", "`ufunc.at`", "`sort(kind=...)`", "Sparse matrices: `spsolve`, `splu`, `factorized`, `spsolve_triangular`", "`signal.convolve`, `correlate`, \"auto\"",
         "`ufunc.reduce` and `accumulate` of ufuncs without a reduction on the device", "`func.vmap`",
         "`func.jacfwd`, `autograd.functional.jacobian(vectorize=True)`", "`checkpoint(use_reentrant=)`",
         "`linalg.lstsq(driver=)`", "`init.orthogonal_`, `poisson`", "`choice(p=…, replace=False)`"],
        "how it is computed, not what comes out",
    ),
    **dict.fromkeys(
        ["`zipf` for exponents near 1", "`integers`, `randint`", "`random(dtype=\"float32\")`"], "a distribution"
    ),
    **dict.fromkeys(
        ["Calls with two faults, such as shapes that do not broadcast and a forbidden cast", "Ctrl-C in a long computation",
         "`a == x` for an `x` that no device holds (text, objects)", "Strides of results", "`signal.fftconvolve`, `upfirdn`, `resample_poly`, `detrend`, `sparse.linalg.spsolve` of several vectors: strides of results",
         "`cupyx.scipy`", "Windows several times longer than an axis, `mode=\"reflect\"`, n-d `correlate`",
         "`ndimage`: grey morphology by a structure, beyond the range of an integer dtype",
         "`stats.spearmanr`, `skewtest`, `mode` with NaN or few elements", "`signal.istft` where windows add up to 0",
         "`signal.correlate2d`, `mode=\"valid\"`, complex, the second larger",
         "A second `backward` through operations that kept nothing but numbers",
         "`nn.TransformerEncoder`'s fast path (nested tensors)", "`grad_fn` of views", "Hooks"],
        "more than a line: tested beside the function",
    ),
}  # fmt: skip


def test_each_row_is_here() -> None:
    titles = [title for _, title in rows()]
    assert sorted(set(titles) - LINES.keys() - OTHERWISE.keys()) == [], "add a line for them"
    assert sorted((LINES.keys() | OTHERWISE.keys()) - set(titles)) == [], "there are no such rows: remove their lines"


@pytest.mark.parametrize("title", [title for _, title in rows() if title in LINES])
def test_the_row_holds(title: str) -> None:
    code = LINES[title]
    if "scipy." in code.replace("cuprous.scipy", ""):
        pytest.importorskip("scipy")
    space = names()
    if "\n" in code:
        exec(code, space)
        assert space["ok"], code
    else:
        assert eval(code, space), code
