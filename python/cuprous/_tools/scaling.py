"""Would several GPUs or hosts pay? The schedule of data-parallel training, simulated with published rates."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cuprous import _core
from cuprous._tools.estimate_result import Estimate

#: Sizes of the tensors in which `DistributedDataParallel` sends gradients: the first one, and the others.
_FIRST_BUCKET, _BUCKET = 1 << 20, 25 << 20
#: How a step divides into forward pass, backward pass and optimizer, unless it is given.
_PARTS = (0.32, 0.65, 0.03)
#: How much slower computation is while transfers use some multiprocessors and memory bandwidth; an assumption.
_BESIDE = 0.15
#: What was measured since (bench/results, `several.gpt2`), beside what this estimate says of the same steps.
_MEASURED = "measured: GPT-2 124M on 2 and 4 H100s of a host reached 93 % and 92 %, where this says 98 % and 97 %"
#: More GPUs pay while each does at least this part of the work of one alone.
_PAYS = 0.5


@dataclass(frozen=True)
class Link:
    """How fast gradients are averaged over GPUs that are linked in one way. None of the figures was measured here."""

    rate: float
    """Bytes a second: NCCL's bus bandwidth."""
    latency: float
    """Seconds that an all-reduce takes at least, for each doubling of the GPUs; an assumption."""
    source: str
    """Where the rate comes from."""
    of_host: bool = False
    """The rate is that of a whole host, which its GPUs share."""


#: Links of the GPUs of one host.
FABRICS = {
    "nvlink4": Link(370e9, 5e-6, "NCCL on 8 H100 without NVLS, published (nccl-tests#309: 368.8)"),
    "nvlink4-nvls": Link(475e9, 5e-6, "NCCL on 8 H100 with NVLS, published (nccl-tests#212, #272: 475-480)"),
    "pcie5": Link(50e9, 10e-6, "0.8 of the line rate of 16 lanes"),
    "pcie4": Link(25e9, 10e-6, "0.8 of the line rate of 16 lanes"),
}
#: Links between hosts.
NETWORKS = {
    "ndr": Link(45e9, 10e-6, "400 Gb/s InfiniBand for each GPU, 0.9 of the line rate"),
    "hdr": Link(22.5e9, 10e-6, "200 Gb/s InfiniBand for each GPU, 0.9 of the line rate"),
    "100gbe": Link(10e9, 30e-6, "100 Gb/s Ethernet for each host, 0.8 of the line rate", of_host=True),
    "25gbe": Link(2.5e9, 30e-6, "25 Gb/s Ethernet for each host, 0.8 of the line rate", of_host=True),
}


@dataclass(frozen=True)
class Scaling:
    """A training step on several GPUs."""

    gpus: int
    """All GPUs."""
    hosts: int
    """The hosts that they are in."""
    seconds: float
    """Of a step."""
    transfer: float
    """Seconds of all transfers of a step."""
    exposed: float
    """Seconds of them that no computation hides."""
    speedup: float
    """How many times more examples a second than one GPU."""
    efficiency: float
    """The speedup by the number of GPUs."""
    limit: str
    """What keeps the speedup below the number of GPUs."""

    @property
    def name(self) -> str:
        """The GPUs in words."""
        gpus = f"{self.gpus} GPU" + ("s" if self.gpus > 1 else "")
        return gpus if self.hosts == 1 else f"{gpus} on {self.hosts} hosts"


