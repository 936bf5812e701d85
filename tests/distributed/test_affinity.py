"""The cores near a GPU, on machines that are described by files."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuprous._tools.affinity import MODES, Machine

#: Three memory nodes on two sockets: cores of each, then of its caches. Cores k and k + 12 are threads of one core.
NODES = {0: (0, [[0, 1, 2, 12, 13, 14], [3, 15]]), 1: (0, [[4, 5, 16, 17]]), 2: (1, [[6, 7, 8, 18, 19, 20]])}
#: The node of each GPU, as Linux writes it.
GPUS = {"0000:1A:00.0": "0", "0000:1b:00.0": "2", "0000:3c:00.0": "0", "0000:4d:00.0": "-1"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine of which this process may not use the cores 5 and 17."""

    def write(path: str, text: object) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    for address, node in GPUS.items():
        write(f"bus/pci/devices/{address.lower()}/numa_node", node)
    write("devices/system/node/possible", "0-2")
    for node, (socket, caches) in NODES.items():
        write(f"devices/system/node/node{node}/cpulist", ",".join(str(core) for cache in caches for core in cache))
        for cache in caches:
            for core in cache:
                cpu = f"devices/system/cpu/cpu{core}"
                write(f"{cpu}/topology/physical_package_id", socket)
                write(f"{cpu}/topology/thread_siblings_list", f"{core % 12},{core % 12 + 12}")
                for index, (kind, level, shared) in enumerate(
                    [("Data", 1, core), ("Instruction", 4, core), ("Unified", 3, ",".join(map(str, cache)))]
                ):
                    write(f"{cpu}/cache/index{index}/type", kind)
                    write(f"{cpu}/cache/index{index}/level", level)
                    write(f"{cpu}/cache/index{index}/shared_cpu_list", shared)
    return Machine(list(GPUS), set(range(24)) - {5, 17}, tmp_path)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("node", [{0, 1, 2, 3, 12, 13, 14, 15}, {6, 7, 8, 18, 19, 20}] + [{0, 1, 2, 3, 12, 13, 14, 15}] * 2),
        ("socket", [{0, 1, 2, 3, 4, 12, 13, 14, 15, 16}, {6, 7, 8, 18, 19, 20}]
         + [{0, 1, 2, 3, 4, 12, 13, 14, 15, 16}] * 2),
        ("exclusive", [{0, 1, 12, 13}, {6, 7, 8, 18, 19, 20}, {2, 14}, {3, 15}]),
        ("core-complex", [{0, 1, 2, 12, 13, 14}, {6, 7, 8, 18, 19, 20}, {3, 15}, {0, 1, 2, 12, 13, 14}]),
    ],
)  # fmt: skip
def test_cores_are_those_that_torchrun_chooses(mode: str, expected: list[set[int]], machine: Machine) -> None:
    assert mode in MODES and [machine.near(mode, gpu) for gpu in range(len(GPUS))] == expected


def test_nodes_without_cores_are_an_error(tmp_path: Path, machine: Machine) -> None:
    few = Machine(list(GPUS), {3, 15, 0}, tmp_path)
    with pytest.raises(ValueError, match="memory node 0 has 2 cores for 3 GPUs"):
        few.near("exclusive", 0)
    with pytest.raises(ValueError, match="may use no core of memory node 2, which GPU 1 belongs to"):
        few.near("node", 1)
