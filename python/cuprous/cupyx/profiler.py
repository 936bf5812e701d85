"""`cupyx.profiler`: how long a function takes, and names for parts of a program in NVIDIA's tools."""

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
    """The times of `benchmark`, in seconds; `str()` of it is one line."""

    def __init__(self, name: str, ts: np.ndarray, devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray:
        """Of each call: until it returned."""
        return self._ts[0]

    @property
    def gpu_times(self) -> np.ndarray:
        """Of each device, a row, and each call: until the device was done."""
        return self._ts[1:]

    @staticmethod
    def _to_str_per_item(device_name: str, t: np.ndarray) -> str:
        us = t * 1e6
        text = f"    {device_name}:{us.mean():9.03f} us"
        if us.size > 1:
            text += f"   +/-{us.std():6.03f} (min:{us.min():9.03f} / max:{us.max():9.03f}) us"
        return text

    def to_str(self, show_gpu: bool = False) -> str:
        """One line, with the devices' times where they are asked for."""
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
    """Calls a function again and again, and notes how long the host and the device took each time.

    What a call returns is kept until the device is done, so that all of it is computed. Without a GPU there are no
    times of devices, and the host's time includes the computation.

    Args:
        func: what is timed, as `func(*args, **kwargs)`.
        n_repeat: how often.
        name: what the result calls it; its own name unless given.
        n_warmup: calls before, which are not timed.
        max_duration: seconds after which no other call is begun.
        devices: numbers of GPUs; the current one unless given.

    Raises:
        ValueError: an argument is of another type.
        NotImplementedError: for other GPUs than the first.
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
    """Names a part of a program for NVIDIA's tools: a `with`, or a decorator, which takes the function's name.

    Args:
        message: its name.
        color_id: one of ten colours.
        argb_color: any colour, 0xAARRGGBB.
        sync: waits for the device at the beginning and at the end.

    Raises:
        ValueError: both colours are given, or a `with` has no name.
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
    """A `with` that waits at both ends, so that a tool sees all that runs within and nothing else."""
    cuda.profile_start()
    try:
        yield
    finally:
        cuda.profile_stop()


__all__ = ["benchmark", "profile", "time_range"]
