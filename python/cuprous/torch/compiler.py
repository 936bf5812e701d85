"""`torch.compiler`: functions that programs call around compilation."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, TypeVar

from cuprous.torch import _placeholders

T = TypeVar("T")


def is_compiling() -> bool:
    """Returns False: Python runs in every iteration.

    Returns
    -------
    bool

    See Also
    --------
    torch.compile, torch.compiler.disable, torch.compiler.reset, torch.compiler.list_backends

    Examples
    --------
    >>> torch.compiler.is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Returns the function itself.

    Parameters
    ----------
    fn : callable, optional
        The function; None for a decorator.
    recursive : bool, default True
        Has no effect.
    reason : str, optional
        Has no effect.

    Returns
    -------
    callable
        The function, or a decorator.

    See Also
    --------
    torch.compiler.reset, torch.compiler.list_backends, torch.compiler.is_compiling

    Examples
    --------
    >>> torch.compiler.disable(torch.sin) is torch.sin
    True
    """
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """Returns the function itself.

    Parameters
    ----------
    fn : callable
        The function.

    Returns
    -------
    callable

    See Also
    --------
    torch.compiler.disable, torch.compiler.substitute_in_graph, torch.compile

    Examples
    --------
    >>> torch.compiler.allow_in_graph(torch.sin) is torch.sin
    True
    """
    return fn


assume_constant_result = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False, is_embedded_type: bool = False) -> Any:  # fmt: skip
    """Returns a decorator that returns the function itself.

    Parameters
    ----------
    original_fn : callable
        Has no effect.
    can_constant_fold_through : bool, default False
        Has no effect.
    skip_signature_check : bool, default False
        Has no effect.
    is_embedded_type : bool, default False
        Has no effect.

    Returns
    -------
    callable
        A decorator.

    See Also
    --------
    torch.compiler.allow_in_graph, torch.compile

    Examples
    --------
    >>> torch.compiler.substitute_in_graph(abs)(torch.sin) is torch.sin
    True
    """
    return lambda function: function


def reset() -> None:
    """Has no effect, because there is no compiler state to reset.

    See Also
    --------
    torch.compiler.list_backends, torch.compiler.is_compiling, torch.compiler.disable

    Examples
    --------
    >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Has no effect, because repeated steps are recognized automatically.

    See Also
    --------
    torch.compile, torch.cuda.CUDAGraph

    Examples
    --------
    >>> torch.compiler.cudagraph_mark_step_begin()
    """


class _Stance(ContextDecorator):
    """A context manager without effect."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


def set_stance(stance: str = "default", **options: Any) -> Any:
    """Has no effect, because nothing is compiled ahead.

    Parameters
    ----------
    stance : str, default "default"
        Has no effect.
    **options : any
        Has no effect.

    Returns
    -------
    context manager
        A context manager and decorator without effect.

    See Also
    --------
    torch.compile, torch.compiler.reset

    Examples
    --------
    >>> with torch.compiler.set_stance("force_eager"):
    ...     x = torch.ones(2)
    """
    return _Stance()


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Returns an empty list: no other compiler can be chosen.

    Parameters
    ----------
    exclude_tags : sequence of str, optional
        Has no effect.

    Returns
    -------
    list of str
        A list.

    See Also
    --------
    torch.compiler.is_compiling, torch.compiler.disable, torch.compiler.reset

    Examples
    --------
    >>> torch.compiler.list_backends()
    []
    """
    return []


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("compiler", name)


__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset", "set_stance",
    "substitute_in_graph",
]  # fmt: skip
