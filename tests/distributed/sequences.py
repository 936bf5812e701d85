"""Random collectives beside NumPy, in several processes: `python -m tests.distributed.sequences --sequences 1000`.

All ranks make the same choices from the seed of a sequence, and each computes by itself what the others give.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from cuprous import _core
from cuprous.torch import distributed as dist
from tests.distributed import jobs

Array = np.ndarray[Any, Any]

SIZES = {0: 0.06, 1: 0.12, 3: 0.12, 17: 0.15, 1000: 0.2, 5000: 0.15, 70_001: 0.12, 300_000: 0.06, 2_500_001: 0.02}
EVERYWHERE = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool", "complex64")
HALVES = ("float16", "bfloat16")
#: What NCCL lacks.
ON_CPU = ("int16", "uint16", "uint32", "uint64", "complex128")
BITWISE = {"BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}
REDUCTIONS = {"SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum, **BITWISE}
#: By layout: elements before and after the tensor in its memory, and the distance of its elements.
LAYOUTS = {"whole": (0, 1), "part": (3, 1), "strided": (1, 2)}
#: Operations that may be under way at once.
IN_FLIGHT = 4


def _device() -> str:
    return os.environ.get("TEST_DEVICE", "cpu")


def _dtype(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _kinds(name: str) -> list[str]:
    """Returns the reductions of a dtype."""
    if name.startswith("complex"):
        return ["SUM", "AVG"]
    kinds = ["SUM", "PRODUCT", "MIN", "MAX"] + (["AVG"] if name != "bool" else [])
    is_exact = name == "bool" or "int" in name
    return kinds + (list(BITWISE) if is_exact and _device() == "cpu" else [])


class Placed:
    """A tensor that may be a part of another one, whose other elements stay as they are."""

    def __init__(self, values: Array, layout: str) -> None:
        self._tolerance: Any = 0.0
        pad, step = LAYOUTS[layout]
        self._own = slice(pad, pad + values.size * step, step)
        self._expected = np.ones(values.size * step + 2 * pad, values.dtype)
        self.becomes(values)
        self._whole = _core.t_wrap(_core.from_numpy(self._expected.copy(), _device()))
        self.tensor = self._whole[self._own]

    def becomes(self, values: Any, tolerance: float = 0.0) -> Placed:
        """Sets what the tensor is when the operation has ended."""
        self._expected[self._own] = values
        self._tolerance = max(self._tolerance, tolerance)
        return self

    def add_one(self) -> None:
        """Writes to the tensor, after the operation that may be under way."""
        self.tensor.add_(1)
        self.becomes(self._expected[self._own] + self._expected.dtype.type(1))

    def check(self) -> None:
        """Compares all elements."""
        got = self._whole.cpu()
        values = got.float().numpy() if got.dtype_name == "bfloat16" else got.numpy()
        expected = self._expected.astype(values.dtype)
        if self._tolerance:
            np.testing.assert_allclose(values, expected, rtol=0, atol=self._tolerance)
        else:
            np.testing.assert_array_equal(values, expected)


@dataclass
class Call:
    """An operation as all ranks of a group call it."""

    seed: tuple[int, int]
    ranks: list[int]
    group: Any
    me: int
    name: str
    size: int
    kind: str
    root: int
    is_async: bool
    layout: str

    @property
    def n(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    @property
    def keywords(self) -> dict[str, Any]:
        """The last arguments."""
        return {"group": self.group, "async_op": self.is_async}

    @property
    def op(self) -> dist.ReduceOp:
        """The reduction."""
        return dist.ReduceOp[self.kind]

    def of(self, rank: int, to: int = 0, size: int | None = None) -> Array:
        """Returns what a rank gives, or gives to another one."""
        rng = np.random.default_rng([*self.seed, rank, to])
        size, dtype = self.size if size is None else size, _dtype(self.name)
        if self.name == "bool":
            return rng.integers(0, 2, size).astype(bool)
        if self.name.startswith("complex"):
            return (rng.integers(-8, 8, size) + 1j * rng.integers(-8, 8, size)).astype(dtype)
        if self.name.startswith("float") and _device() == "cpu":
            return rng.normal(size=size).astype(dtype)  # the order of the ranks decides the last bit
        return rng.integers(0 if self.name.startswith("u") else -8, 9, size).astype(dtype)

    def all(self, to: int = 0) -> list[Array]:
        """Returns what all ranks give, or give to one."""
        return [self.of(rank, to) for rank in range(self.n)]

    def total(self, parts: Sequence[Array]) -> Array:
        """Returns the reduction, in the order of the ranks."""
        dtype = parts[0].dtype
        rows = [p.view(p.real.dtype) if p.dtype.kind == "c" else p for p in parts]
        if self.name in HALVES:
            rows = [row.astype(np.float32) for row in rows]
        out = REDUCTIONS[self.kind].reduce(rows, dtype=None if self.name == "bool" else rows[0].dtype)
        if self.kind == "AVG":
            is_exact = out.dtype.kind in "iu"
            out = np.sign(out) * (np.abs(out) // self.n) if is_exact else out / out.dtype.type(self.n)
        return out.view(dtype) if dtype.kind == "c" else out.astype(dtype)

    def reduced(self, placed: Placed, parts: Sequence[Array]) -> Placed:
        """Sets a tensor to the reduction.

        NCCL's average multiplies by the rounded inverse of the number of ranks and rounds each sum, as PyTorch's does:
        exact for powers of two, an error of a last bit of the largest number for each step otherwise.
        """
        tolerance = 0.0
        if self.kind == "AVG" and _device() != "cpu" and self.n & (self.n - 1) and parts[0].dtype.kind not in "iu":
            tolerance = (self.n + 1) * 9 * float(ml_dtypes.finfo(parts[0].real.dtype).eps)
        return placed.becomes(self.total(parts), tolerance)

    def place(self, values: Array, contiguous: bool = False) -> Placed:
        """Returns a tensor with these values."""
        return Placed(values, "part" if self.layout == "strided" and (contiguous or self.is_async) else self.layout)

    def own(self) -> Placed:
        """Returns this rank's tensor."""
        return self.place(self.of(self.me))

    def empty(self, count: int = 1, contiguous: bool = False) -> Placed:
        """Returns a tensor to write."""
        return self.place(np.zeros(count * self.size, _dtype(self.name)), contiguous)

    def parts(self) -> list[Placed]:
        """Returns this rank's tensors, one for each rank."""
        return [self.place(self.of(self.me, to)) for to in range(self.n)]