@dataclass(frozen=True)
class ScalingEstimate:
    """What several GPUs bring: see `estimate_scaling`."""

    step: float
    """Seconds of a step on one GPU."""
    gradients: float
    """Bytes that each step averages."""
    rows: tuple[Scaling, ...]
    """For each number of GPUs and hosts."""
    notes: tuple[str, ...]
    """Where the rates come from, and how far such an estimate was off."""
    sentence: str
    """The answer in words."""

    def __repr__(self) -> str:
        lines = [
            f"one GPU: {_core.quantity(self.step, 's')} a step, {_core.quantity(self.gradients, 'B')} of gradients",
            f"  {'':<22}{'a step':>9}{'speed-up':>9}{'efficiency':>12}  limited by",
        ]
        for row in self.rows:
            seconds = _core.quantity(row.seconds, "s")
            lines.append(f"  {row.name:<22}{seconds:>9}{row.speedup:>8.1f}x{row.efficiency:>12.1%}  {row.limit}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes), self.sentence])


def all_reduce_seconds(size: float, gpus: int, hosts: int, fabric: Link, network: Link) -> float:
    """Returns how long an average of so many bytes takes over `gpus` GPUs in all, the same number on each host.

    In a host each GPU gets the sum of its part, hosts exchange these parts, and the parts are gathered, one after the
    other: 2 (n - 1) / n times the bytes for each of both levels.
    """
    local = gpus // hosts
    seconds = 0.0
    for count, bytes_, link in ((local, size, fabric), (hosts, size / local, network)):
        if count > 1:
            rate = link.rate / local if link.of_host else link.rate
            seconds += link.latency * (count - 1).bit_length() + 2 * (count - 1) / count * bytes_ / rate
    return seconds


def buckets(tensors: Sequence[float], last: float = 0.0, bucket: float = _BUCKET) -> list[tuple[float, float]]:
    """Returns the tensors in which gradients are sent: bytes, and how far the backward pass is when they are complete.

    Parameters
    ----------
    tensors : sequence of floats
        Bytes of the gradients in the order in which they become ready. The work of the backward pass is taken as
        proportional to them.
    last : float, default 0.0
        Bytes of more gradients, which are complete when the pass ends.
    bucket : float, optional
        Bytes of a bucket.
    """
    total, done, filled = sum(tensors), 0.0, 0.0
    found: list[tuple[float, float]] = []
    for size in tensors:
        done, filled = done + size, filled + size
        if filled >= (bucket if found else _FIRST_BUCKET):
            found.append((filled, done / total))
            filled = 0.0
    return [*found, (filled + last, 1.0)] if filled + last else found


def simulate(parts: tuple[float, float, float], sent: Sequence[tuple[float, float]], gpus: int, hosts: int,
             fabric: Link, network: Link) -> tuple[float, float, float]:  # fmt: skip
    """Returns the seconds of a step, of its transfers, and of those that nothing hides.

    A transfer begins when its bucket is complete and the one before has ended; the optimizer when all have ended.

    Parameters
    ----------
    parts : tuple of floats
        Seconds of the forward pass, the backward pass and the optimizer on one GPU.
    sent : sequence of pairs of floats
        What `buckets` returns.
    gpus : int
        All GPUs.
    hosts : int
        The hosts that they are in.
    fabric : Link
        The link within a host.
    network : Link
        The link between hosts.
    """
    forward, backward, optimizer = parts
    if gpus == 1:
        return sum(parts), 0.0, 0.0
    times = [all_reduce_seconds(size, gpus, hosts, fabric, network) for size, _ in sent]
    beside = sum(seconds for seconds, (_, ready) in zip(times, sent, strict=True) if ready < 1)
    backward += _BESIDE * min(backward, beside)
    end = forward
    for (_, ready), seconds in zip(sent, times, strict=True):
        end = max(end, forward + ready * backward) + seconds
    return end + optimizer, sum(times), end - forward - backward


def _limit(exposed: float, sent: Sequence[tuple[float, float]], times: float, backward: float, latency: float) -> str:
    if exposed <= 0:
        return "transfers beside the backward pass"
    if times > backward:
        return "sending takes longer than the backward pass" if latency < times / 2 else "latency of the transfers"
    return f"the last {_core.quantity(sent[-1][0], 'B')}, which are complete at its end"


def _number(value: float | str, kind: str, name: str) -> float:
    try:
        number = _core.parse_quantity(value, kind) if isinstance(value, str) else float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"[estimate_scaling] {name}: {error}") from None
    if not 0 < number < float("inf"):
        raise ValueError(f"[estimate_scaling] {name} is {value!r}, and must be positive")
    return number


