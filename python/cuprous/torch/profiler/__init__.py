"""`torch.profiler`, based on `cuprous.profile`: the duration of parts of a program that `record_function` names.

The start and end of a part submit the recorded operations, so that its work is separate. Nothing is fused across them
while a profile runs; without a profile they have no effect on fusion. Times by source line are in `prof.profile`.
"""

from __future__ import annotations

import enum
import functools
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._tools.profile import profile as cuprous_profile
from cuprous.torch._args import unsupported


class ProfilerActivity(enum.Enum):
    """A device whose time is measured: CPU or CUDA.

    See Also
    --------
    torch.profiler.profile, torch.profiler.supported_activities

    Examples
    --------
    >>> torch.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What the profiler does in a step.

    See Also
    --------
    torch.profiler.schedule, torch.profiler.profile

    Examples
    --------
    >>> torch.profiler.ProfilerAction.RECORD.name
    'RECORD'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class _Span(NamedTuple):
    """One execution of a named part. Times are in seconds from the start of the profile."""

    name: str
    begin: float
    end: float
    device: float


class _Row:
    """All spans with one name. Times are in microseconds."""

    def __init__(self, key: str, spans: list[_Span]) -> None:
        self.key, self.count = key, len(spans)
        self.cpu_time_total = sum(s.end - s.begin for s in spans) * 1e6
        self.device_time_total = sum(s.device for s in spans) * 1e6
        self.cpu_time, self.device_time = self.cpu_time_total / self.count, self.device_time_total / self.count
        self.cuda_time_total, self.cuda_time = self.device_time_total, self.device_time


class _Rows(list[_Row]):
    """The rows of a profile."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Returns the rows as a table, sorted by `sort_by` in descending order."""
        if any(value is not None and value is not False for value in options.values()):
            raise NotImplementedError(f"[table] {', '.join(options)} are not supported")
        rows = self[:]
        if sort_by is not None:
            name = sort_by.removeprefix("self_")
            if rows and not hasattr(rows[0], name):
                raise ValueError(f"sort_by={sort_by!r} is not a column")
            rows.sort(key=lambda row: -getattr(row, name))
        heads = ("Name", "CPU total", "CPU avg", "Device total", "Device avg", "# of Calls")
        cells = [(r.key, _shown(r.cpu_time_total), _shown(r.cpu_time), _shown(r.device_time_total),
                  _shown(r.device_time), str(r.count)) for r in rows[:row_limit]]  # fmt: skip
        widths = [max(len(row[k]) for row in (heads, *cells)) for k in range(len(heads))]
        line = "  ".join("-" * w for w in widths)
        text = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in (heads, *cells)]
        return "\n".join([line, text[0], line, *text[1:], line])


