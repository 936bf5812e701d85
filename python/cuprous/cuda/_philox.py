# mypy: disable-error-code="no-untyped-def"
"""Philox 4x32-10 (Salmon, Moraes, Dror, Shaw): random numbers that are functions of seed, sequence and offset."""

from __future__ import annotations

import math

import numpy as np

from cuprous.cuda._jit import jit
from cuprous.cuda._random_units import (
    _FLOAT64_UNIT,
    TWO_PI_FLOAT32,
    TWO_PI_FLOAT64,
    uint64_to_unit_float64,
)


@jit(device=True)
def philox4x32(c0, c1, c2, c3, k0, k1):
    """Returns four uint32 as a function of a counter and a key, by Philox 4x32-10 (Salmon et al., 2011).

    Parameters
    ----------
    c0 : int
        The lowest 32 bits of the counter.
    c1 : int
        The next 32 bits.
    c2 : int
        The next 32 bits.
    c3 : int
        The highest 32 bits.
    k0 : int
        The low 32 bits of the key.
    k1 : int
        The high 32 bits of the key.

    Returns
    -------
    tuple
        A tuple of four uint32.

    See Also
    --------
    cuda.random.philox_uint32x4

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[0], out[1], out[2], out[3] = cuda.random.philox4x32(0, 0, 0, 0, 0, 0)
    >>> out = np.zeros(4, np.uint32)
    >>> draw[1, 1](out)
    >>> [hex(x) for x in out]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    c0, c1, c2, c3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    k0, k1 = np.uint64(k0), np.uint64(k1)
    word = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for _ in range(10):
        p = c0 * np.uint64(0xD2511F53)
        q = c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (q >> half) ^ c1 ^ k0, q & word, (p >> half) ^ c3 ^ k1, p & word
        k0 = (k0 + np.uint64(0x9E3779B9)) & word
        k1 = (k1 + np.uint64(0xBB67AE85)) & word
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


@jit(device=True)
def philox_uint32x4(seed, sequence, offset):
    """Returns four uint32 at a position of a sequence.

    Parameters
    ----------
    seed : int
        An integer.
    sequence : int
        The number of the sequence, such as the thread's.
    offset : int
        The position in the sequence.

    Returns
    -------
    tuple
        A tuple of four uint32.

    See Also
    --------
    cuda.random.philox4x32

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[0], out[1], out[2], out[3] = cuda.random.philox_uint32x4(0, 0, 0)
    >>> out = np.zeros(4, np.uint32)
    >>> draw[1, 1](out)
    >>> len(set(out))
    4
    """
    seed, sequence, offset = np.uint64(seed), np.uint64(sequence), np.uint64(offset)
    word, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    return philox4x32(offset & word, offset >> half, sequence & word, sequence >> half, seed & word, seed >> half)


@jit(device=True)
def philox_uniform_float32(seed, sequence, offset):
    """Returns a uniform number at a position of a sequence, of 24 random bits.

    Parameters
    ----------
    seed : int
        An integer.
    sequence : int
        The number of the sequence, such as the thread's.
    offset : int
        The position in the sequence.

    Returns
    -------
    float
        A float32 in [0, 1).

    See Also
    --------
    cuda.random.philox_uniform_float64, cuda.random.philox_normal_float32, cuda.random.philox_normal_float64

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[cuda.grid(1)] = cuda.random.philox_uniform_float32(1, cuda.grid(1), 0)
    >>> out = np.zeros(4)
    >>> draw[1, 4](out)
    >>> bool(((out >= 0) & (out < 1)).all())
    True
    """
    a, _, _, _ = philox_uint32x4(seed, sequence, offset)
    return np.float32(a >> np.uint32(8)) * np.float32(1.0 / (1 << 24))


@jit(device=True)
def philox_uniform_float64(seed, sequence, offset):
    """Returns a uniform number at a position of a sequence, of 53 random bits.

    Parameters
    ----------
    seed : int
        An integer.
    sequence : int
        The number of the sequence, such as the thread's.
    offset : int
        The position in the sequence.

    Returns
    -------
    float
        A float64 in [0, 1).

    See Also
    --------
    cuda.random.philox_normal_float32, cuda.random.philox_normal_float64, cuda.random.philox_uniform_float32

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[cuda.grid(1)] = cuda.random.philox_uniform_float64(1, cuda.grid(1), 0)
    >>> out = np.zeros(4)
    >>> draw[1, 4](out)
    >>> bool(((out >= 0) & (out < 1)).all())
    True
    """
    a, b, _, _ = philox_uint32x4(seed, sequence, offset)
    return uint64_to_unit_float64((np.uint64(a) << np.uint64(32)) | np.uint64(b))


@jit(device=True)
def philox_normal_float32(seed, sequence, offset):
    """Returns a normal number at a position of a sequence, by Box and Muller.

    Parameters
    ----------
    seed : int
        An integer.
    sequence : int
        The number of the sequence, such as the thread's.
    offset : int
        The position in the sequence.

    Returns
    -------
    float
        A float32.

    See Also
    --------
    cuda.random.philox_normal_float64, cuda.random.philox_uniform_float32, cuda.random.philox_uniform_float64

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[cuda.grid(1)] = cuda.random.philox_normal_float32(1, cuda.grid(1), 0)
    >>> out = np.zeros(4)
    >>> draw[1, 4](out)
    >>> bool(np.isfinite(out).all())
    True
    """
    a, b, _, _ = philox_uint32x4(seed, sequence, offset)
    u1 = (np.float32(a >> np.uint32(8)) + np.float32(1)) * np.float32(1.0 / (1 << 24))
    u2 = np.float32(b >> np.uint32(8)) * np.float32(1.0 / (1 << 24))
    return math.sqrt(np.float32(-2) * math.log(u1)) * math.cos(TWO_PI_FLOAT32 * u2)


@jit(device=True)
def philox_normal_float64(seed, sequence, offset):
    """Returns a normal number at a position of a sequence, by Box and Muller.

    Parameters
    ----------
    seed : int
        An integer.
    sequence : int
        The number of the sequence, such as the thread's.
    offset : int
        The position in the sequence.

    Returns
    -------
    float
        A float64.

    See Also
    --------
    cuda.random.philox_uniform_float32, cuda.random.philox_uniform_float64, cuda.random.philox_normal_float32

    Examples
    --------
    >>> @cuda.jit
    ... def draw(out):
    ...     out[cuda.grid(1)] = cuda.random.philox_normal_float64(1, cuda.grid(1), 0)
    >>> out = np.zeros(4)
    >>> draw[1, 4](out)
    >>> bool(np.isfinite(out).all())
    True
    """
    a, b, c, d = philox_uint32x4(seed, sequence, offset)
    u1 = uint64_to_unit_float64((np.uint64(a) << np.uint64(32)) | np.uint64(b)) + _FLOAT64_UNIT
    u2 = uint64_to_unit_float64((np.uint64(c) << np.uint64(32)) | np.uint64(d))
    return math.sqrt(-2.0 * math.log(u1)) * math.cos(TWO_PI_FLOAT64 * u2)
