"""`scipy.fft`'s discrete cosine and sine transforms (types 1 to 4), computed by Fourier transforms.

Sources: J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Trans. ASSP 28 (1980), for type 2 by a
transform of the same length and, inverted, for type 3. Types 1 are transforms of the even and odd extensions (G.
Strang, "The discrete cosine transform", SIAM Review 41, 1999). Type 4 of even length is a complex transform of half the
length (H. S. Malvar, "Signal Processing with Lapped Transforms", 1992, section 2.2.4), and of odd length one of twice
the length. Sine transforms are cosine transforms with alternating signs or reversed order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous._common.casting import astype
from cuprous._common.naming import named
from cuprous._common.operands import on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import moveaxis
from cuprous.fft._transforms import count, divisor, fitted, is_complex
from cuprous.scipy.fft._spectra import Axes, Points, axes_and_points
from cuprous.scipy.fft._workers import check

_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def _phases(dtype: str, n: int, first: float, step: float) -> ndarray:
    """Returns exp(i (first + step k)) for k < n, in the complex counterpart of a real dtype."""
    angle = _core.cast(_core.iota((n,), (1,), 0), "float64") * step + first
    return astype(_core.map("exp", angle * 1j), _COMPLEX[dtype])


def _signs(n: int) -> ndarray:
    """Returns 1, -1, 1, … in int8, which promotes no floating dtype."""
    return _core.cast(1 - _core.iota((n,), (1,), 0) % 2 * 2, "int8")


def _parts(a: ndarray) -> tuple[Any, Any]:
    x: Any = a
    return x.real, x.imag


def _zero(x: ndarray) -> ndarray:
    """Returns a zero for every line."""
    return _core.full((*x.shape[:-1], 1), 0, x.dtype_name)


def _cosine_1(x: ndarray) -> ndarray:
    """Computes x[0] + (-1)^k x[N-1] + 2 sum over the others of x[j] cos(pi k j / (N-1))."""
    n = 2 * (x.shape[-1] - 1)
    if n == 0:
        raise RuntimeError("zero-length FFT requested: type 1 needs two points or more")
    whole = concatenate([x, x[..., -2:0:-1]], -1)
    return _parts(_core.fft(whole, "real", (x.ndim - 1,), n, "one"))[0]


def _cosine_2(x: ndarray) -> ndarray:
    """Computes 2 sum of x[j] cos(pi k (2j+1) / (2N))."""
    n = x.shape[-1]
    reordered = concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    half = _core.fft(reordered, "real", (x.ndim - 1,), n, "one") * _phases(
        x.dtype_name, n // 2 + 1, 0, -math.pi / (2 * n)
    )
    re, im = _parts(half * 2)
    return concatenate([re, -im[..., (n - 1) // 2 : 0 : -1]], -1)


def _cosine_3(x: ndarray) -> ndarray:
    """Computes x[0] + 2 sum over the others of x[j] cos(pi (2k+1) j / (2N)), the inverse of type 2 up to a factor."""
    n = x.shape[-1]
    m = n // 2 + 1
    mirrored = concatenate([_zero(x), x[..., n - 1 : n - m : -1]], -1)  # x[N] is zero
    half = (x[..., :m] - mirrored * 1j) * _phases(x.dtype_name, m, 0, math.pi / (2 * n))
    reordered = _core.fft(half, "half", (x.ndim - 1,), n, "one")
    result = _core.empty(x.shape, x.dtype_name)
    _core.update(result[..., ::2], reordered[..., : (n + 1) // 2])
    _core.update(result[..., 1::2], reordered[..., : (n - 1) // 2 : -1])
    return result


def _cosine_4(x: ndarray) -> ndarray:
    """Computes 2 sum of x[j] cos(pi (2k+1) (2j+1) / (4N))."""
    n, axis = x.shape[-1], x.ndim - 1
    if n % 2:
        points = x * _phases(x.dtype_name, n, 0, -math.pi / (2 * n))
        values = _core.fft(fitted(points, 2 * n, axis), "forward", (axis,), 2 * n, "one")[..., :n]
        return _parts(values * _phases(x.dtype_name, n, -math.pi / (4 * n), -math.pi / (2 * n)) * 2)[0]
    phases = _phases(x.dtype_name, n // 2, -math.pi / (8 * n), -math.pi / n)
    points = (x[..., ::2] + x[..., ::-2] * 1j) * phases
    re, im = _parts(_core.fft(points, "forward", (axis,), n // 2, "one") * phases * 2)
    result = _core.empty(x.shape, x.dtype_name)
    _core.update(result[..., ::2], re)
    _core.update(result[..., ::-2], -im)
    return result


def _sine_1(x: ndarray) -> ndarray:
    """Computes 2 sum of x[j] sin(pi (k+1) (j+1) / (N+1))."""
    n = x.shape[-1]
    whole = concatenate([_zero(x), x, _zero(x), -x[..., ::-1]], -1)
    return -_parts(_core.fft(whole, "real", (x.ndim - 1,), 2 * (n + 1), "one"))[1][..., 1 : n + 1]


def _sine_2(x: ndarray) -> ndarray:
    """Computes 2 sum of x[j] sin(pi (k+1) (2j+1) / (2N))."""
    return _cosine_2(x * _signs(x.shape[-1]))[..., ::-1]


def _sine_3(x: ndarray) -> ndarray:
    """Computes (-1)^k x[N-1] + 2 sum over the others of x[j] sin(pi (2k+1) (j+1) / (2N))."""
    return _cosine_3(x[..., ::-1]) * _signs(x.shape[-1])


def _sine_4(x: ndarray) -> ndarray:
    """Computes 2 sum of x[j] sin(pi (2k+1) (2j+1) / (4N))."""
    return _cosine_4(x[..., ::-1]) * _signs(x.shape[-1])


#: The transforms by type. Then, for orthogonal transforms: what is added to N in the length of type 1, and the indices
#: that are scaled by sqrt(2) before and by 1 / sqrt(2) after the transform.
_COSINES = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
_SINES = {1: _sine_1, 2: _sine_2, 3: _sine_3, 4: _sine_4}
_MORE = {"DCT": -1, "DST": 1}
_BEFORE: dict[tuple[str, int], tuple[int, ...]] = {("DCT", 1): (0, -1), ("DCT", 3): (0,), ("DST", 3): (-1,)}
_AFTER: dict[tuple[str, int], tuple[int, ...]] = {("DCT", 1): (0, -1), ("DCT", 2): (0,), ("DST", 2): (-1,)}


def _weighted(x: ndarray, positions: tuple[int, ...], weight: float) -> ndarray:
    n = x.shape[-1]
    index = _core.iota((n,), (1,), 0)
    for position in positions:
        x = _core.map("where", index == position % n, x * weight, x)
    return x


def _line(kind: str, type: int, x: ndarray, n: int, axis: int, by: str, orthogonal: bool) -> ndarray:
    """Returns the transform of a real array along one axis."""
    x = moveaxis(fitted(x, n, axis), axis, -1)
    x = _weighted(x, _BEFORE.get((kind, type), ()) if orthogonal else (), math.sqrt(2))
    y = (_COSINES if kind == "DCT" else _SINES)[type](x)
    y = _weighted(y, _AFTER.get((kind, type), ()) if orthogonal else (), math.sqrt(0.5))
    points = 2 * (n + (_MORE[kind] if type == 1 else 0))
    y = {"one": y, "root": y * (1 / math.sqrt(points)), "points": y * (1 / points)}[by]
    return moveaxis(y, -1, axis)


@on_array_device
def _transform(
    kind: str, forward: bool, type: int, a: ndarray, points: list[int], axes: list[int], norm: str | None,
    orthogonalize: bool | None,
) -> ndarray:  # fmt: skip
    if type not in (1, 2, 3, 4):
        raise ValueError(f"invalid {kind} type")
    by = divisor(norm, forward)
    if is_complex(a):
        parts = (_transform(kind, forward, type, x, points, axes, norm, orthogonalize) for x in _parts(a))
        re, im = parts
        return re + im * 1j
    a = astype(a, "float32" if a.dtype_name in ("float16", "bfloat16", "float32") else "float64")
    inverse = {2: 3, 3: 2}
    orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    for n, axis in zip(points, axes, strict=True):
        a = _line(kind, type if forward else inverse.get(type, type), a, n, axis, by, orthogonal)
    return a


def _lines(name: str, kind: str, forward: bool, doc: str) -> Callable[..., ndarray]:
    def transform(
        x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
    ) -> ndarray:  # fmt: skip
        check(workers, None)
        a = array(x)
        axis = normalize_axis(axis, a.ndim)
        return _transform(kind, forward, type, a, [count(n, a.shape[axis])], [axis], norm, orthogonalize)

    return named(transform, name, doc)


def _planes(name: str, kind: str, forward: bool, doc: str) -> Callable[..., ndarray]:
    def transform(
        x: ArrayLike, type: int = 2, s: Points = None, axes: Axes = None, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, orthogonalize: bool | None = None,
    ) -> ndarray:  # fmt: skip
        check(workers, None)
        a = array(x)
        return _transform(kind, forward, type, a, *axes_and_points(a, s, axes), norm, orthogonalize)

    return named(transform, name, doc)


_DOC = """{inverse}iscrete {of} transform of a type (1 to 4) along {where}.

    Parameters
    ----------
    x : array_like
        An array; real and imaginary parts of complex input are transformed separately.
    type : int, default 2
        The type, as in `scipy.fft.{name}`.
    {points}, optional
        The number of points, reached by truncation or zero padding.
    {axes}
        The {words} to transform.
    norm : {{"backward", "ortho", "forward"}}, optional
        "backward" (the default) divides the inverse by 2 N (2 (N - 1) for DCT-1, 2 (N + 1) for DST-1), "forward"
        the forward transform, "ortho" both by the square root.
    overwrite_x : bool, default False
        Has no effect.
    workers : int, optional
        Only validated; has no effect.
    orthogonalize : bool, optional
        Whether to scale the ends so that the matrix is orthogonal up to a factor; by default only with "ortho".

    Returns
    -------
    ndarray
        float32 for half and single precision, otherwise float64; complex for complex input.

    Raises
    ------
    ValueError
        For an unknown type, fewer than one point, or an unknown `norm`.
    RuntimeError
        For DCT-1 of a single point.

    See Also
    --------
    scipy.fft.{other}

    Examples
    --------
    >>> cp.scipy.fft.{name}({example}).round(6)
    {result}
    """
#: What the functions return for the example.
_RESULTS = {
    "dct": "array([20.      , -6.308644,  0.      , -0.448342])",
    "idct": "array([ 1.499953, -1.137868,  0.327208, -0.189293])",
    "dst": "array([13.06563 , -5.656854,  5.411961, -4.      ])",
    "idst": "array([ 1.642134, -0.202489,  0.090404, -0.064973])",
    "dctn": "array([[ 40.      ,  -5.656854],\n       [-11.313708,   0.      ]])",
    "idctn": "array([[ 1.004442, -0.349112],\n       [-0.525888,  0.120558]])",
    "dstn": "array([[ 20.      ,  -5.656854],\n       [-11.313708,   0.      ]])",
    "idstn": "array([[ 0.816942, -0.036612],\n       [-0.213388, -0.066942]])",
}  # fmt: skip
_EXAMPLES = {"": "[1.0, 2.0, 3.0, 4.0]", "n": "[[1.0, 2.0], [3.0, 4.0]]"}
FUNCTIONS: dict[str, Callable[..., ndarray]] = {}
for _kind, _of in (("DCT", "cosine"), ("DST", "sine")):
    for _forward in (True, False):
        _words = {"of": _of, "inverse": "D" if _forward else "Inverse of the d"}
        for _make, _end, _more in (
            (_lines, "", {"where": "an axis", "words": "axis", "points": "n : int", "axes": "axis : int, default -1"}),
            (_planes, "n", {"where": "several axes", "words": "axes", "points": "s : int or sequence of ints",
                            "axes": "axes : int or sequence of ints, optional"}),
        ):  # fmt: skip
            _name = f"{'' if _forward else 'i'}{_kind.lower()}{_end}"
            FUNCTIONS[_name] = _make(
                _name, _kind, _forward,
                _DOC.format(
                    name=_name, other=f"i{_name}" if _forward else _name[1:],
                    example=_EXAMPLES[_end], result=_RESULTS[_name].replace("\n", "\n    "),
                    **_words, **_more,
                ),
            )  # fmt: skip