#: The work of an operation, if it has some, and the tensors that take part, with their values when it has ended.
Begun = tuple[list[Any], list[Placed]]


def _tensors(placed: Sequence[Placed]) -> list[Any]:
    return [p.tensor for p in placed]


def _all_reduce(c: Call) -> Begun:
    x = c.own()
    return [dist.all_reduce(x.tensor, c.op, **c.keywords)], [c.reduced(x, c.all())]


def _reduce(c: Call) -> Begun:
    x = c.own()
    work = dist.reduce(x.tensor, group_dst=c.root, op=c.op, **c.keywords)
    return [work], [c.reduced(x, c.all()) if c.me == c.root else x]


def _broadcast(c: Call) -> Begun:
    x = c.own()
    return [dist.broadcast(x.tensor, src=c.ranks[c.root], **c.keywords)], [x.becomes(c.of(c.root))]


def _all_gather(c: Call) -> Begun:
    x, outs = c.own(), [c.empty() for _ in c.ranks]
    work = dist.all_gather(_tensors(outs), x.tensor, **c.keywords)
    return [work], [x, *(out.becomes(values) for out, values in zip(outs, c.all(), strict=True))]


def _gather(c: Call) -> Begun:
    x, outs = c.own(), [c.empty() for _ in c.ranks] if c.me == c.root else []
    work = dist.gather(x.tensor, _tensors(outs) or None, group_dst=c.root, **c.keywords)
    return [work], [x, *(out.becomes(values) for out, values in zip(outs, c.all(), strict=False))]