def _shown(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class record_function:
    """A context manager and decorator that names a part of a program. NVIDIA's tools show it as a range too.

    Parameters
    ----------
    name : str
        The name.
    args : str, optional
        For PyTorch's signature; only None.

    See Also
    --------
    torch.profiler.schedule, torch.profiler.tensorboard_trace_handler, torch.profiler.profile

    Examples
    --------
    >>> with torch.profiler.profile() as profile:
    ...     with torch.profiler.record_function("step"):
    ...         x = torch.ones(2) + 1
    >>> [row.key for row in profile.key_averages()]
    ['step', 'ProfilerStep*']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        unsupported("record_function", args=(args, None))
        self.name = name

    def __enter__(self) -> record_function:
        self._start = _mark() if _core.is_profiling() else None
        self._range = _core.nvtx_push(self.name)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._start is not None and _core.is_profiling():
            _core.flush()
            _core.profile_part(self.name, self._start)
        if self._range is not None:
            _core.nvtx_pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return inside


def _mark() -> int:
    _core.flush()
    return _core.profile_now()


def kineto_available() -> bool:
    """Returns False, because the profiler is Cuprous's own.

    Returns
    -------
    bool

    See Also
    --------
    torch.profiler.supported_activities

    Examples
    --------
    >>> torch.profiler.kineto_available()
    False
    """
    return False


def supported_activities() -> set[ProfilerActivity]:
    """Returns the devices whose time is measured.

    Returns
    -------
    set of ProfilerActivity
        A set of `ProfilerActivity`.

    See Also
    --------
    torch.profiler.ProfilerActivity, torch.profiler.kineto_available

    Examples
    --------
    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    return set(ProfilerActivity)


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """Returns a schedule of cycles of steps.

    Parameters
    ----------
    wait : int
        The number of idle steps of a cycle.
    warmup : int
        The number of steps that are discarded then.
    active : int
        The number of steps that are recorded then.
    repeat : int, default 0
        The number of cycles; 0 for no limit.
    skip_first : int, default 0
        The number of steps before the first cycle.
    skip_first_wait : int, default 0
        Whether the first cycle has no idle steps.

    Returns
    -------
    callable
        A function of a step's number.

    Raises
    ------
    AssertionError
        For negative numbers, or if no step is active.

    See Also
    --------
    torch.profiler.tensorboard_trace_handler, torch.profiler.profile, torch.profiler.record_function

    Examples
    --------
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step: int) -> ProfilerAction:
        length = wait + warmup + active
        step -= skip_first
        if skip_first_wait and step >= 0:
            step += wait
        if step < 0 or (repeat > 0 and step >= repeat * length):
            return ProfilerAction.NONE
        position = step % length
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if position == length - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None,
                              use_gzip: bool = False) -> Callable[[profile], None]:  # fmt: skip
    """Returns a function for `on_trace_ready` that writes each trace into a folder.

    Parameters
    ----------
    dir_name : str
        The folder.
    worker_name : str, optional
        The name of the files, by default that of the machine and the process.
    use_gzip : bool, default False
        For PyTorch's signature; only False.

    Returns
    -------
    callable
        A function of a profile.

    Raises
    ------
    NotImplementedError
        For `use_gzip=True`.

    See Also
    --------
    torch.profiler.profile, torch.profiler.record_function, torch.profiler.schedule

    Examples
    --------
    >>> import tempfile
    >>> handler = torch.profiler.tensorboard_trace_handler(tempfile.mkdtemp())
    """
    if use_gzip:
        raise NotImplementedError("[tensorboard_trace_handler] use_gzip=True is not supported")

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """A context manager that measures all `record_function` parts within it, and the steps between calls of `step()`.

    Parameters
    ----------
    activities : iterable of ProfilerActivity, optional
        For PyTorch's signature; it has no effect: the time of all devices is measured.
    schedule : callable, optional
        Which steps are recorded, from `schedule`; by default all.
    on_trace_ready : callable, optional
        A function that is called with the profile after each recording.
    record_shapes : bool, default False
        For PyTorch's signature; only False.
    profile_memory : bool, default False
        For PyTorch's signature; only False.
    with_stack : bool, default False
        For PyTorch's signature; only False.
    with_flops : bool, default False
        For PyTorch's signature; only False.
    with_modules : bool, default False
        For PyTorch's signature; only False.
    experimental_config : object, optional
        For PyTorch's signature; only None.
    acc_events : bool, default False
        For PyTorch's signature; only False.
    use_cuda : bool, optional
        For PyTorch's signature; it has no effect.

    Raises
    ------
    NotImplementedError
        For shapes, memory, stacks, operation counts and modules, which are not recorded, and for
    events of several recordings together.

    See Also
    --------
    torch.profiler.record_function, torch.profiler.schedule, torch.profiler.tensorboard_trace_handler

    Examples
    --------
    >>> with torch.profiler.profile() as profile:
    ...     with torch.profiler.record_function("step"):
    ...         x = torch.ones(2) + 1
    >>> [row.key for row in profile.key_averages()]
    ['step', 'ProfilerStep*']
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Any = None,
                 on_trace_ready: Callable[[Any], Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: Any = None, acc_events: bool = False,
                 use_cuda: bool | None = None) -> None:  # fmt: skip
        unsupported("profile", record_shapes=(record_shapes, False), profile_memory=(profile_memory, False),
                    with_stack=(with_stack, False), with_flops=(with_flops, False), with_modules=(with_modules, False),
                    experimental_config=(experimental_config, None), acc_events=(acc_events, False))  # fmt: skip
        self._action = (lambda step: ProfilerAction.RECORD) if schedule is None else schedule
        self._on_trace_ready = on_trace_ready
        self._saved: list[_Span] = []
        self.step_num = 0
        self._step_start: int | None = None
        self._recording: cuprous_profile | None = None
        #: The complete last recording, by source line: a `cuprous.profile`.
        self.profile: cuprous_profile | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the profile.

        Raises
        ------
        RuntimeError
            If a profile is already running.

        Examples
        --------
        >>> profile = torch.profiler.profile()
        >>> profile.start()
        >>> profile.stop()
        """
        self._begin()

    def _begin(self) -> None:
        on = self._action(self.step_num) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if on and self._recording is None:
            self._recording = cuprous_profile()
            self._recording.start()
        self._step_start = _mark() if on else None

    def _finish(self) -> None:
        if self._step_start is not None:
            _core.flush()
            _core.profile_part(f"ProfilerStep#{self.step_num}", self._step_start)
            self._step_start = None

    def step(self) -> None:
        """Ends the current step.

        Examples
        --------
        >>> with torch.profiler.profile() as profile:
        ...     for _ in range(2):
        ...         x = torch.ones(2) + 1
        ...         profile.step()
        """
        self._finish()
        if self._action(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self._save()
        self.step_num += 1
        self._begin()

    def stop(self) -> None:
        """Ends the profile.

        Examples
        --------
        >>> profile = torch.profiler.profile()
        >>> profile.start()
        >>> profile.stop()
        """
        self._finish()
        self._save()

    def _save(self) -> None:
        if self._recording is None:
            return
        recorded, self._recording = self._recording, None
        recorded.stop()
        self.profile = recorded
        spans = [_Span(name, begin, begin + length, device) for name, begin, length, device in recorded.spans]
        self._saved = sorted(spans, key=lambda span: span.end)
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def events(self) -> list[_Span]:
        """Returns the measured parts of the last recording, in order.

        Returns
        -------
        list
            A list of objects with `name` and times.

        Examples
        --------
        >>> with torch.profiler.profile() as profile:
        ...     with torch.profiler.record_function("step"):
        ...         x = torch.ones(2) + 1
        >>> [event.name for event in profile.events()]
        ['step', 'ProfilerStep#0']
        """
        return self._saved

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> _Rows:
        """Returns sums and means for each name. All steps count as one name.

        Parameters
        ----------
        group_by_input_shape : bool, default False
            For PyTorch's signature; only False.
        group_by_stack_n : int, default 0
            For PyTorch's signature; only 0.

        Returns
        -------
        Rows
            Rows with a method `table()`.

        Raises
        ------
        NotImplementedError
            For groups by shapes or stacks, which are not recorded.

        Examples
        --------
        >>> with torch.profiler.profile() as profile:
        ...     with torch.profiler.record_function("step"):
        ...         x = torch.ones(2) + 1
        >>> [row.key for row in profile.key_averages()]
        ['step', 'ProfilerStep*']
        """
        if group_by_input_shape or group_by_stack_n:
            raise NotImplementedError("[key_averages] grouping by shapes and stacks is not supported")
        groups: dict[str, list[_Span]] = {}
        for span in self._saved:
            groups.setdefault("ProfilerStep*" if span.name.startswith("ProfilerStep#") else span.name, []).append(span)
        return _Rows(_Row(name, spans) for name, spans in groups.items())

    def export_chrome_trace(self, path: str) -> None:
        """Writes the last recording as JSON, for chrome://tracing, ui.perfetto.dev and `cuprous serve`.

        Parameters
        ----------
        path : str
            The path.

        Raises
        ------
        RuntimeError
            If nothing has been recorded yet.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with torch.profiler.profile() as profile:
        ...     x = torch.ones(2) + 1
        >>> profile.export_chrome_trace(str(pathlib.Path(tempfile.mkdtemp()) / "trace.json"))
        """
        if self.profile is None:
            raise RuntimeError("[export_chrome_trace] nothing has been recorded yet")
        self.profile.save(path)


__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
