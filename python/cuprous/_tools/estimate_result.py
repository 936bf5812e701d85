"""The answer of `estimate`, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cuprous import _core
from cuprous._common import markup
from cuprous._tools import pictures
from cuprous._tools.charts import times


@dataclass(frozen=True)
class Step:
    """A kernel or a routine of a program."""

    name: str
    """Its functions, or the routine."""
    flops: float
    """Operations; a function such as exp counts as the twenty or so that it takes."""
    bytes_read: float
    """Bytes from memory."""
    bytes_written: float
    """Bytes to memory."""
    seconds: float
    """Estimated, on the GPU where there is one, else on the CPU."""


@dataclass(frozen=True)
class Program:
    """What was recorded between two points at which a value was needed."""

    operations: int
    """Recorded operations."""
    steps: tuple[Step, ...]
    """What they became."""


@dataclass(frozen=True)
class On:
    """One run on one device, with the data there."""

    name: str
    """The device."""
    seconds: float
    """Estimated time."""
    bound: str
    """What most of it goes to: "compute", "memory" or "launches"."""
    measured: bool
    """The device's rates were measured on this machine by `cuprous calibrate`; else they are of data sheets."""
    fits: bool
    """The data fit into its memory."""


@dataclass(frozen=True)
class Estimate:
    """What a function takes: see `estimate`."""

    name: str
    """The function."""
    flops: float
    """Operations of one run; a function such as exp counts as the twenty or so that it takes."""
    bytes_read: float
    """Bytes from memory."""
    bytes_written: float
    """Bytes to memory."""
    launches: int
    """Kernels and routines that a GPU starts."""
    upload: float
    """Bytes of what the function was given."""
    download: float
    """Bytes of what it gave back, or read on the host."""
    programs: tuple[Program, ...]
    """Its programs, in order."""
    ran: int
    """Programs that had to run because something needed their values: the effects are those of a call."""
    own_kernels: int
    """Kernels of yours that it started: what they do is not known and not counted."""
    repeats: int
    """Runs on the same data that the comparison is made for."""
    cpu: On
    """On the CPU: this machine's, or the one that was named."""
    gpu: On | None
    """On the GPU; None where there is none and none was named."""
    total_cpu: float | None = None
    """Seconds of all repeats on the CPU."""
    total_gpu: float | None = None
    """Seconds of all repeats on the GPU, with copies there and back."""
    copies: float | None = None
    """Seconds of those copies."""
    speedup: float | None = None
    """How many times faster the GPU is, copies and all."""
    speedup_range: tuple[float, float] | None = None
    """Between which it may lie."""
    bound: str = ""
    """What bounds the GPU, or the CPU where there is no GPU to compare with."""
    break_even_size: float | None = None
    """How many times the size from which on the GPU is faster; None where it never is."""
    break_even_repeats: float | None = None
    """Repeats from which on the GPU is faster; None where it never is."""
    sentence: str = ""
    """The answer in words."""
    measured: float | None = None
    """Seconds of one run here, if it was measured."""
    measured_on: str = ""
    """On which device."""
    disturbed: str = ""
    """How the measured runs differ, or an empty text if they agree."""
    notes: tuple[str, ...] = field(default=())
    """What else should be known."""

    @property
    def ratio(self) -> float | None:
        """Estimated over measured time, if it was measured."""
        on = self.gpu if self.measured_on.startswith(("cuda", "hip")) else self.cpu
        return None if self.measured is None or on is None else on.seconds / self.measured

    def range_text(self) -> str:
        """Returns the range of the speed-up as a sentence."""
        low, high = map(times, self.speedup_range or (0.0, 0.0))
        return f"The speed-up may lie between {low} and {high}, depending on how good the code is on each side."

    def plot(self, ax: Any = None) -> Any:
        """Draws the times on the CPU and on the GPU as bars, with the copies apart. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes of matplotlib to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> estimate = cp.estimate(lambda x: x @ x, cp.ones((1000, 1000)), device="H200")
        >>> axes = estimate.plot()  # doctest: +SKIP
        """
        ax = pictures.axes("estimate", ax, (8, 2.2))
        bars = [(label, parts) for label, parts, _ in pictures.estimate_bars(self)]
        title = self.name
        if self.speedup is not None and self.speedup_range is not None:
            low, high = map(times, self.speedup_range)
            title += f"\nspeed-up by the GPU: {times(self.speedup)} ({low} to {high})"
        return pictures.draw_bars(ax, bars, title)

    def _repr_html_(self) -> str:
        return pictures.estimate_html(self)

    def __repr__(self) -> str:
        operations = sum(p.operations for p in self.programs)

        def several(count: int, what: str) -> str:
            return f"{count} {what}" if count == 1 else f"{count} {what}s"

        lines = [
            f"{self.name}: {several(operations, 'operation')} in {several(self.launches, 'kernel')} of "
            f"{several(len(self.programs), 'program')}; "
            f"{_core.quantity(self.flops, 'FLOP')}, {_core.quantity(self.bytes_read, 'B')} read, "
            f"{_core.quantity(self.bytes_written, 'B')} written"
        ]
        devices = [on for on in (self.cpu, self.gpu) if on is not None]
        width = max(len(on.name) for on in devices)
        for on in devices:
            source = "measured rates" if on.measured else "rates on paper"
            lines.append(f"  {on.name:<{width}}  {_core.quantity(on.seconds, 's'):>9}  bound by {on.bound} ({source})")
        if self.copies is not None:
            lines.append(
                f"  copies: {_core.quantity(self.upload, 'B')} to the GPU, {_core.quantity(self.download, 'B')} back, "
                f"{_core.quantity(self.copies, 's')}"
            )
        if self.measured is not None:
            ratio = "" if self.ratio is None else f": the estimate is {self.ratio:.2f} of it"
            lines.append(f"  measured on {self.measured_on}: {_core.quantity(self.measured, 's')}{ratio}")
            if self.disturbed:
                lines.append(f"  {self.disturbed}")
        lines += [f"  note: {note}" for note in self.notes]
        if self.sentence:
            lines.append(self.sentence)
        if self.speedup_range is not None:
            lines.append(self.range_text())
        return "\n".join(lines)