def _sizes(gradients: Any) -> list[float]:
    """Returns the bytes of the gradients in the order of the backward pass."""
    if hasattr(gradients, "named_parameters"):
        # In reverse; one that the first layers use is complete when they are.
        sizes = [float(p.numel() * p.element_size()) for p in gradients.parameters() if p.requires_grad]
        if not sizes:
            raise ValueError("[estimate_scaling] no parameter of the module requires a gradient")
        return sizes[::-1]
    given = gradients if isinstance(gradients, (list, tuple)) else [gradients]
    sizes = [_number(size, "bytes", "gradients") for size in given]
    if not sizes:
        raise ValueError("[estimate_scaling] gradients is empty")
    if len(sizes) > 1:
        return sizes
    count = max(1, round(sizes[0] / (4 << 20)))
    return [sizes[0] / count] * count  # a network of many layers


def _link(table: dict[str, Link], given: str | Link, name: str) -> Link:
    if isinstance(given, Link):
        return given
    if given not in table:
        raise ValueError(f"[estimate_scaling] {name} {given!r} is unknown; it is one of {', '.join(table)}, or a Link")
    return table[given]


def estimate_scaling(
    step: float | str | Estimate, gradients: Any, *, gpus: Iterable[int] = (2, 4, 8), hosts: Iterable[int] = (1,),
    fabric: str | Link = "nvlink4", network: str | Link = "ndr", last: float | str = 0.0,
    parts: tuple[float, float, float] = _PARTS, bucket: float | str = _BUCKET, strong: bool = False,
) -> ScalingEstimate:  # fmt: skip
    """Estimates how much faster several GPUs or hosts train, by a simulation of `DistributedDataParallel`'s schedule.

    Gradients are sent while the backward pass computes, in buckets and in order; the optimizer waits for all. Rates of
    links are published ones or assumptions, as the notes say: nothing was measured on this machine. Two and four GPUs
    whose steps were measured reached some five percent less. Data loading and hosts that are slower than others are not
    modeled.

    Parameters
    ----------
    step : float, str or Estimate
        Seconds of a step on one GPU, as a number, as text such as "27.3 ms", or an estimate of it.
    gradients : float, str or list
        Bytes that a step averages, as a number or text such as "497 MB"; a list of them in the order in which they are
        complete; or a module.
    gpus : iterable of ints, default (2, 4, 8)
        Numbers of GPUs of a host.
    hosts : iterable of ints, default (1,)
        Numbers of hosts.
    fabric : str or Link, default "nvlink4"
        The link within a host: "nvlink4", "nvlink4-nvls", "pcie5", "pcie4" or a `Link`.
    network : str or Link, default "ndr"
        The link between hosts: "ndr", "hdr", "100gbe", "25gbe" or a `Link`.
    last : float or str, default 0.0
        Bytes of more gradients that are complete only when the backward pass ends, such as those of embeddings that the
        output layer shares.
    parts : tuple of floats, default (0.32, 0.65, 0.03)
        How the step divides into forward pass, backward pass and optimizer.
    bucket : float or str, optional
        Bytes of a bucket, 25 MiB.
    strong : bool, default False
        The batch of one GPU is divided among all; otherwise each has a batch as large.

    Returns
    -------
    ScalingEstimate
        A `ScalingEstimate`, which shows itself.

    Raises
    ------
    ValueError
        For a quantity that is not positive or cannot be read, and for an unknown link.

    See Also
    --------
    estimate

    Examples
    --------
    >>> import cuprous as cp
    >>> got = cp.estimate_scaling("27.3 ms", "497 MB", gpus=[8])
    >>> round(got.rows[0].efficiency, 2)
    0.98
    """
    if isinstance(step, Estimate):
        step = (step.gpu or step.cpu).seconds
    seconds = _number(step, "seconds", "step")
    if len(parts) != 3 or min(parts) < 0 or not sum(parts) > 0:
        raise ValueError(f"[estimate_scaling] parts are three shares of a step, got {parts}")
    counts = sorted({(int(g) * int(h), int(h)) for g in gpus for h in hosts})
    if not counts or counts[0][0] < 1 or min(h for _, h in counts) < 1:
        raise ValueError("[estimate_scaling] gpus and hosts are numbers from 1 on")
    sizes = _sizes(gradients)
    inside, between = _link(FABRICS, fabric, "fabric"), _link(NETWORKS, network, "network")
    late = 0.0 if last == 0 else _number(last, "bytes", "last")
    sent = buckets(sizes, late, _number(bucket, "bytes", "bucket"))
    forward, backward, optimizer = (seconds * part / sum(parts) for part in parts)
    rows = []
    for count, on in counts:
        share = count if strong else 1
        computed = (forward / share, backward / share, optimizer)
        spent, transfer, exposed = simulate(computed, sent, count, on, inside, between)
        speedup = (1 if strong else count) * seconds / spent
        least = sum(all_reduce_seconds(0, count, on, inside, between) for _ in sent)
        limit = _limit(exposed, sent, transfer, computed[1], least) if count > 1 else "nothing"
        rows.append(Scaling(count, on, spent, transfer, exposed, speedup, speedup / count, limit))
    notes = []
    if any(row.gpus > row.hosts for row in rows):
        notes.append(f"within a host: {_core.quantity(inside.rate, 'B/s')}, not measured here: {inside.source}")
    if any(row.hosts > 1 for row in rows):
        notes.append(f"between hosts: {_core.quantity(between.rate, 'B/s')}, not measured here: {between.source}")
    if notes:
        notes.append(_MEASURED)
    return ScalingEstimate(seconds, float(round(sum(sizes) + late)), tuple(rows), tuple(notes), _sentence(rows))


