"""Random numbers: `default_rng` and NumPy's older functions, over Philox4x32-10.

The stream of a seed is the same on the CPU and on the GPU, bit for bit, for uniforms, integers and normals. It is not
NumPy's stream. The functions of this module share one `RandomState`, seeded by the operating system until `seed` is
called.
"""

from __future__ import annotations

from typing import Any

from cuprous.random._bits import XORWOW, BitGenerator, MRG32k3a, Philox4x3210
from cuprous.random._generator import Generator, default_rng
from cuprous.random._legacy import RandomState

_state = RandomState()

beta = _state.beta
binomial = _state.binomial
bytes = _state.bytes
chisquare = _state.chisquare
choice = _state.choice
dirichlet = _state.dirichlet
exponential = _state.exponential
f = _state.f
gamma = _state.gamma
geometric = _state.geometric
get_state = _state.get_state
gumbel = _state.gumbel
hypergeometric = _state.hypergeometric
laplace = _state.laplace
logistic = _state.logistic
lognormal = _state.lognormal
logseries = _state.logseries
multinomial = _state.multinomial
multivariate_normal = _state.multivariate_normal
negative_binomial = _state.negative_binomial
noncentral_chisquare = _state.noncentral_chisquare
noncentral_f = _state.noncentral_f
normal = _state.normal
pareto = _state.pareto
permutation = _state.permutation
poisson = _state.poisson
power = _state.power
rand = _state.rand
randint = _state.randint
randn = _state.randn
random = _state.random_sample
random_integers = _state.random_integers
random_sample = ranf = sample = _state.random_sample
rayleigh = _state.rayleigh
seed = _state.seed
set_state = _state.set_state
shuffle = _state.shuffle
standard_cauchy = _state.standard_cauchy
standard_exponential = _state.standard_exponential
standard_gamma = _state.standard_gamma
standard_normal = _state.standard_normal
standard_t = _state.standard_t
triangular = _state.triangular
uniform = _state.uniform
vonmises = _state.vonmises
wald = _state.wald
weibull = _state.weibull
zipf = _state.zipf


def get_random_state() -> RandomState:
    """Returns the state that this module's functions share.

    Returns
    -------
    RandomState

    See Also
    --------
    random.set_random_state, random.set_state, random.reset_states

    Examples
    --------
    >>> cp.random.get_random_state().rand(2).shape
    (2,)
    """
    return _state


def set_random_state(rs: RandomState) -> None:
    """Makes this module's functions draw from the same stream as `rs`.

    Parameters
    ----------
    rs : RandomState
        The state.

    Raises
    ------
    TypeError
        If `rs` is not a `RandomState`.

    See Also
    --------
    random.set_state, random.reset_states, random.get_random_state

    Examples
    --------
    >>> cp.random.set_random_state(cp.random.RandomState(5))
    >>> cp.random.rand(3).round(3)
    array([0.07 , 0.966, 0.156])
    """
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _state._bits = rs._bits


def get_bit_generator() -> BitGenerator:
    """Returns the bit generator of this module's functions.

    Returns
    -------
    BitGenerator

    See Also
    --------
    set_bit_generator, cuprous.random.Generator

    Examples
    --------
    >>> type(cp.random.get_bit_generator()).__name__
    'Philox4x3210'
    """
    return _state._bits


def set_bit_generator(bitgen: BitGenerator) -> None:
    """Makes this module's functions draw from that bit generator.

    Parameters
    ----------
    bitgen : BitGenerator
        The bit generator.

    Raises
    ------
    TypeError
        If it is not a Cuprous bit generator.

    See Also
    --------
    get_bit_generator, cuprous.random.Generator

    Examples
    --------
    >>> cp.random.set_bit_generator(cp.random.Philox4x3210(5))
    >>> cp.random.rand(3).round(3)
    array([0.07 , 0.966, 0.156])
    """
    if not isinstance(bitgen, BitGenerator):
        raise TypeError(f"bitgen must be a cuprous BitGenerator such as Philox4x3210, not {type(bitgen)}")
    _state._bits = bitgen


def reset_states() -> None:
    """Reseeds the shared state from the operating system.

    See Also
    --------
    random.get_random_state, random.set_random_state, random.set_state

    Examples
    --------
    >>> cp.random.reset_states()
    """
    _state.seed(None)


def __getattr__(name: str) -> Any:
    """Returns NumPy's `SeedSequence`, which seeds generators here, too. NumPy's bit generators raise with a hint."""
    if name == "SeedSequence":
        from numpy.random import SeedSequence

        return SeedSequence
    why = ": streams are counter-based here; use Philox4x3210 or default_rng" if name in _NUMPY_BIT_GENERATORS else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")


#: NumPy's bit generators, whose streams are not supported.
_NUMPY_BIT_GENERATORS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"})

__all__ = [
    "XORWOW", "BitGenerator", "Generator", "MRG32k3a", "Philox4x3210", "RandomState", "SeedSequence", "default_rng",
    "get_bit_generator", "get_random_state", "reset_states", "set_bit_generator", "set_random_state",
]  # fmt: skip
__all__ += [name for name, value in list(globals().items()) if getattr(value, "__self__", None) is _state]
