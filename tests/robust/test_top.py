"""Tests `cuprous top` with GPUs, without a GPU, and its list of Cuprous processes."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from .helpers import command, environment, output, started
from .stand_ins import Machine, compiled

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and /dev/shm")
GIB = 1 << 30


@pytest.fixture
def two_gpus(tmp_path: Path) -> dict[str, str | None]:
    machine = Machine(tmp_path).card().nodes().driver()
    machine.libraries.append(compiled("nvml.c", "libnvidia-ml.so.1"))
    return machine.environment() | {"CUPROUS_RUNTIME_DIR": str(tmp_path / "run")}


def look(**env: str | None) -> dict[str, Any]:
    done = command("top", "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ours(folder: Path) -> list[dict[str, Any]]:
    """Returns the processes that publish in the folder; a machine with a GPU may list others."""
    return [row for row in look(CUPROUS_RUNTIME_DIR=str(folder))["processes"] if row["own"]]


def test_without_a_gpu_it_says_why(tmp_path: Path) -> None:
    seen = look(**Machine(tmp_path).environment())
    assert seen["host"]["memory_total"] > seen["host"]["memory_used"] > 0
    assert seen["gpus"] == []
    assert seen["no_gpu"].startswith("No GPU is shown: there is no NVIDIA device node")
    text = command("top", "--once", **Machine(tmp_path / "again").environment()).stdout
    assert "cuprous doctor" in text
    assert "\x1b" not in text


def test_reported_gpu_values(two_gpus: dict[str, str | None]) -> None:
    seen = look(**two_gpus)
    first, second = seen["gpus"]
    want = {
        "name": "NVIDIA Stand-in", "utilization": 83, "memory_used": 20 * GIB, "memory_total": 80 * GIB,
        "temperature": 66,
        "temperature_limit": 90, "power": 412.5, "power_limit": 700.0, "clock": 1400, "clock_limit": 1980,
        "energy": 5000.0, "throttled_by": ["power limit", "too hot (hardware)"],
    }  # fmt: skip
    assert {name: first[name] for name in want} == want
    pcie = {"generation": 4, "generation_limit": 5, "width": 8, "width_limit": 16, "sent": 1 << 20, "received": 1 << 21}
    assert first["pcie"] == pcie
    assert [link["active"] for link in first["nvlink"]] == [True, False]
    # A value that a device does not report is unknown, not zero.
    assert second["name"] == 'NVIDIA "Mute"'
    assert all(second[name] is None for name in ("utilization", "power", "temperature", "memory_used", "fan"))
    (process,) = seen["processes"]
    assert (process["memory"], process["gpu"], process["name"]) == (3 * GIB, 0, "/usr/bin/other")
    text = command("top", "--once", **two_gpus).stdout
    assert "PCIe 4.0 x8 of 5.0 x16" in text
    assert "held by: power limit, too hot (hardware)" in text


def test_a_management_library_that_fails(two_gpus: dict[str, str | None]) -> None:
    seen = look(**two_gpus, STAND_IN_NVML="9")
    assert "management library" in seen["no_gpu"]


@pytest.fixture
def gpus_of_amd(tmp_path: Path) -> dict[str, str | None]:
    machine = Machine(tmp_path).card(vendor="0x1002")
    folder = compiled("amdsmi.c", "libamd_smi.so.26")
    return machine.set(CUPROUS_ROCM_PATH=str(folder)).environment() | {"CUPROUS_RUNTIME_DIR": str(tmp_path / "run")}


def test_reported_values_of_gpus_of_amd(gpus_of_amd: dict[str, str | None]) -> None:
    seen = look(**gpus_of_amd)
    assert seen["driver"] == "6.14.14"
    first, second = seen["gpus"]
    want = {
        "name": "AMD Stand-in", "uuid": "GPU-9a2c5ad0c1b4ef10", "utilization": 83, "memory_busy": 41,
        "memory_used": 20 * GIB, "memory_total": 192 * GIB, "temperature": 66, "temperature_limit": 100, "power": 412.0,
        "power_limit": 750.0, "fan": 20, "clock": 1400, "clock_limit": 2100, "memory_clock": 1300, "index": 0,
    }  # fmt: skip
    assert {name: first[name] for name in want} == want
    # A value that a device does not report is unknown, not zero.
    assert (second["name"], second["index"]) == ("AMD Mute", 1)
    assert all(second[name] is None for name in ("utilization", "power", "temperature", "memory_used", "fan"))
    (process,) = seen["processes"]
    assert (process["memory"], process["gpu"], process["name"]) == (3 * GIB, 0, "/usr/bin/other")
    assert "AMD Stand-in" in command("top", "--once", **gpus_of_amd).stdout


def test_versions_of_amds_library_with_other_structs_are_refused(gpus_of_amd: dict[str, str | None]) -> None:
    # They had the year there.
    assert look(**gpus_of_amd, STAND_IN_AMDSMI="25")["gpus"] == []


USER = """
import sys, os
import cuprous as cp
cp._core.set_device("cpu")
x = cp.ones(1_000_000)
cp.synchronize()
if "fork" in sys.argv:
    pid = os.fork()
    if pid == 0:
        y = cp.ones(50_000_000)
        cp.synchronize()
        print("child", flush=True)
        sys.stdin.read()
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def user(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds 8 MB in Cuprous arrays and waits."""
    env = environment(CUPROUS_RUNTIME_DIR=str(folder), CUPROUS_CHECK_CUDA=None)
    line = [sys.executable, "-c", USER, *arguments]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None and process.stdin is not None
    for _ in range(1 + len(arguments)):
        assert process.stdout.readline().strip() in ("ready", "child")
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait(timeout=60)


@linux_only
def test_own_processes_are_listed(tmp_path: Path) -> None:
    with user(tmp_path) as process:
        (row,) = ours(tmp_path)
        assert (row["pid"], row["gpu"]) == (process.pid, None)
        assert row["own"]["reserved"] >= row["own"]["allocated"] >= 8_000_000
        assert row["host_memory"] > 8_000_000
        assert "python" in row["name"]
        assert "allocated" in command("top", "--once", CUPROUS_RUNTIME_DIR=str(tmp_path)).stdout
    assert list(tmp_path.iterdir()) == []  # it removed its page
    assert ours(tmp_path) == []


@linux_only
def test_ranks_are_named(tmp_path: Path) -> None:
    """While a process is one of several, also where no launcher's variables say so."""
    code = """
import json, subprocess, sys
import cuprous as cp, cuprous.torch.distributed as dist
cp.set_device("cpu")
float(cp.ones(10).sum())
def row():
    done = subprocess.run([sys.executable, "-m", "cuprous", "top", "--json"], capture_output=True, text=True)
    (own,) = [row for row in json.loads(done.stdout)["processes"] if row["own"]]
    return own["rank"]
before = row()
dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
during = row()
text = subprocess.run([sys.executable, "-m", "cuprous", "top", "--once"], capture_output=True, text=True).stdout
dist.destroy_process_group()
print(before, during, row(), "rank 0 of 1: " in text)
"""
    assert output(code, CUPROUS_RUNTIME_DIR=str(tmp_path)) == "None [0, 1] None True"


@linux_only
def test_page_of_a_killed_process_is_ignored(tmp_path: Path) -> None:
    with user(tmp_path) as process:
        process.kill()
        process.wait(timeout=60)
        assert len(list(tmp_path.iterdir())) == 1
        assert ours(tmp_path) == []
        assert list(tmp_path.iterdir()) == []


@linux_only
def test_the_child_of_a_fork_does_not_write_its_parents_page(tmp_path: Path) -> None:
    with user(tmp_path, "fork") as process:
        (row,) = ours(tmp_path)
        assert row["pid"] == process.pid
        assert row["own"]["allocated"] < 100_000_000
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        # The child survives and holds no lock of its parent.
        assert ours(tmp_path) == []


@linux_only
def test_importing_shows_nothing(tmp_path: Path) -> None:
    code = "import cuprous, os; print(os.listdir(os.environ['CUPROUS_RUNTIME_DIR']))"
    assert output(code, CUPROUS_RUNTIME_DIR=str(tmp_path)) == "[]"


@linux_only
@pytest.mark.parametrize("folder", ["", "/proc/none"])
def test_missing_folder_is_not_an_error(folder: str) -> None:
    code = "import cuprous as cp; print(float(cp.ones(10).sum()))"
    assert output(code, CUPROUS_RUNTIME_DIR=folder) == "10.0"


@linux_only
def test_world_writable_folder_is_ignored(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with user(tmp_path):
        assert list(tmp_path.iterdir()) == []


@linux_only
def test_plain_output_has_one_line_per_sample(tmp_path: Path) -> None:
    with started("top", "--json", "--watch", "0.1", CUPROUS_RUNTIME_DIR=str(tmp_path)) as process:
        assert process.stdout is not None
        times = [json.loads(process.stdout.readline())["time"] for _ in range(3)]
        assert sorted(set(times)) == times
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT  # immediately and without a traceback


def test_prometheus(two_gpus: dict[str, str | None]) -> None:
    with started("top", "--prometheus", "127.0.0.1:0", **two_gpus) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            with urlopen(address, timeout=30) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                page = answer.read().decode()
        finally:
            process.terminate()
    sample = re.compile(r'cuprous_[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+')
    for text in page.splitlines():
        assert text.startswith("# ") or sample.fullmatch(text), text
    labels = '{gpu="0",uuid="GPU-01010101-0101-0101-0101-010101010101",name="NVIDIA Stand-in"}'
    assert f"cuprous_gpu_power_watts{labels} 412.5" in page
    assert 'name="NVIDIA \\"Mute\\""' in page


@contextmanager
def screen(**env: str | None) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """The monitor in a terminal: its process and both ends of the terminal."""
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    line = [sys.executable, "-m", "cuprous", "top"]
    process = subprocess.Popen(line, stdin=theirs, stdout=theirs, env=environment(**env, TERM="xterm-256color"))
    os.set_blocking(ours, False)
    try:
        yield process, ours, theirs
    finally:
        process.kill()
        process.wait(timeout=60)


def until(end: int, text: bytes) -> None:
    """Reads the terminal's output until the text appears."""
    seen, deadline = b"", time.monotonic() + 60
    while text not in seen:
        assert time.monotonic() < deadline, seen
        try:
            seen += os.read(end, 100_000)
        except BlockingIOError:
            time.sleep(0.02)


def test_without_colors_and_in_ascii(two_gpus: dict[str, str | None]) -> None:
    """With `LC_ALL=C` bars and curves are ASCII; with `NO_COLOR` no text has a color. It may be bold or underlined."""
    seen, plain = b"", two_gpus | {"LC_ALL": "C", "NO_COLOR": "1"}
    with screen(**plain) as (_, ours, _):
        deadline = time.monotonic() + 60
        while b"####" not in seen or b"keys" not in seen:  # the first screen is whole
            assert time.monotonic() < deadline, seen
            try:
                seen += os.read(ours, 100_000)
            except BlockingIOError:
                time.sleep(0.02)
    assert seen.isascii()
    assert re.findall(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m", seen) == []
    assert command("top", "--once", **plain).stdout.isascii()


def test_the_screen_in_a_terminal(two_gpus: dict[str, str | None]) -> None:
    """Keys are handled, the screen is drawn, and the terminal is restored."""
    import termios

    with screen(**two_gpus) as (process, ours, theirs):
        until(ours, b"Stand-in")
        assert not termios.tcgetattr(theirs)[3] & termios.ECHO
        os.write(ours, b"/stand")
        until(ours, b"(Enter")
        os.write(ours, b"\rq")
        until(ours, b"\x1b[?1049l")  # the previous screen is restored
        assert process.wait(timeout=60) == 0
        assert termios.tcgetattr(theirs)[3] & termios.ECHO
        os.close(theirs)
        os.close(ours)


def test_the_screen_ends_with_its_terminal(two_gpus: dict[str, str | None]) -> None:
    with screen(**two_gpus) as (process, ours, theirs):
        until(ours, b"Stand-in")
        os.close(theirs)
        os.close(ours)
        process.wait(timeout=60)


@pytest.mark.parametrize(("options", "named"), [
    (("--watch", "0"), "86400"), (("--watch", "x"), "not a number"), (("--prometheus", "nowhere"), "port"),
    (("--once", "--watch", "1"), "--once"),
])  # fmt: skip
def test_bad_options_are_named(options: tuple[str, ...], named: str) -> None:
    done = command("top", *options)
    assert done.returncode == 2
    assert named in done.stderr
