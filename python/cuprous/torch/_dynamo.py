"""`torch._dynamo`: PyTorch's compiler, of which programs call a few functions. Everything is recorded here anyway."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn, TypeVar

from cuprous.torch import _placeholders, compiler

T = TypeVar("T")

is_compiling = compiler.is_compiling
disable = compiler.disable
reset = compiler.reset


def allow_in_graph(fn: T) -> T:
    """Returns the function itself."""
    return fn


assume_constant_result = disallow_in_graph = forbid_in_graph = nonstrict_trace = allow_in_graph


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Has no effect: addresses are parameters of programs."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Has no effect: extents are parameters of plans."""


maybe_mark_dynamic = mark_static = mark_dynamic


def graph_break(msg: str = "") -> None:
    """Has no effect: Python runs in every iteration."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Returns an empty list: no other compiler can be chosen."""
    return []


def optimize(*args: Any, **options: Any) -> Any:
    """Returns a decorator that returns the function itself."""
    return lambda fn: fn


class OptimizedModule:
    """What `torch.compile` returns for a module in PyTorch. Here it returns the module itself, so this has no instance.
    What `torch.compile` returns for a module in PyTorch. Here it returns the module itself, so this has no instance."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises TypeError."""
        raise TypeError("torch.compile returns the module itself; OptimizedModule has no instances")


class _Config(ModuleType):
    """Settings of PyTorch's compiler: they can be set and read, and have no effect."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


config = _Config("cuprous.torch._dynamo.config")
eval_frame = ModuleType("cuprous.torch._dynamo.eval_frame")
vars(eval_frame).update(OptimizedModule=OptimizedModule, is_dynamo_supported=lambda: False)
exc = ModuleType("cuprous.torch._dynamo.exc")
vars(exc).update(
    {name: type(name, (RuntimeError,), {}) for name in ("Unsupported", "TorchDynamoException", "UserError")}
)
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _placeholders.get("_dynamo", name)


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph",
    "forbid_in_graph", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static",
    "mark_static_address", "maybe_mark_dynamic", "optimize", "reset",
]  # fmt: skip