def _scatter(c: Call) -> Begun:
    out, given = c.empty(), c.parts() if c.me == c.root else []
    work = dist.scatter(out.tensor, _tensors(given) or None, group_src=c.root, **c.keywords)
    return [work], [out.becomes(c.of(c.root, c.me)), *given]


def _reduce_scatter(c: Call) -> Begun:
    out, given = c.empty(), c.parts()
    work = dist.reduce_scatter(out.tensor, _tensors(given), c.op, **c.keywords)
    return [work], [c.reduced(out, c.all(c.me)), *given]


def _all_to_all(c: Call) -> Begun:
    outs, given = [c.empty() for _ in c.ranks], c.parts()
    work = dist.all_to_all(_tensors(outs), _tensors(given), **c.keywords)
    return [work], [*(out.becomes(values) for out, values in zip(outs, c.all(c.me), strict=True)), *given]


def _all_gather_into_tensor(c: Call) -> Begun:
    x, out = c.own(), c.empty(c.n, contiguous=True)
    work = dist.all_gather_into_tensor(out.tensor, x.tensor, **c.keywords)
    return [work], [x, out.becomes(np.concatenate(c.all()))]


def _reduce_scatter_tensor(c: Call) -> Begun:
    given = c.place(np.concatenate([c.of(c.me, to) for to in range(c.n)]), contiguous=True)
    out = c.empty()
    work = dist.reduce_scatter_tensor(out.tensor, given.tensor, c.op, **c.keywords)
    return [work], [c.reduced(out, c.all(c.me)), given]


def _all_to_all_single(c: Call) -> Begun:
    """Rows of three elements, of which each rank gives each other one another number."""
    rows = [[(a + 2 * b + c.seed[1]) % 4 for b in range(c.n)] for a in range(c.n)]
    sent, got = rows[c.me], [row[c.me] for row in rows]
    given = c.place(np.concatenate([c.of(c.me, to, 3 * k) for to, k in enumerate(sent)]), contiguous=True)
    out = c.place(np.zeros(3 * sum(got), _dtype(c.name)), contiguous=True)
    work = dist.all_to_all_single(out.tensor.view(-1, 3), given.tensor.view(-1, 3), got, sent, **c.keywords)
    return [work], [out.becomes(np.concatenate([c.of(a, c.me, 3 * k) for a, k in enumerate(got)])), given]


def _messages(c: Call) -> Begun:
    """Each rank sends to the same one after it, and receives."""
    if c.n == 1:
        return [], []
    shift = 1 + c.root % (c.n - 1)
    to, source, tag = (c.me + shift) % c.n, (c.me - shift) % c.n, c.seed[1] % 3
    given, out = c.place(c.of(c.me), contiguous=True), c.empty(contiguous=True)
    both = [dist.P2POp(dist.isend, given.tensor, group=c.group, tag=tag, group_peer=to),
            dist.P2POp(dist.irecv, out.tensor, group=c.group, tag=tag, group_peer=source)]  # fmt: skip
    return list(dist.batch_isend_irecv(both)), [given, out.becomes(c.of(source))]


def _barrier(c: Call) -> Begun:
    return [dist.barrier(**c.keywords)], []


OPERATIONS: list[Callable[[Call], Begun]] = [
    _all_reduce, _reduce, _broadcast, _all_gather, _gather, _scatter, _reduce_scatter, _all_to_all,
    _all_gather_into_tensor, _reduce_scatter_tensor, _all_to_all_single, _messages, _barrier,
]  # fmt: skip


