"""`Generator`: NumPy's interface to a bit generator."""

from __future__ import annotations

import operator
from typing import Any

from cuprous.random._bits import BitGenerator, Philox4x3210, Seed
from cuprous.random._selection import Selection
from cuprous.random._shapes import (
    check,
    common_shape,
    float_dtype,
    ndarray,
    non_negative,
    out_shape,
    parameter,
    shape_of,
    to_dtype,
    write,
)


class Generator(Selection):
    """Draws from the distributions that NumPy names, by a stream that is the same on every device.

    The values of uniforms, integers and normals depend on the seed and on what was drawn before, not on the device, bit
    for bit. They are not NumPy's values for the same seed. A draw records one native call and at most a few maps; seed
    and position are scalars of the recorded program, so that a loop of draws replays.

    Args:
        bit_generator: the source of randomness.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError(f"Generator needs a cuprous BitGenerator such as Philox4x3210, not {type(bit_generator)}")
        self._bits = bit_generator

    @property
    def bit_generator(self) -> BitGenerator:
        """The source; its `state` can be read and set."""
        return self._bits

    def spawn(self, n_children: int) -> list[Generator]:
        """Returns generators on independent streams."""
        return [type(self)(bits) for bits in self._bits.spawn(n_children)]

    def random(self, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws uniform values on [0, 1): multiples of 2**-53, or of 2**-24 for float32."""
        name = float_dtype(dtype, "random")
        return write(out, self._unit(shape_of(out_shape(out, size, name))[0], name))

    def standard_normal(self, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws normal values with mean 0 and standard deviation 1."""
        name = float_dtype(dtype, "standard_normal")
        return write(out, self._normal(shape_of(out_shape(out, size, name))[0], name))

    def standard_exponential(
        self, size: Any = None, dtype: Any = None, method: str = "zig", out: ndarray | None = None
    ) -> ndarray:
        """Draws exponential values with mean 1. Both of NumPy's methods, "inv" and "zig", invert the distribution
        function here."""
        check(method in ("inv", "zig"), f"method must be 'inv' or 'zig', not {method!r}")
        name = float_dtype(dtype, "standard_exponential")
        return write(out, self._exponential(shape_of(out_shape(out, size, name))[0], name))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws gamma values with scale 1."""
        name, shape = float_dtype(dtype, "standard_gamma"), parameter(shape)
        non_negative(shape, "shape")
        extents = common_shape(out_shape(out, size, name), shape)
        return write(out, to_dtype(self._gamma(shape, extents), name))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws uniform values on [low, high).

        Raises:
            ValueError: if `high` is below `low`, which only `RandomState` takes.
        """
        low, high = parameter(low), parameter(high)
        check(isinstance(low, ndarray) or isinstance(high, ndarray) or not high < low, "high - low < 0")
        return super().uniform(low, high, size, dtype)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64", endpoint: bool = False
    ) -> ndarray:
        """Draws integers of [low, high), of [0, low) without `high`; with `endpoint` including the upper bound. No
        probability is off by more than a factor 1 ± 2**-32 (see `Discrete._bounded`).

        Raises:
            ValueError: for an empty range, or bounds outside of the dtype.
        """
        if high is None:
            low, high = 0, low
        return self._bounded(low, high, size, dtype, endpoint)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> ndarray:
        """Draws samples of range(a), or of an array's slices along `axis`, with probabilities `p` (which are read on
        the host, to be checked). Without replacement and with `p`, by the order of the exponential variates E / p
        (Efraimidis and Spirakis, 2006). The order is random also for shuffle=False, which NumPy leaves open.

        Raises:
            ValueError: if the sample is larger than the population, or `p` is not a distribution over it.
        """
        return self._choice(a, size, replace, p, axis)

    def __repr__(self) -> str:
        return f"Generator({type(self._bits).__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bits,)


def default_rng(seed: Seed | BitGenerator | Generator = None) -> Generator:
    """Returns a `Generator` over Philox4x32-10.

    Args:
        seed: None (the operating system's entropy), a non-negative integer (below 2**64 it is Philox's key), a sequence
            of such integers or a `numpy.random.SeedSequence` (hashed), or a bit generator or generator (used as it is).
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if seed is not None and hasattr(seed, "__index__") and not hasattr(seed, "ndim"):
        seed = operator.index(seed)
    return Generator(Philox4x3210(seed))