@dataclass(frozen=True)
class SimpleEstimate:
    """Times by the simple formula, in seconds: see `estimate_simple`."""

    cpu_seconds: float
    """On the CPU."""
    gpu_seconds: float
    """On the GPU, all parts together."""
    compute: float
    """The GPU's arithmetic."""
    copies: float
    """Data to the GPU."""
    startup: float
    """Until the GPU can be used."""
    speedup: float
    """How many times faster the GPU is; below 1 the CPU is faster."""
    sentence: str
    """The answer in words."""
    figures: tuple[str, str]
    """Where the rates of CPU and GPU come from."""

    def _bars(self) -> list[tuple[str, pictures.Parts, str]]:
        gpu = (
            ("GPU: start-up", self.startup, pictures.PURPLE),
            ("GPU: copies", self.copies, pictures.ORANGE),
            ("GPU: compute", self.compute, pictures.BLUE),
        )
        cpu = (("CPU", self.cpu_seconds, pictures.GRAY),)
        return [("CPU", cpu, self.figures[0]), ("GPU", gpu, self.figures[1])]

    def plot(self, ax: Any = None) -> Any:
        """Draws both times as bars, that of the GPU in start-up, copies and compute. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes of matplotlib to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> estimate = cp.estimate_simple("10,000 GFLOP", "1 GB", cpu_rate="400 GFLOPS", gpu_rate="12.5 TFLOPS",
        ...                               bandwidth="8 GB/s", startup="375 ms")
        >>> axes = estimate.plot()  # doctest: +SKIP
        """
        ax = pictures.axes("estimate_simple", ax, (8, 2.2))
        bars = [(label, parts) for label, parts, _ in self._bars()]
        return pictures.draw_bars(ax, bars, f"speed-up by the GPU: {times(self.speedup)}")

    def _repr_html_(self) -> str:
        bars = self._bars()
        colors = markup.legend((label, color) for _, parts, _ in bars for label, _, color in parts)
        return "<div>" + markup.paragraph(self.sentence) + pictures.html_bars(bars) + colors + "</div>"

    def __repr__(self) -> str:
        cpu, gpu, *parts = (
            _core.quantity(t, "s")
            for t in (self.cpu_seconds, self.gpu_seconds, self.compute, self.copies, self.startup)
        )
        return (
            f"CPU {cpu} ({self.figures[0]})\nGPU {gpu} ({self.figures[1]}): compute {parts[0]}, copies {parts[1]}, "
            f"start-up {parts[2]}\n{self.sentence}"
        )
