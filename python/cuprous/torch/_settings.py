"""Process-wide settings, and `torch.compile`."""

from __future__ import annotations

import os
from typing import Any

from cuprous import _core
from cuprous.torch import _determinism, backends
from cuprous.torch._args import by_name

_precision = ["highest"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Requests the same bits in every run.

    The CPU always gives them. On a GPU, `scatter_add_`, `index_add_`, `index_put_(accumulate=True)` and functions that
    use them then sort what they add, which takes longer. Cumulative sums of floats and `scatter_reduce("prod")` have no
    deterministic implementation and raise an error or warn. If several values are written at one index, it is
    unspecified which remains.

    Parameters
    ----------
    mode : bool
        Whether deterministic algorithms are requested.
    warn_only : bool, default False
        Whether operations that have none warn instead of raising.

    Raises
    ------
    TypeError
        If an argument is not a bool.

    See Also
    --------
    torch.are_deterministic_algorithms_enabled, torch.is_deterministic_algorithms_warn_only_enabled,
    torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode

    Examples
    --------
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): {name} must be bool, not {type(value).__name__}")
    _determinism.state.update(deterministic=mode, warn_only=warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Returns True if deterministic algorithms are requested.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_deterministic_algorithms_warn_only_enabled, torch.get_deterministic_debug_mode,
    torch.set_deterministic_debug_mode, torch.use_deterministic_algorithms

    Examples
    --------
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _determinism.state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Returns True if deterministic algorithms are requested with warnings only.

    Returns
    -------
    bool

    See Also
    --------
    torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, torch.use_deterministic_algorithms,
    torch.are_deterministic_algorithms_enabled

    Examples
    --------
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _determinism.state["warn_only"]


def get_deterministic_debug_mode() -> int:
    """Returns 2 if deterministic algorithms are requested, 1 if with warnings only, otherwise 0.

    Returns
    -------
    int

    See Also
    --------
    torch.set_deterministic_debug_mode, torch.use_deterministic_algorithms,
    torch.are_deterministic_algorithms_enabled, torch.is_deterministic_algorithms_warn_only_enabled

    Examples
    --------
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not _determinism.state["deterministic"] else 1 if _determinism.state["warn_only"] else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Requests deterministic algorithms by a number or name.

    Parameters
    ----------
    debug_mode : int or str
        "default" or 0, "warn" or 1, "error" or 2.

    Raises
    ------
    RuntimeError
        For another value.

    See Also
    --------
    torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled,
    torch.is_deterministic_algorithms_warn_only_enabled, torch.get_deterministic_debug_mode

    Examples
    --------
    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    True
    >>> torch.set_deterministic_debug_mode("default")
    """
    names = ("default", "warn", "error")
    level = names.index(debug_mode) if debug_mode in names else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1 or 2, but got {debug_mode}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def set_float32_matmul_precision(precision: str) -> None:
    """Allows lower precision in float32 matrix products. It is stored, but products are always computed in float32.

    Parameters
    ----------
    precision : {"highest", "high", "medium"}
        "highest", "high" or "medium".

    See Also
    --------
    torch.get_float32_matmul_precision

    Examples
    --------
    >>> torch.set_float32_matmul_precision("high")
    >>> torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"{precision!r} is not one of 'highest', 'high', or 'medium'")
    _precision[0] = precision
    backends.cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """Returns the precision that was allowed.

    Returns
    -------
    str
        "highest", "high" or "medium".

    See Also
    --------
    torch.set_float32_matmul_precision

    Examples
    --------
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _precision[0]


def get_num_threads() -> int:
    """Returns the number of threads that compute on the CPU.

    Returns
    -------
    int

    See Also
    --------
    torch.set_num_threads, torch.get_num_interop_threads, torch.set_num_interop_threads

    Examples
    --------
    >>> torch.get_num_threads() >= 1
    True
    """
    given = os.environ.get("RAYON_NUM_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(num: int) -> None:
    """Sets the number of threads that compute on the CPU. It must be called before the first computation.

    Parameters
    ----------
    num : int
        The number of threads.

    Raises
    ------
    RuntimeError
        If something was already computed with another number of threads.

    See Also
    --------
    torch.get_num_interop_threads, torch.set_num_interop_threads, torch.get_num_threads

    Examples
    --------
    >>> torch.set_num_threads(torch.get_num_threads())
    """
    if not isinstance(num, int) or num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num == get_num_threads():
        return
    if _core.stats()["planned"]:
        raise RuntimeError(
            f"[set_num_threads] the engine already runs with {get_num_threads()} threads; call it before the first "
            f"computation, or set RAYON_NUM_THREADS={num} in the environment"
        )
    os.environ["RAYON_NUM_THREADS"] = str(num)


def get_num_interop_threads() -> int:
    """Returns 1: operations are recorded one after another.

    Returns
    -------
    int

    See Also
    --------
    torch.set_num_interop_threads, torch.get_num_threads, torch.set_num_threads

    Examples
    --------
    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Has no effect: operations are recorded one after another.

    Parameters
    ----------
    num : int
        The number of threads.

    See Also
    --------
    torch.get_num_threads, torch.set_num_threads, torch.get_num_interop_threads

    Examples
    --------
    >>> torch.set_num_interop_threads(2)
    """
    if num <= 0:
        raise RuntimeError("Expected positive number of threads")


def set_flush_denormal(mode: bool) -> bool:
    """Returns False: denormals are never flushed, so that both devices give the same results.

    Parameters
    ----------
    mode : bool
        Whether denormals are to be flushed.

    Returns
    -------
    bool

    See Also
    --------
    torch.finfo, torch.set_default_dtype

    Examples
    --------
    >>> torch.set_flush_denormal(True)
    False
    """
    return False


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
            mode: str | None = None, options: Any = None, disable: bool = False) -> Any:  # fmt: skip
    """Returns the function or module itself: every program is recorded, fused and replayed anyway.

    The options control PyTorch's compiler and have no effect here.

    Parameters
    ----------
    model : callable, optional
        A function or module; None for a decorator.
    fullgraph : bool, default False
        Has no effect.
    dynamic : bool, optional
        Has no effect.
    backend : str, default "inductor"
        Has no effect.
    mode : str, optional
        Has no effect.
    options : dict, optional
        Has no effect.
    disable : bool, default False
        Has no effect.

    Returns
    -------
    callable
        The function or module; without one, a decorator.

    See Also
    --------
    torch.compiler.is_compiling

    Examples
    --------
    >>> square = torch.compile(lambda x: x * x)
    >>> square(torch.tensor(3.0))
    tensor(9.)
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is not None and not callable(model):
        raise RuntimeError(f"torch.compile needs a module or a function, not {type(model).__name__}")
    return (lambda function: function) if model is None else model


FUNCTIONS = by_name(
    use_deterministic_algorithms, are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    get_deterministic_debug_mode, set_deterministic_debug_mode,
    set_float32_matmul_precision, get_float32_matmul_precision, get_num_threads, set_num_threads,
    get_num_interop_threads, set_num_interop_threads, set_flush_denormal, compile
)  # fmt: skip
