"""Lets functions of PyTorch accept DTensors: by their names in `_operators.FUNCTIONS`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from cuprous import torch
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed.tensor import _operators, _random
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.nn import functional, init


def _has_dtensor(values: Iterable[Any]) -> bool:
    return any(type(x) is DTensor or (type(x) in (list, tuple) and _has_dtensor(x)) for x in values)


def _dispatched(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    special = _operators.FUNCTIONS.get(name)

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not (_has_dtensor(args) or _has_dtensor(kwargs.values())):
            return plain(*args, **kwargs)
        if special is not None:
            return special(*args, **kwargs)
        raise NotImplementedError(
            f"[{name}] does not support DTensor; pass full_tensor(), or to_local() for this rank's part"
        )

    return function


def _install(space: ModuleType) -> None:
    for name, value in list(vars(space).items()):
        takes_tensors = inspect.isfunction(value) or inspect.isbuiltin(value)
        if takes_tensors and not name.startswith("_") and name not in _PLAIN:
            setattr(space, name, _dispatched(name, value))


#: Functions of tensors that do not depend on how they are distributed, and functions without tensors.
_PLAIN = frozenset(("is_tensor", "is_grad_enabled", "set_grad_enabled", "set_default_device", "set_printoptions",
                    "manual_seed", "save", "load", "get_default_dtype", "set_default_dtype"))  # fmt: skip


def install() -> None:
    """Wraps the functions of `torch`, `torch.linalg`, `torch.nn.functional` and `torch.nn.init`, once, when DTensors
    are imported. The functions of a process that does not import them cost what they did."""
    _operators.attach()
    for space in (torch, torch.linalg, functional):
        _install(space)
    for name, is_random in _random.INITIALIZERS.items():
        plain = getattr(init, name)
        setattr(init, name, _either(no_grad()(_random.filled(plain, is_random)), plain))


def _either(special: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of a tensor that is `special` for a DTensor."""

    @functools.wraps(plain)
    def function(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return (special if type(tensor) is DTensor else plain)(tensor, *args, **kwargs)

    return function
