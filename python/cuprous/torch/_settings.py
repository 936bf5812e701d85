"""Settings of the whole process, and `torch.compile`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous.torch import _determinism, backends

_state = {"precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for the same bits at each run. On the CPU that is so anyway; on a GPU, operations that add floats in no
    fixed order raise from then on (or warn): `scatter_add_`, `index_add_`, `index_put_(accumulate=True)`, `cumsum` and
    what is made of them. Which of several values written at one index remains is unspecified.
    """
    _determinism.state.update(deterministic=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """Whether they were asked for."""
    return _determinism.state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were asked for with warnings only."""
    return _determinism.state["warn_only"]


def set_float32_matmul_precision(precision: str) -> None:
    """Allows products of float32 to be computed with less precision; they are not."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"{precision!r} is not one of 'highest', 'high', or 'medium'")
    _state["precision"] = precision
    backends.cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """What was allowed."""
    return str(_state["precision"])


def get_num_threads() -> int:
    """How many threads compute on the CPU."""
    given = os.environ.get("RAYON_NUM_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(num: int) -> None:
    """How many threads compute on the CPU, from the first computation on.

    Raises:
        RuntimeError: when something was computed already, by another number of threads.
    """
    if not isinstance(num, int) or num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num == get_num_threads():
        return
    if _core.stats()["planned"]:
        raise RuntimeError(
            f"[set_num_threads] something was computed already, by {get_num_threads()} threads; call it first, or set "
            f"RAYON_NUM_THREADS={num} in the environment"
        )
    os.environ["RAYON_NUM_THREADS"] = str(num)


def get_num_interop_threads() -> int:
    """One: operations are recorded one after another."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Says how many may run at once, which here is one in any case."""
    if num <= 0:
        raise RuntimeError("Expected positive number of threads")


def set_flush_denormal(mode: bool) -> bool:
    """Whether that is done: it is not, so that both devices give the same."""
    return False


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
            mode: str | None = None, options: Any = None, disable: bool = False) -> Any:  # fmt: skip
    """The function or module itself: every program is recorded, fused and replayed without being asked to.

    All arguments say how PyTorch should compile, and mean nothing here.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is not None and not callable(model):
        raise RuntimeError(f"torch.compile needs a module or a function, not {type(model).__name__}")
    return (lambda function: function) if model is None else model


class compiler:
    """`torch.compiler`: what programs ask of a compiler."""

    @staticmethod
    def is_compiling() -> bool:
        """Never: Python runs each time."""
        return False

    is_dynamo_compiling = is_compiling

    @staticmethod
    def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
        """The function itself."""
        return (lambda function: function) if fn is None else fn

    allow_in_graph: Callable[[Any], Any] = staticmethod(lambda fn: fn)

    @staticmethod
    def reset() -> None:
        """Nothing is to be forgotten."""

    @staticmethod
    def cudagraph_mark_step_begin() -> None:
        """Nothing: steps are recognised."""


FUNCTIONS: dict[str, Any] = {
    f.__name__: f
    for f in (
        use_deterministic_algorithms, are_deterministic_algorithms_enabled,
        is_deterministic_algorithms_warn_only_enabled, set_float32_matmul_precision, get_float32_matmul_precision,
        get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads, set_flush_denormal,
        compile, compiler,
    )
}  # fmt: skip
