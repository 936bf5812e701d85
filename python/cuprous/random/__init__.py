"""Random numbers: `default_rng` and NumPy's older functions, over Philox4x32-10.

The stream of a seed is the same on the CPU and on the GPU, bit for bit, for uniforms, integers and normals. It is not
NumPy's stream. The functions of this module share one `RandomState`, seeded by the operating system until `seed` is
called.
"""

from __future__ import annotations

from cuprous.random._bits import BitGenerator, Philox4x3210
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
laplace = _state.laplace
logistic = _state.logistic
lognormal = _state.lognormal
logseries = _state.logseries
multinomial = _state.multinomial
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
wald = _state.wald
weibull = _state.weibull


def get_random_state() -> RandomState:
    """The state behind this module's functions."""
    return _state


def set_random_state(rs: RandomState) -> None:
    """Makes this module's functions draw from the same stream as `rs`.

    Raises:
        TypeError: if `rs` is no `RandomState`.
    """
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _state._bits = rs._bits


def reset_states() -> None:
    """Seeds the shared state anew from the operating system."""
    _state.seed(None)


__all__ = [
    "BitGenerator",
    "Generator",
    "Philox4x3210",
    "RandomState",
    "default_rng",
    "get_random_state",
    "reset_states",
    "set_random_state",
]
__all__ += [name for name, value in list(globals().items()) if getattr(value, "__self__", None) is _state]
