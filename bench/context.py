"""The context of a workload: peers, floors, and the row that collects times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.peers import Peer
from bench.timing import median_seconds
from cuprous._tools.demo import bandwidth


@dataclass
class Floors:
    """Rates of the hardware, measured in the same run; 0 if unknown."""

    copy_bytes_per_s: float = 0.0
    matmul_flops: dict[str, float] = field(default_factory=dict)
    upload_bytes_per_s: float = 0.0

    def bytes_ms(self, n: float) -> float | None:
        return n / self.copy_bytes_per_s * 1e3 if self.copy_bytes_per_s else None

    def matmul_ms(self, flops: float, dtype: str) -> float | None:
        rate = self.matmul_flops.get(dtype)
        return flops / rate * 1e3 if rate else None

    def upload_ms(self, n: float) -> float | None:
        return n / self.upload_bytes_per_s * 1e3 if self.upload_bytes_per_s else None


@dataclass
class Measured:
    """One row: milliseconds and errors by peer, the floor, and the least bytes that any implementation must move."""

    name: str
    title: str
    ms: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    floor_ms: float | None = None
    least_bytes: int = 0

    @property
    def best_peer(self) -> tuple[str, float] | None:
        others = {peer: ms for peer, ms in self.ms.items() if not peer.startswith("cuprous")}
        if not others:
            return None
        name = min(others, key=others.__getitem__)
        return name, others[name]


@dataclass
class Context:
    """Passed to each workload, which calls `time` once for each peer."""

    peers: dict[str, Peer]
    floors: Floors
    device: str
    row: Measured
    quick: bool = False
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    bound: bandwidth.Bound | None = None

    def moves(self, nbytes: int, passes: int = 1) -> None:
        """Sets the floor of a row that moves `nbytes`: the copy bandwidth of memory, for each pass.

        No time may be below one pass at the bandwidth of copies of this size.
        """
        self.row.floor_ms = self.floors.bytes_ms(nbytes * passes)
        self.row.least_bytes = nbytes

    def checked(self, name: str, seconds: float) -> None:
        """Records a time, or raises ImpossibleTimeError if memory is too slow for it."""
        if self.bound is None or self.bound.nbytes != self.row.least_bytes:
            cp = self.peers["cuprous"].module
            rate = bandwidth.of_cpu if self.device == "cpu" else lambda n: bandwidth.of_gpu(cp, n)
            self.bound = bandwidth.Bound(self.row.least_bytes, rate)
        self.bound.check(seconds)
        self.row.ms[name] = seconds * 1e3

    def time(
        self,
        peer: str,
        setup: Callable[[Peer], Callable[[], Any]],
        check: Callable[[np.ndarray], None] | None = None,
        per: int = 1,
        label: str = "",
        runs: int = 9,
        checks: int = 0,
    ) -> None:
        """Times what `setup(peer)` returns, divided by `per`. `check` sees Cuprous' result as a NumPy array, before it
        is timed; of several results the one at `checks`.

        The work returns everything that it computes. The results are held until the peer has waited for them, since a
        lazy library does not compute what is dropped. A peer that is missing is passed over; one that fails, or is
        faster than memory, is noted, and the run goes on.
        """
        found = self.peers.get(peer)
        name = label or peer
        if found is None:
            return
        try:
            work = setup(found)
            if check is not None and peer == "cuprous":
                out = work()
                check(found.asnumpy(out[checks] if isinstance(out, (tuple, list)) else out))
                del out
            self.checked(name, median_seconds(work, found.sync, runs=runs) / per)
        except Exception as error:
            self.row.errors[name] = f"{type(error).__name__}: {error}"[:300]
        finally:
            self.release()

    def release(self) -> None:
        """Releases the memory pools of the peers, because the next one needs the memory."""
        cupy, torch = self.peers.get("cupy"), self.peers.get("torch")
        if cupy is not None:
            cupy.module.get_default_memory_pool().free_all_blocks()
        if torch is not None and self.device == "cuda":
            torch.module.cuda.empty_cache()

    def size(self, n: int) -> int:
        """Returns a length, reduced for a quick run."""
        return max(n // 100, 16) if self.quick else n
