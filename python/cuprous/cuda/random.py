# mypy: disable-error-code="no-untyped-def"
"""Random numbers in kernels: Numba's xoroshiro128+, the same numbers from the same seeds, and Philox 4x32-10.

xoroshiro128+ keeps a state for each thread; `create_xoroshiro128p_states` makes them 2**64 numbers apart. Philox keeps
no state: a number is a function of seed, sequence and offset, so threads need no memory and can jump anywhere.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import cuprous
from cuprous.cuda._intrinsics import grid
from cuprous.cuda._jit import jit
from cuprous.cuda._philox import (
    philox4x32,
    philox_normal_float32,
    philox_normal_float64,
    philox_uint32x4,
    philox_uniform_float32,
    philox_uniform_float64,
)
from cuprous.cuda._random_units import (
    _FLOAT64_UNIT,
    TWO_PI_FLOAT32,
    TWO_PI_FLOAT64,
    uint64_to_unit_float32,
    uint64_to_unit_float64,
)

#: The state of one generator, as the host sees it.
xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)


# --- xoroshiro128+ (Blackman and Vigna, rotations 55, 14, 36)


@jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """Initializes a state from a seed through SplitMix64, so that similar seeds give unrelated states.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.
    seed : int
        An integer.

    Returns
    -------
    None

    See Also
    --------
    cuda.random.create_xoroshiro128p_states, cuda.random.init_xoroshiro128p_states

    Examples
    --------
    >>> @cuda.jit
    ... def start(states):
    ...     cuda.random.init_xoroshiro128p_state(states, cuda.grid(1), 7)
    >>> states = np.zeros((1, 2), np.uint64)
    >>> start[1, 1](states)
    >>> bool(states[0, 0] == states[0, 1])
    True
    """
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    states[index, 0] = z
    states[index, 1] = z


@jit(device=True)
def rotl(x, k):
    """Returns a uint64 rotated to the left.

    Parameters
    ----------
    x : int
        The number.
    k : int
        The number of bits.

    Returns
    -------
    int
        A uint64.

    See Also
    --------
    cuda.random.xoroshiro128p_next

    Examples
    --------
    >>> @cuda.jit
    ... def rotate(out):
    ...     out[0] = cuda.random.rotl(1, 4)
    >>> out = np.zeros(1, np.uint64)
    >>> rotate[1, 1](out)
    >>> out
    array([16], dtype=uint64)
    """
    return (np.uint64(x) << np.uint64(k)) | (np.uint64(x) >> np.uint64(64 - k))


@jit(device=True)
def xoroshiro128p_next(states, index):
    """Returns the next uint64 of a generator.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    int
        A uint64.

    See Also
    --------
    cuda.random.xoroshiro128p_jump

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     out[0] = cuda.random.xoroshiro128p_next(states, 0)
    >>> out = np.zeros(1, np.uint64)
    >>> draw[1, 1](np.array([[1, 2]], np.uint64), out)
    >>> out
    array([3], dtype=uint64)
    """
    s0, s1 = states[index, 0], states[index, 1]
    result = s0 + s1
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    states[index, 0], states[index, 1] = s0, s1
    return result


# The functions below inline steps and conversions instead of calling the functions above: on the CPU a call costs more
# than either.


@jit(device=True)
def _jumped(s0, s1, low, high):
    """Returns a state advanced by the jump polynomial `low`, `high`."""
    t0, t1 = np.uint64(0), np.uint64(0)
    for bit in range(128):
        word = low if bit < 64 else high
        taken = np.uint64(0) - ((word >> np.uint64(bit & 63)) & np.uint64(1))  # all bits or none
        t0 ^= s0 & taken
        t1 ^= s1 & taken
        s1 ^= s0
        s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
        s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    return t0, t1


@jit(device=True)
def xoroshiro128p_jump(states, index):
    """Advances a generator by 2**64 numbers.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    None

    See Also
    --------
    cuda.random.xoroshiro128p_next

    Examples
    --------
    >>> @cuda.jit
    ... def jump(states):
    ...     cuda.random.xoroshiro128p_jump(states, 0)
    >>> states = np.array([[1, 2]], np.uint64)
    >>> jump[1, 1](states)
    >>> bool(states[0, 0] != 1)
    True
    """
    s0, s1 = states[index, 0], states[index, 1]
    low, high = np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)
    states[index, 0], states[index, 1] = _jumped(s0, s1, low, high)


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """Returns the next uniform number of a generator.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    float
        A float32 in [0, 1].

    See Also
    --------
    cuda.random.xoroshiro128p_uniform_float64, cuda.random.xoroshiro128p_normal_float32,
    cuda.random.xoroshiro128p_normal_float64

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     out[0] = cuda.random.xoroshiro128p_uniform_float32(states, 0)
    >>> out = np.zeros(1)
    >>> draw[1, 1](cuda.random.create_xoroshiro128p_states(1, seed=1), out)
    >>> bool(0 <= out[0] <= 1)
    True
    """
    s0, s1 = states[index, 0], states[index, 1]
    number = s0 + s1
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    states[index, 0], states[index, 1] = s0, s1
    return np.float32(np.float64(np.int64(number >> np.uint64(11))) * _FLOAT64_UNIT)


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """Returns the next uniform number of a generator.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    float
        A float64 in [0, 1).

    See Also
    --------
    cuda.random.xoroshiro128p_normal_float32, cuda.random.xoroshiro128p_normal_float64,
    cuda.random.xoroshiro128p_uniform_float32

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     out[0] = cuda.random.xoroshiro128p_uniform_float64(states, 0)
    >>> out = np.zeros(1)
    >>> draw[1, 1](cuda.random.create_xoroshiro128p_states(1, seed=1), out)
    >>> bool(0 <= out[0] < 1)
    True
    """
    s0, s1 = states[index, 0], states[index, 1]
    number = s0 + s1
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    states[index, 0], states[index, 1] = s0, s1
    return np.float64(np.int64(number >> np.uint64(11))) * _FLOAT64_UNIT


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """Returns the next normal number of a generator, by Box and Muller. It takes two uniform numbers.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    float
        A float32.

    See Also
    --------
    cuda.random.xoroshiro128p_normal_float64, cuda.random.xoroshiro128p_uniform_float32,
    cuda.random.xoroshiro128p_uniform_float64

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     out[0] = cuda.random.xoroshiro128p_normal_float32(states, 0)
    >>> out = np.zeros(1)
    >>> draw[1, 1](cuda.random.create_xoroshiro128p_states(1, seed=1), out)
    >>> bool(np.isfinite(out[0]))
    True
    """
    s0, s1 = states[index, 0], states[index, 1]
    u1 = np.float32(np.float64(np.int64((s0 + s1) >> np.uint64(11))) * _FLOAT64_UNIT)
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    u2 = np.float32(np.float64(np.int64((s0 + s1) >> np.uint64(11))) * _FLOAT64_UNIT)
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    states[index, 0], states[index, 1] = s0, s1
    return math.sqrt(np.float32(-2) * math.log(u1)) * math.cos(TWO_PI_FLOAT32 * u2)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """Returns the next normal number of a generator, from two uniform numbers of 32 bits as in Numba.

    Parameters
    ----------
    states : array_like
        The states of generators, a uint64 array of shape (n, 2).
    index : int
        The generator's number.

    Returns
    -------
    float
        A float64.

    See Also
    --------
    cuda.random.xoroshiro128p_uniform_float32, cuda.random.xoroshiro128p_uniform_float64,
    cuda.random.xoroshiro128p_normal_float32

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     out[0] = cuda.random.xoroshiro128p_normal_float64(states, 0)
    >>> out = np.zeros(1)
    >>> draw[1, 1](cuda.random.create_xoroshiro128p_states(1, seed=1), out)
    >>> bool(np.isfinite(out[0]))
    True
    """
    s0, s1 = states[index, 0], states[index, 1]
    u1 = np.float32(np.float64(np.int64((s0 + s1) >> np.uint64(11))) * _FLOAT64_UNIT)
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    u2 = np.float32(np.float64(np.int64((s0 + s1) >> np.uint64(11))) * _FLOAT64_UNIT)
    s1 ^= s0
    s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    states[index, 0], states[index, 1] = s0, s1
    return math.sqrt(np.float64(-2) * math.log(u1)) * math.cos(TWO_PI_FLOAT64 * u2)


# --- states for many threads

#: The polynomial that one step of the generator satisfies, bit k for x**k. A generator `n` numbers further is x**n
#: modulo it: for n = 2**64 that is the published jump.
_POLYNOMIAL = 0x100653CED7F29F88A5FD66762F0E1C001
_JUMP = 0xD86B048B86AA9922BEAC0467EBA5FACB
_MASK = (1 << 64) - 1


def _product(a: int, b: int) -> int:
    """The product of two polynomials over bits, modulo the generator's."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        b >>= 1
        a <<= 1
        if a >> 128:
            a ^= _POLYNOMIAL
    return result


