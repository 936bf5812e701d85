"""Random number state with PyTorch's API. One generator serves all devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuprous.torch._random_numbers import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
             device_type: str = "cuda") -> Iterator[None]:  # fmt: skip
    """Returns a context manager that restores the random state at its end.

    Parameters
    ----------
    devices : sequence of ints, optional
        Has no effect: devices share the random state.
    enabled : bool, default True
        Whether it has an effect.
    device_type : str, default "cuda"
        Has no effect.

    Returns
    -------
    context manager

    See Also
    --------
    torch.get_rng_state, torch.set_rng_state, torch.manual_seed

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     a = torch.rand(2)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip
