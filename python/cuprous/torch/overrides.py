"""`torch.overrides`: operations on other types than tensors, which Cuprous does not pass on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cuprous._core import Tensor
from cuprous.torch import _placeholders


def is_tensor_like(inp: Any) -> bool:
    """Returns true for tensors, and for objects that define `__torch_function__`.

    Parameters
    ----------
    inp : object
        An object.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_tensor, torch.overrides.has_torch_function

    Examples
    --------
    >>> torch.overrides.is_tensor_like(torch.ones(2))
    True
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Returns true if an argument that is not a tensor defines `__torch_function__`.

    Parameters
    ----------
    relevant_args : iterable
        The arguments.

    Returns
    -------
    bool

    See Also
    --------
    torch.overrides.has_torch_function_unary, torch.overrides.has_torch_function_variadic,
    torch.overrides.handle_torch_function

    Examples
    --------
    >>> torch.overrides.has_torch_function([torch.ones(2)])
    False
    """
    return any(is_tensor_like(arg) and not isinstance(arg, Tensor) for arg in relevant_args)


def has_torch_function_unary(t: Any) -> bool:
    """Returns `has_torch_function` of one argument.

    Parameters
    ----------
    t : any
        The argument.

    Returns
    -------
    bool

    See Also
    --------
    torch.overrides.has_torch_function, torch.overrides.has_torch_function_variadic

    Examples
    --------
    >>> torch.overrides.has_torch_function_unary(torch.ones(2))
    False
    """
    return has_torch_function((t,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Returns `has_torch_function` of several arguments.

    Parameters
    ----------
    *args : any
        The arguments.

    Returns
    -------
    bool

    See Also
    --------
    torch.overrides.has_torch_function, torch.overrides.has_torch_function_unary

    Examples
    --------
    >>> torch.overrides.has_torch_function_variadic(torch.ones(2), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Calls `__torch_function__` of the first argument that defines it.

    Parameters
    ----------
    public_api : callable
        The function that was called.
    relevant_args : iterable
        The arguments that may define it.
    *args : any
        The arguments of the call.
    **kwargs : any
        Its keyword arguments.

    Returns
    -------
    Tensor
        The result.

    Raises
    ------
    TypeError
        If no argument defines it.

    See Also
    --------
    torch.overrides.has_torch_function

    Examples
    --------
    >>> class Logged:
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         return "logged"
    >>> torch.overrides.handle_torch_function(torch.sin, [Logged()], Logged())
    'logged'
    """
    owners = [arg for arg in relevant_args if has_torch_function((arg,))]
    for owner in owners:
        types = tuple({type(arg) for arg in owners})
        result = owner.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{public_api.__name__}'")


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Returns an empty set: results are not wrapped in subclasses.

    Returns
    -------
    set of callables
        A set.

    See Also
    --------
    torch.overrides.handle_torch_function, torch.overrides.has_torch_function

    Examples
    --------
    >>> torch.overrides.get_default_nowrap_functions()
    set()
    """
    return set()


TorchFunctionMode = _placeholders.unsupported_name("overrides.TorchFunctionMode", "functions cannot be intercepted")


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("overrides", name)


__all__ = [
    "TorchFunctionMode", "get_default_nowrap_functions", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
]  # fmt: skip
