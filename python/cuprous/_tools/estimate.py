"""Estimates of a function's run time on the CPU and on a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from typing import Any

from cuprous import _core
from cuprous._common.device import device_word
from cuprous._tools.estimate_result import Estimate, On, Program, SimpleEstimate, Step
from cuprous._tools.queries import as_function, is_query
from cuprous._tools.timing import disturbance, settled_runs

_hinted = False


def _arrays(value: Any) -> Iterable[Any]:
    """Yields the arrays and tensors in a function's result."""
    if isinstance(value, (_core.ndarray, _core.Tensor)):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _arrays(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)


def _sides(device: Any) -> tuple[str | None, str | None]:
    """Returns the names of the requested CPU and GPU."""
    names = [] if device is None else list(device) if isinstance(device, (list, tuple)) else [device]
    sides: list[str | None] = [None, None]
    for name in names:
        word = device_word(name)
        side = _core.device_side(word)
        if sides[side] is not None:
            kind = ("CPUs", "GPUs")[side]
            raise ValueError(f"[estimate] {word!r} and {sides[side]!r} are both {kind}; name one of each")
        sides[side] = word
    return sides[0], sides[1]


def estimate(
    fn: Callable[..., Any], *args: Any, device: Any = None, repeats: int = 1, measure: bool = False,
    kwargs: Mapping[str, Any] | None = None, pinned: bool = False, tf32: bool = False, startup: float = 0.0,
) -> Estimate:  # fmt: skip
    """Estimates the time of `fn(*args)` on the CPU and on a GPU, what bounds it, and when the GPU is faster.

    The function is called once, and what it records is planned and counted: operations, bytes between memory and chip,
    kernels, copies. Nothing is computed for it unless it reads values on the host itself (`float(x)`, `if x.any()`, an
    optimizer's step) or leaves something behind that others see; then the call has the effects of any other. What was
    recorded before stays as it is. Figures are those of `cuprous calibrate` where it was run, else of data sheets.

    Parameters
    ----------
    fn : callable
        A function of arrays or tensors; or a query of Polars, a `LazyFrame`, which `cuprous.frames` runs.
    *args : any
        Its positional arguments.
    device : str or Device, optional
        Where: this machine's "cpu" and "cuda" by default; a GPU or a CPU of `cuprous estimate --list`, such as "H200"
        or "EPYC 9654", or one of each.
    repeats : int, default 1
        How often it is to be done with the data staying where they are, 1 or more.
    measure : bool, default False
        Also measures the time on this machine, for comparison.
    kwargs : mapping, optional
        Keyword arguments of the function.
    pinned : bool, default False
        Copies are from pinned memory.
    tf32 : bool, default False
        float32 products on a listed GPU may be rounded to TF32.
    startup : float, default 0.0
        Seconds until the GPU can be used, if they should count.

    Returns
    -------
    Estimate
        An `Estimate`, which shows itself.

    Raises
    ------
    TypeError
        If `fn` is not callable, or calling it only makes a generator or a coroutine.
    NotImplementedError
        If a part of a query would run in Polars.
    ValueError
        For a device that is not listed or does not compute in float64 that `fn` needs, or a number out of range.
    RuntimeError
        For "cuda" on a machine without a usable GPU, or while another estimate is made, by `fn` itself or by another
        thread.

    See Also
    --------
    estimate_simple, estimate_scaling, explain, timeit

    Examples
    --------
    >>> a = cp.ones((1000, 1000))
    >>> cp.estimate(lambda x: x @ x + 1, a).flops
    2001000000.0
    """
    from numbers import Real

    if is_query(fn):
        if args or kwargs:
            raise TypeError("[estimate] a query has no arguments")
        fn = as_function(fn)
    if not callable(fn):
        raise TypeError(f"[estimate] the first argument is the function, not {type(fn).__name__}")
    for name, value in (("repeats", repeats), ("start-up", startup)):
        if not isinstance(value, Real):
            raise TypeError(f"[estimate] {name} is a number, not {type(value).__name__}")
    if not 1 <= repeats < float("inf"):
        raise ValueError(f"[estimate] repeats is {repeats}, and must be 1 or more")
    if not 0 <= startup < float("inf"):
        raise ValueError(f"[estimate] start-up is {startup}, and must be a number that is not negative")
    cpu_name, gpu_name = _sides(device)
    options = dict(kwargs or {})
    counting = _core.WorkCounter()
    try:
        result = fn(*args, **options)
        if isinstance(result, (Generator, Coroutine)):
            kind = "generator" if isinstance(result, Generator) else "coroutine"
            result.close()
            raise TypeError(f"[estimate] calling it only makes a {kind}: give a function that runs it to its end")
        found = list(_arrays(result))
        counting.count(found)
        homes = [x.device_name for x in (*_arrays(args), *_arrays(options), *found)]
        del result, found
    finally:
        counting.end()
    facts = counting.facts()
    home = homes[0] if homes else _core.get_device()
    cpu = _on(counting, cpu_name, False, tf32)
    gpu = None
    if gpu_name is not None or (device is None and _core.device_count()):
        gpu = _on(counting, gpu_name, True, tf32)
    programs = tuple(
        Program(int(nodes), tuple(Step(n, f, r, w, s) for (n, f, r, w, _), s in zip(steps, times, strict=True)))
        for (nodes, steps), times in zip(facts["programs"], (gpu or cpu)[1], strict=True)
    )
    more: dict[str, Any] = {"bound": cpu[0].bound}
    if gpu is not None:
        both = counting.compare(cpu_name, gpu_name, float(repeats), pinned, startup, tf32)
        more = {
            "total_cpu": both["cpu"], "total_gpu": both["gpu"], "copies": both["copies"], "speedup": both["speedup"],
            "speedup_range": both["range"], "bound": both["bound"], "break_even_size": both["break_even_size"],
            "break_even_repeats": both["break_even_repeats"], "sentence": both["sentence"],
        }  # fmt: skip
    if measure:
        runs = settled_runs(lambda: fn(*args, **options))
        more |= {"measured": runs[len(runs) // 4], "measured_on": home, "disturbed": disturbance(runs)}
    return Estimate(
        name=getattr(fn, "__name__", type(fn).__name__), flops=facts["flops"], bytes_read=facts["read"],
        bytes_written=facts["written"], launches=int(facts["launches"]), upload=facts["upload"],
        download=facts["download"], programs=programs, ran=facts["ran"], own_kernels=facts["kernels"],
        repeats=repeats, cpu=cpu[0], gpu=gpu[0] if gpu else None, notes=tuple(_notes(facts, cpu[0], gpu)), **more,
    )  # fmt: skip


def _on(counting: Any, name: str | None, gpu: bool, tf32: bool) -> tuple[On, Sequence[Sequence[float]]]:
    run = counting.on(name, gpu, tf32)
    return On(run["name"], run["seconds"], run["bound"], run["measured"], run["fits"]), run["steps"]


def _notes(facts: Mapping[str, Any], cpu: On, gpu: Any) -> Iterable[str]:
    global _hinted
    hint = _core.WorkCounter.hint()
    if hint is not None and not _hinted:
        _hinted = True
        warnings.warn(hint, stacklevel=3)
    if not facts["programs"] and not facts["kernels"]:
        yield (
            "it recorded no operation on this thread: NumPy computes NumPy's arrays (pass cuprous.asarray(x)), and "
            "work of other threads is not counted"
        )
    if facts["kernels"]:
        yield f"{facts['kernels']} kernels of your own were started; what they do is not counted"
    if not cpu.measured and cpu.name not in _core.profiles():
        yield "this machine has not been measured: `cuprous calibrate` makes estimates better"
    if gpu is not None and cpu.measured != gpu[0].measured:
        sides = (cpu.name, gpu[0].name) if cpu.measured else (gpu[0].name, cpu.name)
        yield f"{sides[0]} was measured and {sides[1]} is known from data sheets alone, so the speed-up is less certain"
    if gpu is not None and not gpu[0].fits:
        yield f"the data do not fit into the memory of {gpu[0].name}"


def _quantity(value: float | str, kind: str, name: str) -> float:
    """Converts a number in SI units, or text such as "400 GFLOPS", to a number."""
    from numbers import Real

    if isinstance(value, str):
        try:
            return _core.parse_quantity(value, kind)
        except ValueError as error:
            raise ValueError(f"[estimate_simple] {name}: {error}") from None
    if not isinstance(value, Real):
        raise TypeError(f"[estimate_simple] {name} must be a number or text with a unit, not {type(value).__name__}")
    return float(value)


def estimate_simple(
    flops: float | str, data: float | str = 0, *, cpu_rate: float | str | None = None,
    gpu_rate: float | str | None = None, bandwidth: float | str | None = None, startup: float | str | None = None,
    cpu: str | None = None, gpu: str | None = None,
) -> SimpleEstimate:  # fmt: skip
    """Estimates a speed-up by the simple formula, from a count of operations and bytes.

    The CPU takes `flops / cpu_rate`. The GPU takes `flops / gpu_rate + data / bandwidth + startup`. No hardware needs
    to be named if rates and bandwidth are given. `estimate` knows more: memory, launches, and what a function really
    does.

    Parameters
    ----------
    flops : float or str
        The number of operations, or a text with a unit, such as "10,000 GFLOP".
    data : float or str, default 0
        The number of bytes to copy to the GPU, or a text such as "1 GB".
    cpu_rate : float or str, optional
        Operations per second of the CPU, such as "400 GFLOPS"; by default the peak of `cpu`.
    gpu_rate : float or str, optional
        Operations per second of the GPU; by default the peak of `gpu`.
    bandwidth : float or str, optional
        Bytes per second to the GPU, such as "8 GB/s"; by default the line rate of the GPU's slot.
    startup : float or str, optional
        Seconds until the GPU can be used, such as "375 ms"; by default 0.4, or what `cuprous calibrate` measured.
    cpu : str, optional
        A CPU in the list of `cuprous estimate --list`; by default this machine's.
    gpu : str, optional
        A GPU in the list of `cuprous estimate --list`; by default this machine's.

    Returns
    -------
    SimpleEstimate
        A `SimpleEstimate`: the times, their parts, and the speed-up.

    Raises
    ------
    ValueError
        If a quantity is out of range or ambiguous, such as "400" or "1,5 GB", if the hardware is not in the list, and
        if it does not compute in float64 that is needed.

    See Also
    --------
    estimate

    Examples
    --------
    >>> got = cp.estimate_simple("10,000 GFLOP", "1 GB", cpu_rate="400 GFLOPS", gpu_rate="12.5 TFLOPS",
    ...                          bandwidth="8 GB/s", startup="375 ms")
    >>> got.cpu_seconds, got.gpu_seconds, round(got.speedup, 1)
    (25.0, 1.3, 19.2)
    """

    def optional(value: float | str | None, kind: str, name: str) -> float | None:
        return None if value is None else _quantity(value, kind, name)

    rates = [("rate", "cpu_rate", cpu_rate), ("rate", "gpu_rate", gpu_rate), ("bandwidth", "bandwidth", bandwidth)]
    answer = _core.estimate_simple(
        _quantity(flops, "operations", "flops"), _quantity(data, "bytes", "data"),
        [optional(value, kind, name) for kind, name, value in rates], optional(startup, "seconds", "startup"), cpu, gpu,
    )  # fmt: skip
    return SimpleEstimate(**answer)


__all__ = ["estimate", "estimate_simple"]
