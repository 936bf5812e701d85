"""The cores near a GPU, from Linux' description of the machine: torchrun's `--numa-binding`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

#: The cores of the GPU's memory node, those of all nodes of its socket, an equal part of the node's cores for each of
#: its GPUs, or the cores that share a cache.
MODES = ("node", "socket", "exclusive", "core-complex")


def _numbers(text: str) -> set[int]:
    """Returns the numbers of a list such as "0-2,6"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class Machine:
    """A machine's cores and GPUs.

    Parameters
    ----------
    addresses : list of str
        The PCI address of each GPU.
    allowed : set of ints
        The cores that this process may use.
    root : path-like, optional
        The directory of Linux' description.
    """

    def __init__(self, addresses: list[str], allowed: set[int], root: Path = Path("/sys")) -> None:
        self._addresses, self._allowed = addresses, allowed
        self._nodes, self._cpus = root / "devices/system/node", root / "devices/system/cpu"
        self._pci = root / "bus/pci/devices"

    def _node(self, gpu: int) -> int:
        # Linux writes -1 on machines of one node.
        return max(int((self._pci / self._addresses[gpu].lower() / "numa_node").read_text()), 0)

    def _cores(self, node: int) -> set[int]:
        return _numbers((self._nodes / f"node{node}/cpulist").read_text()) & self._allowed

    def _socket(self, core: int) -> str:
        return (self._cpus / f"cpu{core}/topology/physical_package_id").read_text()

    def _threads(self, core: int) -> set[int]:
        return _numbers((self._cpus / f"cpu{core}/topology/thread_siblings_list").read_text())

    def _sharers(self, core: int) -> set[int]:
        """Returns the cores that share the last cache with a core."""
        caches = [path for path in (self._cpus / f"cpu{core}/cache").glob("index*")
                  if (path / "type").read_text().strip() in ("Unified", "Data")]  # fmt: skip
        last = max(caches, key=lambda path: int((path / "level").read_text()))
        return _numbers((last / "shared_cpu_list").read_text())

    def near(self, mode: str, gpu: int) -> set[int]:
        """Returns the cores for the process that uses a GPU.

        Raises
        ------
        ValueError
            If the node has fewer cores than GPUs, or none that this process may use.
        """
        node = self._node(gpu)
        cores = self._cores(node)
        if not cores:
            raise ValueError(f"this process may use no core of memory node {node}, which GPU {gpu} belongs to")
        gpus = [other for other in range(len(self._addresses)) if self._node(other) == node]
        if mode == "socket":
            socket = self._socket(min(cores))
            nodes = _numbers((self._nodes / "possible").read_text())
            all_cores = [self._cores(each) for each in nodes]
            return set().union(*(each for each in all_cores if each and self._socket(min(each)) == socket))
        if mode == "exclusive":
            groups = _grouped(cores, self._threads)
            if len(groups) < len(gpus):
                raise ValueError(f"memory node {node} has {len(groups)} cores for {len(gpus)} GPUs")
            # The first GPUs have one core more where they cannot be divided evenly.
            each, more = divmod(len(groups), len(gpus))
            at = gpus.index(gpu)
            start = at * each + min(at, more)
            return set().union(*groups[start : start + each + (at < more)])
        if mode == "core-complex":
            groups = sorted(_grouped(cores, self._sharers), key=lambda group: (-len(group), min(group)))
            return groups[gpus.index(gpu) % len(groups)]
        return cores


def _grouped(cores: set[int], group_of: Callable[[int], set[int]]) -> list[set[int]]:
    """Returns the cores in groups, in the order of their first ones."""
    groups: dict[int, set[int]] = {}
    for core in sorted(cores):
        groups.setdefault(min(group_of(core)), set()).add(core)
    return [groups[key] for key in sorted(groups)]


def of_this_machine(addresses: list[str]) -> Machine:
    """Returns this machine, with GPUs of these PCI addresses."""
    return Machine(addresses, os.sched_getaffinity(0))