def _sentence(rows: Sequence[Scaling]) -> str:
    several = [row for row in rows if row.gpus > 1]
    paying = [row for row in several if row.speedup > 1 and row.efficiency >= _PAYS]
    if not several:
        return "One GPU is what others are compared with."
    if not paying:
        best = max(several, key=lambda row: row.speedup)
        part = f"{best.efficiency:.0%} of what they could be"
        return f"More GPUs do not pay: {best.name} are {best.speedup:.1f} times as fast as one, only {part}."
    best = max(paying, key=lambda row: row.speedup)
    part = f"{best.efficiency:.0%} of what they could be"
    text = f"{best.name} pay: at most {best.speedup:.1f} times as fast as one, {part}."
    beyond = [row for row in several if row.gpus > best.gpus]
    return text + (f" {beyond[0].name} do not: {beyond[0].speedup:.1f} times." if beyond else "")


def main(argv: Sequence[str]) -> int:
    """Runs `cuprous scaling` and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="cuprous scaling", description="Estimates how much faster several GPUs or hosts train.",
        epilog="Rates of links are published ones or assumptions, not measurements of this machine.",
    )  # fmt: skip

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser.add_argument("--step", required=True, metavar="TIME", help="time of a training step on one GPU, as 27.3ms")
    parser.add_argument("--gradients", required=True, metavar="BYTES", help="gradients that a step averages, as 343MB")
    parser.add_argument("--last", default=0.0, metavar="BYTES",
                        help="further gradients, complete only at the end of the backward pass, as 154MB "
                             "(default: 0)")  # fmt: skip
    parser.add_argument(
        "--gpus", type=numbers, default=[2, 4, 8], metavar="N,N", help="GPUs of a host (default: 2,4,8)"
    )
    parser.add_argument("--hosts", type=numbers, default=[1], metavar="N,N", help="numbers of hosts (default: 1)")
    parser.add_argument("--fabric", default="nvlink4", choices=FABRICS, help="links within a host (default: nvlink4)")
    parser.add_argument("--network", default="ndr", choices=NETWORKS, help="network between hosts (default: ndr)")
    parser.add_argument(
        "--bucket",
        default="25MiB",
        metavar="BYTES",
        help="size of the buckets of gradients (default: 25MiB)",
    )
    parser.add_argument("--strong", action="store_true", help="divide the batch of one GPU among all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    try:
        options = vars(parser.parse_args(list(argv)))
    except SystemExit as stop:
        return int(stop.code or 0)
    as_json = options.pop("json")
    try:
        found = estimate_scaling(options.pop("step"), options.pop("gradients"), **options)
        print(json.dumps(asdict(found), indent=2) if as_json else found)
    except ValueError as error:
        print(f"cuprous scaling: {str(error).removeprefix('[estimate_scaling] ')}", file=sys.stderr)
        return 2
    return 0


__all__ = ["estimate_scaling"]