def _sequence(seed: int) -> int:
    """Runs one sequence and returns how many operations it had."""
    rng = np.random.default_rng(seed)
    world, rank = dist.get_world_size(), dist.get_rank()
    names = EVERYWHERE + (ON_CPU if _device() == "cpu" else ())
    groups: list[tuple[list[int], Any]] = [(list(range(world)), None)]
    for _ in range(int(rng.integers(3))):
        ranks = sorted(rng.choice(world, int(rng.integers(1, world + 1)), replace=False).tolist())
        groups.append((ranks, dist.new_group(ranks)))
    pending: list[tuple[Begun, str]] = []
    steps = int(rng.integers(5, 30))
    for step in range(steps):
        ranks, group = groups[int(rng.integers(len(groups)))]
        size = int(rng.choice(list(SIZES), p=list(SIZES.values())))
        name = str(rng.choice(names))
        kind, function = str(rng.choice(_kinds(name))), OPERATIONS[int(rng.integers(len(OPERATIONS)))]
        root, is_async, layout = int(rng.integers(len(ranks))), bool(rng.integers(2)), str(rng.choice(list(LAYOUTS)))
        writes, waits, keeps = rng.random() < 0.3, rng.random() < 0.5, int(rng.integers(IN_FLIGHT))
        if rank not in ranks:
            continue
        me = ranks.index(rank)
        begun = function(Call((seed, step), ranks, group, me, name, size, kind, root, is_async, layout))
        if writes and name != "bool":
            for placed in begun[1]:
                placed.add_one()
        text = f"sequence {seed}, step {step}: {function.__name__} {name}[{size}] {kind} {ranks} {root} {layout}"
        pending.append((begun, text))
        while len(pending) > (keeps if is_async else 0):
            _end(*pending.pop(0), waits)
    for begun, text in pending:
        _end(begun, text, True)
    for ranks, group in groups[1:]:
        if rank in ranks:
            dist.destroy_process_group(group)
    return steps


def _end(begun: Begun, text: str, waits: bool) -> None:
    """Compares the tensors. Reading them waits for the operation by itself."""
    works, placed = begun
    for work in works:
        if waits and work is not None:
            work.wait()
    for each in placed:
        try:
            each.check()
        except AssertionError as error:
            raise AssertionError(f"{text}: {error}") from None


def run_sequences(first: int, count: int) -> None:
    """Runs sequences as one rank of a job that has begun."""
    total = sum(_sequence(seed) for seed in range(first, first + count))
    if dist.get_rank() == 0:
        print(f"{total} operations")
    dist.destroy_process_group()


def run_job(first: int, count: int, n: int, **more: str) -> int:
    """Runs sequences in `n` processes, which all succeed, and returns how many operations they had."""
    program = f"from tests.distributed.sequences import run_sequences\nrun_sequences({first}, {count})\n"
    return int(jobs.run(program, n, **more)[0].out.split()[-2])


def main() -> int:
    """Runs sequences on 2, 3 and 4 ranks in turn, through shared memory and sockets in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first sequence")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--transports", nargs="+", default=["", "shm", "socket"])
    parser.add_argument("--batch", type=int, default=20, help="sequences of one job")
    options = parser.parse_args()
    failed, operations, start = 0, 0, time.monotonic()
    end = options.seed + options.sequences
    for k, first in enumerate(range(options.seed, end, options.batch)):
        count, n = min(options.batch, end - first), options.ranks[k % len(options.ranks)]
        transport = options.transports[k // len(options.ranks) % len(options.transports)]
        try:
            operations += run_job(first, count, n, CUPROUS_DISTRIBUTED_TRANSPORT=transport)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"--seed {first} --sequences {count} --ranks {n} --transports {transport!r}:\n{error}", flush=True)
    took = time.monotonic() - start
    print(f"{options.sequences} sequences, {operations} operations, {failed} jobs failed, {took:.0f} s")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
