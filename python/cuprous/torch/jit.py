"""`torch.jit`: scripts and traces are the functions and modules themselves, which are recorded and fused anyway."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cuprous.torch import _placeholders
from cuprous.torch.futures import Future

T = TypeVar("T")


class TracerWarning(Warning):
    """The class of PyTorch's warnings while it traces. None is issued here."""


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """Returns the function, class or module itself. The arguments control PyTorch's compiler.

    Parameters
    ----------
    obj : object
        The function, class or module.
    optimize : bool or str, optional
        Has no effect.
    example_inputs : tuple of Tensors, optional
        Has no effect.

    Returns
    -------
    object
        The object.

    See Also
    --------
    torch.jit.trace, torch.jit.script_if_tracing, torch.compile

    Examples
    --------
    >>> torch.jit.script(torch.sin) is torch.sin
    True
    """
    return obj


def script_if_tracing(fn: T) -> T:
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
    torch.jit.script, torch.jit.trace

    Examples
    --------
    >>> torch.jit.script_if_tracing(torch.sin) is torch.sin
    True
    """
    return fn


def trace(func: T, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False,
          _module_class: Any = None, _compilation_unit: Any = None, example_kwarg_inputs: Any = None,
          _store_inputs: bool = True) -> T:  # fmt: skip
    """Returns the function or module itself. Unlike a trace it follows other branches for other inputs.

    Parameters
    ----------
    func : callable or Module
        The function or module.
    example_inputs : Tensor or tuple of Tensors, optional
        Has no effect.
    optimize : bool or str, optional
        Has no effect.
    check_trace : bool, default True
        Has no effect.
    check_inputs : object, optional
        Has no effect.
    check_tolerance : float, default 1e-05
        Has no effect.
    strict : bool, default True
        Has no effect.
    example_kwarg_inputs : object, optional
        Has no effect.

    Returns
    -------
    callable
        The function or module.

    See Also
    --------
    torch.jit.trace_module, torch.jit.script, torch.compile

    Examples
    --------
    >>> torch.jit.trace(torch.sin, torch.ones(2)) is torch.sin
    True
    """
    return func


def trace_module(mod: T, inputs: Any, **options: Any) -> T:
    """Returns the module itself.

    Parameters
    ----------
    mod : Module
        The module.
    inputs : dict
        Has no effect.
    **options : any
        Has no effect.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.jit.trace, torch.jit.script

    Examples
    --------
    >>> torch.jit.trace_module(nn.ReLU(), {"forward": torch.ones(2)})
    ReLU()
    """
    return mod


def is_scripting() -> bool:
    """Returns False: Python runs in every iteration.

    Returns
    -------
    bool

    See Also
    --------
    torch.jit.script, torch.jit.script_if_tracing

    Examples
    --------
    >>> torch.jit.is_scripting()
    False
    """
    return False


is_tracing = is_scripting


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Returns the function itself, as a decorator with or without brackets.

    Parameters
    ----------
    drop : callable or bool, default False
        The function, or has no effect.
    **kwargs : any
        Has no effect.

    Returns
    -------
    callable
        The function, or a decorator.

    See Also
    --------
    torch.jit.export, torch.jit.script

    Examples
    --------
    >>> torch.jit.ignore(torch.sin) is torch.sin
    True
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
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
    torch.jit.script, torch.jit.ignore

    Examples
    --------
    >>> torch.jit.unused(torch.sin) is torch.sin
    True
    """
    return fn


export = interface = _overload = _overload_method = unused


def annotate(the_type: Any, the_value: T) -> T:
    """Returns the value.

    Parameters
    ----------
    the_type : object
        Has no effect.
    the_value : object
        The value.

    Returns
    -------
    Tensor
        The value.

    See Also
    --------
    torch.jit.Attribute, torch.jit.isinstance

    Examples
    --------
    >>> torch.jit.annotate(int, 5)
    5
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Returns True if an object has a type, of whose parameters only containers are checked.

    Parameters
    ----------
    obj : object
        The object.
    target_type : type
        The type, such as `list[int]`.

    Returns
    -------
    bool

    See Also
    --------
    torch.jit.annotate, torch.jit.script

    Examples
    --------
    >>> torch.jit.isinstance([1, 2], list[int])
    True
    """
    return __builtins__["isinstance"](obj, getattr(target_type, "__origin__", None) or target_type)  # type: ignore[index]


def Attribute(value: T, type: Any = None) -> T:
    """Returns the value.

    Parameters
    ----------
    value : object
        The value.
    type : type, optional
        Has no effect.

    Returns
    -------
    Tensor
        The value.

    See Also
    --------
    torch.jit.annotate, torch.jit.script

    Examples
    --------
    >>> torch.jit.Attribute(5, int)
    5
    """
    return value


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Returns a context manager without effect.

    Parameters
    ----------
    should_optimize : bool
        Has no effect.

    Returns
    -------
    context manager

    See Also
    --------
    torch.jit.script, torch.jit.set_fusion_strategy

    Examples
    --------
    >>> with torch.jit.optimized_execution(False):
    ...     x = torch.ones(2)
    """
    yield


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls a function and returns its result as a future. Its operations are recorded like all others.

    Parameters
    ----------
    func : callable
        The function.
    *args : any
        Its arguments.
    **kwargs : any
        Its keyword arguments.

    Returns
    -------
    Future
        A future.

    See Also
    --------
    torch.jit.wait, torch.futures.Future

    Examples
    --------
    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
    tensor([2., 2.])
    """
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Returns the result of a future.

    Parameters
    ----------
    future : Future
        The future.

    Returns
    -------
    Tensor
        The result.

    See Also
    --------
    torch.jit.fork, torch.futures.Future

    Examples
    --------
    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
    tensor([2., 2.])
    """
    return future.wait()


def enable_onednn_fusion(enabled: bool) -> None:
    """Has no effect, because it controls PyTorch's compiler.

    Parameters
    ----------
    enabled : bool
        Has no effect.

    See Also
    --------
    torch.jit.onednn_fusion_enabled

    Examples
    --------
    >>> torch.jit.enable_onednn_fusion(True)
    """


def onednn_fusion_enabled() -> bool:
    """Returns False.

    Returns
    -------
    bool

    See Also
    --------
    torch.jit.enable_onednn_fusion

    Examples
    --------
    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return False


def set_fusion_strategy(strategy: Any) -> None:
    """Has no effect, because it controls PyTorch's compiler.

    Parameters
    ----------
    strategy : list of tuples
        Has no effect.

    See Also
    --------
    torch.jit.optimized_execution, torch.jit.enable_onednn_fusion

    Examples
    --------
    >>> torch.jit.set_fusion_strategy([("STATIC", 2)])
    """


class Error(RuntimeError):
    """The error of a script in PyTorch. It is never raised here.

    See Also
    --------
    torch.jit.script

    Examples
    --------
    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """


__path__: list[str] = []


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("jit", name)


__all__ = [
    "Attribute", "Error", "Final", "Future", "annotate", "enable_onednn_fusion", "export", "fork", "ignore",
    "interface",
    "is_scripting", "is_tracing", "isinstance", "onednn_fusion_enabled", "optimized_execution", "script",
    "script_if_tracing", "set_fusion_strategy", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