@jit
def _double(states, count, total, low, high):
    """States `count` and further, from the first `count` by one jump of `count` sequences."""
    i = grid(1)
    if i < count and i + count < total:
        states[i + count, 0], states[i + count, 1] = _jumped(states[i, 0], states[i, 1], low, high)


@jit
def _first(states, seed, low, high):
    init_xoroshiro128p_state(states, 0, seed)
    states[0, 0], states[0, 1] = _jumped(states[0, 0], states[0, 1], low, high)


class States:
    """The states of generators on the device. In kernels they are a uint64 array of shape (n, 2).

    Parameters
    ----------
    n : int
        The number of generators.

    Examples
    --------
    >>> cuda.random.States(4).copy_to_host().shape
    (4,)
    """

    def __init__(self, n: int) -> None:
        self._launch_argument = cuprous.empty((n, 2), np.uint64)
        self.shape = (n,)
        self.size = n
        self.ndim = 1
        self.dtype = xoroshiro128p_dtype

    def __len__(self) -> int:
        return self.size

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Returns the states as a NumPy array with fields `s0` and `s1`.

        Parameters
        ----------
        ary : array_like, optional
            An array to write to.
        stream : Stream, default 0
            The stream. Work runs in the order of the program on any of them.

        Returns
        -------
        numpy.ndarray
            A NumPy array.

        Examples
        --------
        >>> cuda.random.create_xoroshiro128p_states(4, seed=1).copy_to_host().dtype.names
        ('s0', 's1')
        """
        host = cuprous.asnumpy(self._launch_argument).view(xoroshiro128p_dtype)[:, 0]
        if ary is None:
            return host
        ary[...] = host
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copies states from a NumPy array with fields `s0` and `s1`, or from other states.

        Parameters
        ----------
        ary : ndarray
            The states.
        stream : Stream, default 0
            The stream. Work runs in the order of the program on any of them.

        Examples
        --------
        >>> states = cuda.random.create_xoroshiro128p_states(4, seed=1)
        >>> other = cuda.random.States(4)
        >>> other.copy_to_device(states)
        """
        host = ary.copy_to_host() if isinstance(ary, States) else np.ascontiguousarray(ary, xoroshiro128p_dtype)
        self._launch_argument[...] = host.view(np.uint64).reshape(self.size, 2)


