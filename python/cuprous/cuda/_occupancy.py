"""Occupancy: how many blocks of a kernel a multiprocessor holds at once, and which limit applies."""

from __future__ import annotations

from typing import NamedTuple


class Multiprocessor(NamedTuple):
    """Limits of the multiprocessors of a compute capability (CUDA C++ Programming Guide, table of technical
    specifications): threads, blocks, 32-bit registers, bytes of shared memory."""

    threads: int
    blocks: int
    registers: int
    shared: int


#: By compute capability, as in `sm_90`.
MULTIPROCESSORS = {
    75: Multiprocessor(1024, 16, 65536, 64 << 10),
    80: Multiprocessor(2048, 32, 65536, 164 << 10),
    86: Multiprocessor(1536, 16, 65536, 100 << 10),
    87: Multiprocessor(1536, 16, 65536, 164 << 10),
    89: Multiprocessor(1536, 24, 65536, 100 << 10),
    90: Multiprocessor(2048, 32, 65536, 228 << 10),
    100: Multiprocessor(2048, 32, 65536, 228 << 10),
    103: Multiprocessor(2048, 32, 65536, 228 << 10),
    110: Multiprocessor(1536, 24, 65536, 228 << 10),
    120: Multiprocessor(1536, 24, 65536, 100 << 10),
    121: Multiprocessor(1536, 24, 65536, 100 << 10),
}

#: Registers are given to warps in pieces of so many, shared memory to blocks, which need a little for themselves.
_REGISTER_PIECE = 256
_SHARED_PIECE = 128
_SHARED_OWN = 1024


def blocks_per_multiprocessor(
    threads: int, registers: int, shared: int, max_threads: int, max_blocks: int, all_registers: int, all_shared: int
) -> dict[str, int]:
    """Returns the number of blocks that each limit allows, from threads and shared bytes per block and registers per
    thread."""
    warps = -(-threads // 32)
    limits = {"threads": max_threads // 32 // warps, "blocks": max_blocks}
    if registers:
        a_warp = -(-registers * 32 // _REGISTER_PIECE) * _REGISTER_PIECE
        limits["registers"] = all_registers // a_warp // warps
    if shared:
        limits["shared memory"] = all_shared // (-(-shared // _SHARED_PIECE) * _SHARED_PIECE + _SHARED_OWN)
    return limits


def multiprocessor(arch: int) -> Multiprocessor:
    """Returns the limits of a compute capability; for an unknown one, those of the nearest lower one."""
    return MULTIPROCESSORS[max(a for a in MULTIPROCESSORS if a <= max(arch, 75))]


def occupancy(arch: int, threads: int, registers: int, shared: int) -> tuple[float, int, str]:
    """Returns the occupancy (0 to 1), the number of resident blocks, and the name of the limit."""
    m = multiprocessor(arch)
    limits = blocks_per_multiprocessor(threads, registers, shared, *m)
    what, blocks = min(limits.items(), key=lambda pair: pair[1])
    return blocks * -(-threads // 32) * 32 / m.threads, blocks, what
