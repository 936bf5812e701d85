"""Checks that raise, and arithmetic on numbers that PyTorch's compiler may trace: here they are Python's own."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch._args import by_name
from cuprous.torch._storage import UntypedStorage


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def _assert_async(condition: Tensor, message: str = "") -> None:
    """Raises RuntimeError unless a tensor of one element is true. It is read at once."""
    if not bool(condition):
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _check_with(error: type[Exception], cond: Any, message: Callable[[], str] | None) -> None:
    if not cond:
        raise error("Expected cond to be True, but got False" if message is None else str(message()))


def _check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raises RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_value(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raises ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_index(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raises IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_type(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raises TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raises NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Tensor, message: Callable[[], str] | None = None) -> None:
    """Raises RuntimeError unless all elements of a tensor are true."""
    _check_with(RuntimeError, bool(cond.all()), message)


def _check_is_size(i: Any, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError unless a number is a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def sym_not(a: Any) -> bool:
    """Returns `not a`.

    Parameters
    ----------
    a : bool
        A bool.

    Returns
    -------
    bool

    See Also
    --------
    torch.sym_ite, torch.logical_not

    Examples
    --------
    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Returns `t` if `b`, otherwise `f`.

    Parameters
    ----------
    b : bool
        A bool.
    t : scalar
        The result for True.
    f : scalar
        The result for False.

    Returns
    -------
    callable
        One of the two.

    See Also
    --------
    torch.sym_not, torch.where

    Examples
    --------
    >>> torch.sym_ite(3 > 2, "more", "less")
    'more'
    """
    return t if b else f


def get_default_device() -> _types.device:
    """Returns the device of new tensors.

    Returns
    -------
    device

    See Also
    --------
    torch.set_default_dtype, torch.get_default_dtype, torch.set_default_tensor_type, torch.set_default_device

    Examples
    --------
    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _types.device("meta" if _types.is_meta_default() else _types.default_device())


def get_device_module(device: Any = None) -> Any:
    """Returns the module of a type of device: `torch.cuda` or `torch.cpu`.

    Parameters
    ----------
    device : device or str, optional
        A device or its name, by default the default device.

    Returns
    -------
    Module
        A module.

    Raises
    ------
    RuntimeError
        For other types.

    See Also
    --------
    torch.device, torch.cuda.is_available, torch.accelerator.current_accelerator

    Examples
    --------
    >>> torch.get_device_module("cpu").__name__
    'cuprous.torch.cpu'
    """
    kind = _types.device(device or _types.default_device()).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return importlib.import_module(f"cuprous.torch.{kind}")


def typename(obj: Any, /) -> str:
    """Returns the name of an object's type, with its module; of a tensor the legacy name.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    str

    See Also
    --------
    torch.numel, torch.set_printoptions

    Examples
    --------
    >>> torch.typename(torch.tensor(1.0))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = named.__module__ or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def is_storage(obj: Any, /) -> bool:
    """Returns True for the memory of a tensor.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_floating_point, torch.is_complex, torch.is_signed, torch.is_tensor

    Examples
    --------
    >>> torch.is_storage(torch.tensor([1.0]).untyped_storage())
    True
    """
    return isinstance(obj, UntypedStorage)


FUNCTIONS = by_name(
    _assert, _assert_async, _check_with, _check, _check_value, _check_index, _check_type, _check_not_implemented,
    _check_tensor_all, _check_is_size, sym_not, sym_ite, get_default_device, get_device_module, typename, is_storage,
) | {
    "sym_int": int, "sym_float": float, "sym_max": max, "sym_min": min, "sym_sum": sum, "sym_sqrt": math.sqrt,
}  # fmt: skip