def init_xoroshiro128p_states(states: States, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Initializes the states of generators, 2**64 numbers apart in one sequence.

    Parameters
    ----------
    states : ndarray
        The states.
    seed : int
        An integer.
    subsequence_start : int, default 0
        The number of the first generator.
    stream : Stream, default 0
        The stream. Work runs in the order of the program on any of them.

    Raises
    ------
    TypeError
        For a seed or start that is not an integer.

    See Also
    --------
    cuda.random.init_xoroshiro128p_state, cuda.random.create_xoroshiro128p_states

    Examples
    --------
    >>> states = cuda.random.States(4)
    >>> cuda.random.init_xoroshiro128p_states(states, seed=1)
    """
    array, total = states._launch_argument, states.size
    power, jump = 1, _JUMP
    start = operator.index(subsequence_start) & _MASK
    while start:  # square and multiply
        if start & 1:
            power = _product(power, jump)
        jump = _product(jump, jump)
        start >>= 1
    if not total:
        return
    _first[1, 1](array, np.uint64(operator.index(seed) & _MASK), *_words(power))
    count, jump = 1, _JUMP
    while count < total:  # each pass doubles what is there, so a million states take 20 passes
        _double.forall(min(count, total - count))(array, count, total, *_words(jump))
        jump = _product(jump, jump)
        count *= 2


def _words(polynomial: int) -> tuple[Any, Any]:
    return np.uint64(polynomial & _MASK), np.uint64(polynomial >> 64)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> States:
    """Returns the states of generators, 2**64 numbers apart in one sequence.

    Parameters
    ----------
    n : int
        The number of generators.
    seed : int
        An integer.
    subsequence_start : int, default 0
        The number of the first generator.
    stream : Stream, default 0
        The stream. Work runs in the order of the program on any of them.

    Returns
    -------
    States
        States, which kernels take.

    See Also
    --------
    cuda.random.init_xoroshiro128p_states, cuda.random.init_xoroshiro128p_state

    Examples
    --------
    >>> @cuda.jit
    ... def draw(states, out):
    ...     i = cuda.grid(1)
    ...     out[i] = cuda.random.xoroshiro128p_uniform_float64(states, i)
    >>> out = np.empty(4)
    >>> draw[1, 4](cuda.random.create_xoroshiro128p_states(4, seed=1), out)
    >>> bool(((out >= 0) & (out < 1)).all())
    True
    """
    states = States(operator.index(n))
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


__all__ = [
    "create_xoroshiro128p_states", "init_xoroshiro128p_state", "init_xoroshiro128p_states", "philox4x32",
    "philox_normal_float32", "philox_normal_float64", "philox_uint32x4", "philox_uniform_float32",
    "philox_uniform_float64", "rotl", "uint64_to_unit_float32", "uint64_to_unit_float64", "xoroshiro128p_dtype",
    "xoroshiro128p_jump", "xoroshiro128p_next", "xoroshiro128p_normal_float32", "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32", "xoroshiro128p_uniform_float64",
]  # fmt: skip
