# mypy: disable-error-code="no-untyped-def"
"""Conversion of random bits to numbers in kernels."""

from __future__ import annotations

import math

import numpy as np

from cuprous.cuda._jit import jit

TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = np.float64(2 * math.pi)
_FLOAT64_UNIT = 1.0 / (1 << 53)


@jit(device=True)
def uint64_to_unit_float64(x):
    """Returns a uint64 as a float64 in [0, 1).

    Parameters
    ----------
    x : int
        The number.

    Returns
    -------
    float
        A float64.

    See Also
    --------
    cuda.random.uint64_to_unit_float32

    Examples
    --------
    >>> @cuda.jit
    ... def convert(out):
    ...     out[0] = cuda.random.uint64_to_unit_float64(np.uint64(1) << np.uint64(63))
    >>> out = np.zeros(1)
    >>> convert[1, 1](out)
    >>> out
    array([0.5])
    """
    return np.float64(np.int64(np.uint64(x) >> np.uint64(11))) * _FLOAT64_UNIT  # signed: faster, and as exact


@jit(device=True)
def uint64_to_unit_float32(x):
    """Returns a uint64 as a float32 in [0, 1], rounded from a float64 as Numba does. 1 comes up once in 2**25.

    Parameters
    ----------
    x : int
        The number.

    Returns
    -------
    float
        A float32.

    See Also
    --------
    cuda.random.uint64_to_unit_float64

    Examples
    --------
    >>> @cuda.jit
    ... def convert(out):
    ...     out[0] = cuda.random.uint64_to_unit_float32(np.uint64(1) << np.uint64(63))
    >>> out = np.zeros(1)
    >>> convert[1, 1](out)
    >>> out
    array([0.5])
    """
    return np.float32(uint64_to_unit_float64(x))
