"""`cupyx.profiler`: benchmarks of functions, and named ranges for NVIDIA's profilers."""

from __future__ import annotations

import functools
import math
import numbers
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from cuprous import _core, cuda
from cuprous.cuda import nvtx


class _PerfCaseResult:
    """The times measured by `benchmark`, in seconds; `str()` formats them on one line."""

    def __init__(self, name: str, ts: np.ndarray, devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray:
        """The host's time of each call, until it returned."""
        return self._ts[0]

    @property
    def gpu_times(self) -> np.ndarray:
        """The device's time of each call, until its work was done; one row for each device."""
        return self._ts[1:]

    @staticmethod
    def _to_str_per_item(device_name: str, t: np.ndarray) -> str:
        us = t * 1e6
        text = f"    {device_name}:{us.mean():9.03f} us"
        if us.size > 1:
            text += f"   +/-{us.std():6.03f} (min:{us.min():9.03f} / max:{us.max():9.03f}) us"
        return text

    def to_str(self, show_gpu: bool = False) -> str:
        """Formats the times on one line, including the devices' times if `show_gpu`."""
        results = [self._to_str_per_item("CPU", self.cpu_times)]
        if show_gpu:
            rows = zip(self._devices, self.gpu_times, strict=True)
            results += [self._to_str_per_item(f"GPU-{device}", t) for device, t in rows]
        return f"{self.name:<20s}:{' '.join(results)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)


def benchmark(func: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] = MappingProxyType({}),
              n_repeat: int = 10000, *, name: str | None = None, n_warmup: int = 10, max_duration: float = math.inf,
              devices: tuple[int, ...] | None = None) -> _PerfCaseResult:  # fmt: skip
    """Calls a function repeatedly and measures the time of each call on the host and on the device.

    Each result is kept until the device has finished, so that all of it is computed. Without a GPU, device times are
    absent and host times include the computation.

    Parameters
    ----------
    func : callable
        The function to time, called as `func(*args, **kwargs)`.
    n_repeat : int, default 10000
        The number of timed calls.
    name : str, optional
        The name in the result; the function's own name by default.
    n_warmup : int, default 10
        The number of calls before the timed ones.
    max_duration : float, optional
        The time in seconds after which no further call starts.
    devices : tuple of ints, optional
        The GPU numbers; the current GPU by default.

    Raises
    ------
    ValueError
        For arguments of a wrong type.
    NotImplementedError
        For GPUs other than the first.

    See Also
    --------
    cupyx.profiler.time_range, timeit

    Examples
    --------
    >>> times = profiler.benchmark(cp.sin, (cp.ones(100),), n_repeat=3)
    >>> times.cpu_times.shape
    (3,)
    """
    if not callable(func):
        raise ValueError("[benchmark] func must be callable")
    for what, value, kind in (
        ("args", args, tuple), ("kwargs", kwargs, Mapping), ("n_repeat", n_repeat, int), ("n_warmup", n_warmup, int),
        ("max_duration", max_duration, numbers.Real), ("name", name, (str, type(None))),
        ("devices", devices, (tuple, type(None))),
    ):  # fmt: skip
        if not isinstance(value, kind):
            raise ValueError(f"[benchmark] {what} is of type {type(value).__name__}")
    if n_repeat < 1:
        raise ValueError(f"[benchmark] n_repeat is {n_repeat}, and must be 1 or more")
    if devices is None:
        devices = (0,) if cuda.is_available() else ()
    if any(device != 0 for device in devices):
        raise NotImplementedError(f"[benchmark] devices={devices}: only GPU 0 is timed")
    name = getattr(func, "__name__", type(func).__name__) if name is None else name
    for _ in range(n_warmup):
        func(*args, **kwargs)
    _core.synchronize()
    spent = 0.0
    host: list[float] = []
    gpu: list[list[float]] = []
    while len(host) < n_repeat and spent <= max_duration:
        marks = [(cuda.Event(), cuda.Event()) for _ in devices]
        for first, _ in marks:
            first.record()
        start = time.perf_counter()
        kept = func(*args, **kwargs)
        if not devices:
            _core.synchronize()
        host.append(time.perf_counter() - start)
        for _, last in marks:
            last.record()
        _core.synchronize()
        gpu.append([cuda.get_elapsed_time(first, last) * 1e-3 for first, last in marks])
        del kept
        spent += time.perf_counter() - start
    ts = np.concatenate([np.array([host]), np.array(gpu).reshape(len(host), len(devices)).T])
    return _PerfCaseResult(name, ts, devices)


class time_range:
    """Names a range for NVIDIA's profilers. Usable as a context manager, or as a decorator that uses the function's
    name.

    Parameters
    ----------
    message : str, optional
        The range's name.
    color_id : int, optional
        The number of one of ten colors.
    argb_color : int, optional
        Any color, as 0xAARRGGBB.
    sync : bool, default False
        Whether to wait for the device at both ends.

    Raises
    ------
    ValueError
        If both colors are passed, or a context manager has no name.

    See Also
    --------
    cupyx.profiler.profile, cupyx.profiler.benchmark

    Examples
    --------
    >>> with profiler.time_range("sum"):
    ...     y = cp.ones(3).sum()
    """

    def __init__(self, message: str | None = None, color_id: int | None = None, argb_color: int | None = None,
                 sync: bool = False) -> None:  # fmt: skip
        if color_id is not None and argb_color is not None:
            raise ValueError("[time_range] only one of color_id and argb_color can be given")
        self.message, self.argb_color, self.sync = message, argb_color, sync
        self.color_id = -1 if color_id is None else color_id

    def __enter__(self) -> time_range:
        if self.message is None:
            raise ValueError("[time_range] a with statement needs a message")
        if self.sync:
            _core.synchronize()
        if self.argb_color is not None:
            nvtx.RangePushC(self.message, self.argb_color)
        else:
            nvtx.RangePush(self.message, self.color_id)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.sync:
            _core.synchronize()
        nvtx.RangePop()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            if self.message is None:
                self.message = func.__name__
            with self:
                return func(*args, **kwargs)

        return inner


@contextmanager
def profile() -> Iterator[None]:
    """Waits for the device at both ends of a block, so that a profiler sees exactly the work within.

    See Also
    --------
    cupyx.profiler.time_range, cupyx.profiler.benchmark

    Examples
    --------
    >>> with profiler.profile():
    ...     y = cp.ones(3) + 1
    """
    cuda.profile_start()
    try:
        yield
    finally:
        cuda.profile_stop()


__all__ = ["benchmark", "profile", "time_range"]
