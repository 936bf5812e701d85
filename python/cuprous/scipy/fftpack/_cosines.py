"""Discrete cosine and sine transforms of `scipy.fftpack`, whose inverses are not scaled."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.naming import named
from cuprous.scipy.fft import _cosines

#: The type of the inverse of each type.
_INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}


def _type(name: str, type: int) -> int:
    if type not in _INVERSES:
        raise ValueError(f"invalid {name[-3:].upper()} type")
    return type if name[0] == "d" else _INVERSES[type]


def _line(name: str, text: str) -> Callable[..., ndarray]:
    inner = _cosines.FUNCTIONS[name.removeprefix("i")]

    def function(
        x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False,
    ) -> ndarray:  # fmt: skip
        return inner(x, _type(name, type), n, axis, norm)

    return named(function, name, text)


def _planes(name: str, text: str) -> Callable[..., ndarray]:
    inner = _cosines.FUNCTIONS[name.removeprefix("i")]

    def function(
        x: ArrayLike, type: int = 2, shape: Any = None, axes: Any = None, norm: str | None = None,
        overwrite_x: bool = False,
    ) -> ndarray:  # fmt: skip
        a = array(x)
        if shape is not None and axes is None:
            lengths = [shape] if hasattr(shape, "__index__") else list(shape)
            if len(lengths) != a.ndim:
                raise ValueError("when given, axes and shape arguments have to be of the same length")
            shape = [operator.index(length) for length in lengths]
        return inner(a, _type(name[:-1], type), shape, axes, norm)

    return named(function, name, text)


_DOC = """Computes the {inverse}discrete {of} transform of type 1 to 4 along {where}.

    Without `norm` nothing is divided, so a transform and its inverse multiply by 2 N (2 (N - 1) for DCT-1, 2 (N + 1)
    for DST-1) for each axis.

    Parameters
    ----------
    x : array_like
        Real or complex points.
    type : int, default 2
        The type, from 1 to 4; that of the inverse of type 2 is 3.
    {points}, optional
        The number of points, in place of the array's: it is truncated or padded with zeros.
    {axes}
        The {words}.
    norm : str, optional
        "ortho" scales so that a transform and its inverse give the points again.
    overwrite_x : bool, default False
        Has no effect.

    Returns
    -------
    ndarray
        float32 for half and single precision, otherwise float64; complex for complex input.

    Raises
    ------
    ValueError
        For an unknown type, fewer than one point, an unknown `norm`{more}.
    RuntimeError
        For DCT-1 of a single point.

    See Also
    --------
    scipy.fftpack.{other}, scipy.fft.{name}

    Examples
    --------
    >>> cp.scipy.fftpack.{name}({example}).round(6)
    {result}
    """
_RESULTS = {
    "dct": "array([20.      , -6.308644,  0.      , -0.448342])",
    "idct": "array([11.999626, -9.102943,  2.617662, -1.514345])",
    "dst": "array([13.06563 , -5.656854,  5.411961, -4.      ])",
    "idst": "array([13.137071, -1.619914,  0.723231, -0.519783])",
    "dctn": "array([[ 40.      ,  -5.656854],\n       [-11.313708,   0.      ]])",
    "idctn": "array([[16.071068, -5.585786],\n       [-8.414214,  1.928932]])",
    "dstn": "array([[ 20.      ,  -5.656854],\n       [-11.313708,   0.      ]])",
    "idstn": "array([[13.071068, -0.585786],\n       [-3.414214, -1.071068]])",
}
FUNCTIONS: dict[str, Callable[..., ndarray]] = {}
for _name, _result in _RESULTS.items():
    _is_plane, _is_inverse = _name.endswith("n"), _name.startswith("i")
    FUNCTIONS[_name] = (_planes if _is_plane else _line)(
        _name,
        _DOC.format(
            name=_name,
            other=_name[1:] if _is_inverse else f"i{_name}",
            inverse="inverse of the " if _is_inverse else "",
            of="cosine" if "c" in _name else "sine",
            where="several axes" if _is_plane else "an axis",
            words="axes; by default all" if _is_plane else "axis",
            points="shape : int or sequence of ints" if _is_plane else "n : int",
            axes="axes : int or sequence of ints, optional" if _is_plane else "axis : int, default -1",
            more=", and a `shape` of another length than `axes`" if _is_plane else "",
            example="[[1.0, 2.0], [3.0, 4.0]]" if _is_plane else "[1.0, 2.0, 3.0, 4.0]",
            result=_result.replace("\n", "\n    "),
        ),
    )
