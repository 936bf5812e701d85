"""`torch.jit`: scripts and traces are the functions and modules themselves, which are recorded and fused anyway."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from cuprous.torch import _placeholders
from cuprous.torch.futures import Future

T = TypeVar("T")


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """Returns the function, class or module itself. The arguments control PyTorch's compiler."""
    return obj


def script_if_tracing(fn: T) -> T:
    """Returns the function itself."""
    return fn


def trace(func: T, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False,
          _module_class: Any = None, _compilation_unit: Any = None, example_kwarg_inputs: Any = None,
          _store_inputs: bool = True) -> T:  # fmt: skip
    """Returns the function or module itself. Unlike a trace it follows other branches for other inputs."""
    return func


def trace_module(mod: T, inputs: Any, **options: Any) -> T:
    """Returns the module itself."""
    return mod


def is_scripting() -> bool:
    """Returns False: Python runs in every iteration."""
    return False


is_tracing = is_scripting


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Returns the function itself, as a decorator with or without brackets."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """Returns the function itself."""
    return fn


export = interface = _overload = _overload_method = unused


def annotate(the_type: Any, the_value: T) -> T:
    """Returns the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Returns True if an object has a type, of whose parameters only containers are checked."""
    return __builtins__["isinstance"](obj, getattr(target_type, "__origin__", None) or target_type)  # type: ignore[index]


def Attribute(value: T, type: Any = None) -> T:
    """Returns the value."""
    return value


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Has no effect: the argument controls PyTorch's compiler."""
    yield


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls a function and returns its result as a future. Its operations are recorded like all others."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Returns the result of a future."""
    return future.wait()


def enable_onednn_fusion(enabled: bool) -> None:
    """Has no effect: it controls PyTorch's compiler."""


def onednn_fusion_enabled() -> bool:
    """Returns False."""
    return False


def set_fusion_strategy(strategy: Any) -> None:
    """Has no effect: it controls PyTorch's compiler."""


class Error(RuntimeError):
    """An error in a script."""


__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _placeholders.get("jit", name)


__all__ = [
    "Attribute", "Error", "Final", "Future", "annotate", "enable_onednn_fusion", "export", "fork", "ignore",
    "interface",
    "is_scripting", "is_tracing", "isinstance", "onednn_fusion_enabled", "optimized_execution", "script",
    "script_if_tracing", "set_fusion_strategy", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
