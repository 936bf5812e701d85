"""The source of randomness: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

A stream is a key (64 bits) and a counter of blocks of 128 bits; block number i is a pure function of both. So an array
of any shape is filled in parallel, devices agree bit for bit, and skipping ahead costs nothing.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

from cuprous import _core
from cuprous.random._shapes import shape_of

Seed: TypeAlias = "int | Sequence[int] | Any | None"

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def splitmix64(x: int) -> int:
    """Applies a bijection of 64-bit words that flips about half of the bits for any change (Steele et al., OOPSLA
    2014)."""
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def mix(integers: Sequence[int]) -> int:
    """Hashes non-negative integers of any size into a key: each one is absorbed as its number of 64-bit limbs and
    then limb by limb, least significant first, by `state = splitmix64(state ^ limb)`."""
    state = _GOLDEN
    for integer in integers:
        limbs = [(integer >> at) & _MASK for at in range(0, max(integer.bit_length(), 1), 64)]
        for limb in (len(limbs), *limbs):
            state = splitmix64(state ^ limb)
    return state


def key_of(seed: Seed) -> int:
    """Returns the 64-bit key of a seed: an integer below 2**64 is the key itself, None asks the operating system, a
    larger integer and a sequence of integers are hashed by `mix`, a `numpy.random.SeedSequence` generates its own.

    Raises
    ------
    ValueError
        For negative integers.
    TypeError
        For anything that is not an integer, a sequence of integers or None.
    """
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")
    if hasattr(seed, "generate_state"):
        return int(seed.generate_state(1, "uint64")[0])
    if hasattr(seed, "__index__") and not getattr(seed, "ndim", 0):
        value = operator.index(seed)
        if value < 0:
            raise ValueError("expected non-negative integer")
        return value if value <= _MASK else mix((value,))
    sequence: Any = seed
    try:
        items = [operator.index(item) for item in (sequence.tolist() if hasattr(seed, "tolist") else sequence)]
    except TypeError:
        raise TypeError(f"a seed is None, an int or a sequence of ints, not {type(seed).__name__}") from None
    if any(item < 0 for item in items):
        raise ValueError("expected non-negative integer")
    return mix(items)


class BitGenerator:
    """The base class of bit generators: a key and the number of the next block.

    `take(blocks)` reserves that many blocks and returns the first one's number; threads may share a generator.

    Parameters
    ----------
    seed : int or sequence of ints, optional
        As for `default_rng`.

    See Also
    --------
    SeedSequence

    Examples
    --------
    >>> bits = cp.random.Philox4x3210(5)
    >>> cp.random.Generator(bits).random(3).round(3)
    array([0.07 , 0.966, 0.156])
    """

    def __init__(self, seed: Seed = None) -> None:
        self.key = key_of(seed)
        self._sequence = seed if hasattr(seed, "spawn") else None
        self._next = _core.Counter()
        self.take = self._next.take
        self._children = 0
        self.lock = threading.Lock()

    @property
    def seed_seq(self) -> Any:
        """The `numpy.random.SeedSequence` that seeded it, or one of its key, from which libraries spawn others."""
        if self._sequence is None:
            from numpy.random import SeedSequence

            self._sequence = SeedSequence(self.key)
        return self._sequence

    _seed_seq = seed_seq  # the name that dask.array reads

    @property
    def offset(self) -> int:
        """The number of the next block.

        Examples
        --------
        >>> bits = cp.random.Philox4x3210(5)
        >>> _ = bits.random_raw(4)
        >>> bits.offset
        2
        """
        return self._next.value

    @offset.setter
    def offset(self, value: int) -> None:
        self._next.value = value

    @property
    def state(self) -> dict[str, Any]:
        """The stream and the position in it. Assigning it sets both.

        Examples
        --------
        >>> bits = cp.random.Philox4x3210(5)
        >>> state = bits.state
        >>> first = bits.random_raw()
        >>> bits.state = state
        >>> bits.random_raw() == first
        True
        """
        return {"bit_generator": type(self).__name__, "state": {"key": self.key, "counter": self.offset}}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        name = type(self).__name__
        if value.get("bit_generator") != name:
            raise ValueError(f"state must be for a {name} PRNG")
        key, counter = (operator.index(value["state"][integer]) for integer in ("key", "counter"))
        if not (0 <= key <= _MASK and 0 <= counter <= _MASK):
            raise ValueError("key and counter must be 64-bit words")
        with self.lock:
            self.key, self.offset = key, counter

    def advance(self, delta: int) -> BitGenerator:
        """Skips `delta` blocks (of four 32-bit words). Negative values go backwards.

        Parameters
        ----------
        delta : int
            The number of blocks.

        Returns
        -------
        BitGenerator
            This generator.

        Examples
        --------
        >>> bits = cp.random.Philox4x3210(5)
        >>> bits.advance(10).offset
        10
        """
        self.take(operator.index(delta) & _MASK)
        return self

    def jumped(self, jumps: int = 1) -> BitGenerator:
        """Returns a generator of the same class, `jumps` times 2**48 blocks ahead.

        Parameters
        ----------
        jumps : int, default 1
            The number of jumps.

        Returns
        -------
        BitGenerator
            A new generator.

        Examples
        --------
        >>> cp.random.Philox4x3210(5).jumped().offset == 2**48
        True
        """
        result = type(self)(self.key)
        result.offset = (self.offset + (operator.index(jumps) << 48)) & _MASK
        return result

    def spawn(self, n_children: int) -> list[BitGenerator]:
        """Returns independent generators, keyed by a hash of this key and a counter.

        Parameters
        ----------
        n_children : int
            The number of generators.

        Returns
        -------
        list of BitGenerator
            A list of generators of the same class.

        Raises
        ------
        ValueError
            If `n_children` is negative.

        See Also
        --------
        cuprous.random.Generator.spawn, cuprous.random.SeedSequence.spawn

        Examples
        --------
        >>> len(cp.random.Philox4x3210(5).spawn(3))
        3
        """
        if n_children < 0:
            raise ValueError("n_children must be non-negative")
        with self.lock:
            first = self._children
            self._children += n_children
        return [type(self)(mix((self.key, i))) for i in range(first, first + n_children)]

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Returns raw 64-bit words.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default one word.
        output : bool, default True
            False only skips the words and returns None.

        Returns
        -------
        int
            An integer, or an array (uint64).

        Examples
        --------
        >>> cp.random.Philox4x3210(5).random_raw()
        1285867393001154589
        """
        shape, count = shape_of(size)
        first = self.take(-(-count // 2))
        if not output:
            return None
        integers = _core.random("random_bits64", shape, self.key, first)
        return integers.item() if size is None else integers

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.key, self.offset, self._children)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.key:#x}, counter={self.offset})"


class Philox4x3210(BitGenerator):
    """The bit generator Philox with 4 words of 32 bits and 10 rounds.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.

    Parameters
    ----------
    seed : int or sequence of ints, optional
        The key: as for `default_rng`.

    See Also
    --------
    random.XORWOW, random.MRG32k3a

    Examples
    --------
    >>> cp.random.Philox4x3210(5).random_raw(2)
    array([ 1285867393001154589, 17814518810289777723], dtype=uint64)
    """


class XORWOW(Philox4x3210):
    """The name of CuPy's default bit generator. Its numbers are those of `Philox4x3210`, not of cuRAND's XORWOW.

    Parameters
    ----------
    seed : int or sequence of ints, optional
        The key: as for `default_rng`.

    See Also
    --------
    random.MRG32k3a, random.Philox4x3210

    Examples
    --------
    >>> cp.random.Generator(cp.random.XORWOW(5)).random(2).round(3)
    array([0.07 , 0.966])
    """


class MRG32k3a(Philox4x3210):
    """The name of a bit generator of CuPy. Its numbers are those of `Philox4x3210`, not of cuRAND's MRG32k3a.

    Parameters
    ----------
    seed : int or sequence of ints, optional
        The key: as for `default_rng`.

    See Also
    --------
    random.Philox4x3210, random.XORWOW

    Examples
    --------
    >>> cp.random.Generator(cp.random.MRG32k3a(5)).random(2).round(3)
    array([0.07 , 0.966])
    """


def _restore(kind: type[BitGenerator], key: int, offset: int, children: int) -> BitGenerator:
    result = kind(key)
    result.offset, result._children = offset, children
    return result
