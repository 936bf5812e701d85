"""`torch.cuda`: GPUs, their memory, streams and events. Programs that only query for a GPU run without one."""

import sys
from typing import Any

from cuprous._core import OutOfMemoryError
from cuprous.torch import _creation, _placeholders, _random_numbers, _types
from cuprous.torch.cuda import _device, _memory, _streams, amp, nvtx
from cuprous.torch.cuda._device import *  # noqa: F403
from cuprous.torch.cuda._memory import *  # noqa: F403
from cuprous.torch.cuda._streams import *  # noqa: F403
from cuprous.torch.random import initial_seed


def manual_seed(seed: int) -> None:
    """Seeds the random number generator, which all devices share.

    Parameters
    ----------
    seed : int
        An integer.

    See Also
    --------
    torch.cuda.seed, torch.cuda.get_rng_state, torch.cuda.set_rng_state, torch.cuda.get_rng_state_all,
    torch.cuda.set_rng_state_all

    Examples
    --------
    >>> torch.cuda.manual_seed(0)
    """
    _random_numbers.manual_seed(seed)


def seed() -> None:
    """Seeds the random number generator from the operating system's entropy.

    See Also
    --------
    torch.cuda.get_rng_state, torch.cuda.set_rng_state, torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all,
    torch.cuda.manual_seed

    Examples
    --------
    >>> torch.cuda.seed()
    """
    _random_numbers.seed()


manual_seed_all, seed_all = manual_seed, seed


def get_rng_state(device: object = "cuda") -> object:
    """Returns the state of the random number generator, which all devices share.

    Parameters
    ----------
    device : device, str or int, default "cuda"
        Has no effect, because all devices share the generator.

    Returns
    -------
    Tensor
        A uint8 tensor.

    See Also
    --------
    torch.cuda.set_rng_state, torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all, torch.cuda.manual_seed,
    torch.cuda.seed

    Examples
    --------
    >>> torch.equal(torch.cuda.get_rng_state(), torch.get_rng_state())
    True
    """
    return _random_numbers.get_rng_state()


def set_rng_state(new_state: object, device: object = "cuda") -> None:
    """Restores the state of the random number generator, which all devices share.

    Parameters
    ----------
    new_state : Tensor
        A state from `get_rng_state`.
    device : device, str or int, default "cuda"
        Has no effect, because all devices share the generator.

    See Also
    --------
    torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all, torch.cuda.manual_seed, torch.cuda.seed,
    torch.cuda.get_rng_state

    Examples
    --------
    >>> torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    _random_numbers.set_rng_state(new_state)  # type: ignore[arg-type]


def get_rng_state_all() -> list[object]:
    """Returns the state of the shared random number generator, once for each GPU.

    Returns
    -------
    list
        A list of uint8 tensors.

    See Also
    --------
    torch.cuda.set_rng_state_all, torch.cuda.manual_seed, torch.cuda.seed, torch.cuda.get_rng_state,
    torch.cuda.set_rng_state

    Examples
    --------
    >>> len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
    True
    """
    return [_random_numbers.get_rng_state() for _ in range(_device.device_count())]


def set_rng_state_all(new_states: list[object]) -> None:
    """Restores the first of the states, because devices share the random number generator.

    Parameters
    ----------
    new_states : list
        States from `get_rng_state_all`.

    See Also
    --------
    torch.cuda.manual_seed, torch.cuda.seed, torch.cuda.get_rng_state, torch.cuda.set_rng_state,
    torch.cuda.get_rng_state_all

    Examples
    --------
    >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    for state in new_states[:1]:
        set_rng_state(state)


def __getattr__(name: str) -> Any:
    if name == "default_generators":  # one generator for all devices
        return (_random_numbers.default_generator,) * _device.device_count()
    return _placeholders.get("cuda", name)


#: PyTorch's modules of these functions.
memory, streams, random = _memory, _streams, sys.modules[__name__]

for _name, _of in _types.LEGACY.items():
    globals()[f"{_name}Tensor"] = _creation.legacy(_of, "cuda")

__all__ = [
    *_device.__all__, *_memory.__all__, *_streams.__all__, "OutOfMemoryError", "amp", "get_rng_state",
    "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "nvtx", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip
