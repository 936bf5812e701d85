"""Ranks on several hosts: network namespaces with a cable between them, each with a name and a boot of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.distributed import jobs

_TOOLS = ("unshare", "nsenter", "ip")
_MASTER = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29511"}
#: What makes a process a host: it names itself, has an identifier as if it had started alone, and waits.
_HOST = """
mount --make-rprivate / && hostname {name} && mount --bind {boot} /proc/sys/kernel/random/boot_id &&
ip link set lo up && echo ready && exec sleep 300
"""


class Host:
    """A host, which runs programs."""

    def __init__(self, name: str, folder: Path) -> None:
        boot = folder / f"boot-{name}"
        boot.write_text(f"boot-of-{name}\n")
        command = ["unshare", "-n", "-u", "-m", "sh", "-c", _HOST.format(name=name, boot=boot)]
        self.keeper = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.keeper.stdout is not None
        if self.keeper.stdout.readline() != "ready\n":
            pytest.skip(f"the system does not allow namespaces: {self.keeper.communicate()[1]}")
        self._enter = ["nsenter", "-t", str(self.keeper.pid), "-n", "-u", "-m"]

    def start(self, *command: str, **more: str) -> subprocess.Popen[str]:
        """Starts a program."""
        root = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        return subprocess.Popen([*self._enter, *command], env=os.environ | {"PYTHONPATH": paths} | more, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def do(self, *command: str) -> None:
        """Runs a program of the system."""
        subprocess.run([*self._enter, *command], check=True)


@contextmanager
def _two_hosts(folder: Path) -> Iterator[list[Host]]:
    hosts: list[Host] = []
    try:
        for name in ("alpha", "beta"):
            hosts.append(Host(name, folder))
        pids = [str(host.keeper.pid) for host in hosts]
        link = [
            "ip",
            "link",
            "add",
            "cable",
            "netns",
            pids[0],
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            pids[1],
        ]
        if subprocess.run(link, capture_output=True).returncode:
            pytest.skip("the system does not allow pairs of network devices")
        for k, host in enumerate(hosts):
            host.do("ip", "addr", "add", f"10.77.0.{k + 1}/24", "dev", "cable")
            host.do("ip", "link", "set", "cable", "up")
        yield hosts
    finally:
        for host in hosts:
            host.keeper.kill()
            host.keeper.communicate()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Host]]:
    """Two hosts, 10.77.0.1 and 10.77.0.2."""
    if os.geteuid() or not all(map(shutil.which, _TOOLS)):
        pytest.skip(f"needs the rights to make namespaces, and {', '.join(_TOOLS)}")
    with _two_hosts(tmp_path) as both:
        yield both


_TRAIN = """
from cuprous.torch import nn, optim
def whole(seed):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(6, 5))), torch.from_numpy(rng.normal(size=(6, 2)))
def train(wrap, part):
    torch.manual_seed(0)
    model = wrap(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).double())
    opt, losses = optim.SGD(model.parameters(), lr=0.1), []
    for step in range(20):
        x, y = whole(step)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[part]), y[part])
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses)
losses = train(DDP, slice(2 * rank, 2 * rank + 2))
dist.all_reduce(losses, dist.ReduceOp.AVG)
assert (losses - train(lambda m: m, slice(None))).abs().max().item() < 1e-12
x = torch.arange(700_001.0) + rank
dist.all_reduce(x)
assert (x == n * torch.arange(700_001.0) + 3).all().item()
outs = [torch.zeros(300_000) for _ in range(n)]
dist.all_to_all(outs, [torch.full((300_000,), 10.0 * rank + k) for k in range(n)])
assert [out[7].item() for out in outs] == [10.0 * k + rank for k in range(n)]
here = dist.new_group([0, 1])
import socket
print("HOST", socket.gethostname(), "|", dist.group.WORLD, "|", here if rank < 2 else "")
dist.destroy_process_group()
"""


def test_training_over_two_hosts_has_the_losses_of_one_process(hosts: list[Host]) -> None:
    """Two ranks on one host and one on the other: sockets between the hosts, shared memory on one."""
    path = str(jobs.write(_TRAIN))
    started = time.monotonic()
    ranks = [
        hosts[k // 2].start(sys.executable, path, RANK=str(k), WORLD_SIZE="3", LOCAL_RANK=str(k % 2), **_MASTER)
        for k in range(3)
    ]
    ended = jobs.finish(ranks, started)
    assert [each.code for each in ended] == [0, 0, 0], ended
    for rank, each in enumerate(ended):
        _, host, world, here = each.out[each.out.index("HOST") :].replace("HOST ", "|").split("|")
        assert host.strip() == ("alpha", "alpha", "beta")[rank] and "sockets" in world, each.out
        assert rank == 2 or "shared memory" in here, each.out


_FILE = """
import sys
import cuprous.torch as torch
import cuprous.torch.distributed as dist
dist.init_process_group("gloo", f"file://{sys.argv[1]}", rank=int(sys.argv[2]), world_size=2)
x = torch.full((300_000,), 2.0)
dist.all_reduce(x)
print("SUM", x.unique().tolist(), dist.group.WORLD)
dist.destroy_process_group()
"""


def test_hosts_that_meet_in_a_file_are_connected_by_the_interface_of_a_variable(
    hosts: list[Host], tmp_path: Path
) -> None:
    """A file names no address by which the system could choose."""
    path = tmp_path / "program.py"
    path.write_text(_FILE)
    for variable in ({"GLOO_SOCKET_IFNAME": "cable"}, {}):
        started = time.monotonic()
        command = (sys.executable, str(path), str(tmp_path / f"meeting{len(variable)}"))
        ended = jobs.finish([host.start(*command, str(k), **variable) for k, host in enumerate(hosts)], started)
        for each in ended:
            if variable:
                assert each.code == 0 and "SUM [4.0]" in each.out and "sockets" in each.out, ended
            else:
                assert each.code == 1 and "this rank listens on 127.0.0.1" in each.out, ended


@pytest.mark.slow
def test_launchers_of_two_hosts_start_one_job(hosts: list[Host]) -> None:
    """With torchrun's flags, by the address of the first host, and with another number of ranks on each."""
    # Ranks of a host share its output, where what they write at once stays in one piece.
    path = str(jobs.write(
        "x = torch.ones(1)\ndist.all_reduce(x)\nsys.stdout.write(f'SUM {x.item()} {os.environ[\"GROUP_RANK\"]}\\n')"
    ))  # fmt: skip
    started = time.monotonic()
    launchers = [
        host.start(
            sys.executable, "-m", "cuprous.run", "--nnodes=2", f"--nproc-per-node={2 - k}", f"--node-rank={k}",
            "--rdzv-endpoint=10.77.0.1:29400", path,
        )
        for k, host in enumerate(hosts)
    ]  # fmt: skip
    ended = jobs.finish(launchers, started)
    assert [each.code for each in ended] == [0, 0], ended
    assert [each.out.count(f"SUM 3.0 {k}") for k, each in enumerate(ended)] == [2, 1], ended


_REDUCE = """
print("READY", flush=True)
x = torch.ones(400_000)
while True:
    dist.all_reduce(x)
    x.fill_(1)
"""


def _begin(hosts: list[Host]) -> list[subprocess.Popen[str]]:
    """Starts a rank on each host, and waits until they have met."""
    path = str(jobs.write(_REDUCE))
    ranks = [
        host.start(sys.executable, path, RANK=str(k), WORLD_SIZE="2", LOCAL_RANK="0", **_MASTER)
        for k, host in enumerate(hosts)
    ]
    for rank in ranks:
        assert rank.stdout is not None
        for line in rank.stdout:
            if "READY" in line:
                break
    time.sleep(0.5)
    return ranks


def test_a_rank_that_is_killed_on_another_host_is_named_in_time(hosts: list[Host]) -> None:
    """Its exit status is known on its own host alone."""
    ranks = _begin(hosts)
    at = time.monotonic()
    ranks[1].kill()
    ended = jobs.finish(ranks, at)
    assert ended[0].code == 1 and ended[0].after < 2 + 4, ended
    assert re.search(r"rank 1 \(host beta, process \d+\) died: .*#\d+ all_reduce float32\[400000\]", ended[0].out), (
        ended
    )


@pytest.mark.slow
def test_a_cut_cable_is_an_error_on_both_hosts_in_time(hosts: list[Host]) -> None:
    """Neither side hears that the other one is gone: silence says it."""
    ranks = _begin(hosts)
    at = time.monotonic()
    hosts[0].do("ip", "link", "set", "cable", "down")
    ended = jobs.finish(ranks, at)
    for k, other in enumerate(("beta", "alpha")):
        assert ended[k].code == 1 and 10 < ended[k].after < 15 + 5, ended
        text = rf"rank {1 - k} \(host {other}, process \d+\) has been silent for 15 s: its host or the network failed"
        assert re.search(text, ended[k].out), ended[k].out
