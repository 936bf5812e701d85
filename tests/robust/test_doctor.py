"""Tests `cuprous doctor` on simulated machines: each problem is reported with its cause and one fix."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .helpers import command, environment, run
from .stand_ins import Machine, compiled

# The loader searches sys.path for pip's wheels; these tests simulate what is installed.
COMMAND = """
import importlib.util, sys
from importlib import metadata
hidden, versions = {hidden!r}, {versions!r}
import cuprous
cuprous._core.set_library_roots({roots!r})
real = metadata.version
def version(name):
    if name in hidden:
        raise metadata.PackageNotFoundError(name)
    return versions.get(name) or real(name)
metadata.version = version
sys.exit(cuprous._core.cli(["doctor", "--json"]))
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class Report(dict[str, Any]):
    """Returns the findings by name."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert "Traceback" not in done.stderr and "panicked" not in done.stderr, done.stderr
        self.all = json.loads(done.stdout)
        self.code = done.returncode
        super().__init__((check["name"], check) for check in self.all["checks"])
        self.broken = [check["name"] for check in self.all["checks"] if check["state"] == "broken"]
        assert self.code == int(bool(self.broken)) == int(not self.all["ok"])
        for check in self.all["checks"]:
            assert check["state"] != "broken" or (check["cure"] and "\n" not in check["cure"]), check


def doctor(machine: Machine, roots: Sequence[str] = (), hidden: Sequence[str] = (), **versions: str) -> Report:
    code = COMMAND.format(roots=[*roots], hidden=hidden, versions=versions)
    return Report(run(code, timeout=120, **machine.environment()))


def nvrtc_root() -> list[str]:
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    if not any(Path(root, "cu13/lib/libnvrtc.so.13").exists() for root in roots):
        pytest.skip("needs NVRTC of CUDA 13")
    return roots


def test_no_gpu_at_all(machine: Machine) -> None:
    report = doctor(machine)
    assert (report.code, report["gpu"]["state"]) == (0, "note")
    assert "no GPU is usable here" in report.all["summary"]
    assert "driver" not in report


@pytest.mark.parametrize(
    ("vendor", "maker", "found"), [("0x1002", "AMD", "no device node"), ("0x8086", "Intel", "cannot use Intel GPUs")]
)
def test_a_gpu_of_another_maker(machine: Machine, vendor: str, maker: str, found: str) -> None:
    report = doctor(machine.card(vendor))
    assert (report.code, report[f"{maker} gpu"]["state"]) == (0, "note")
    assert found in report[f"{maker} gpu"]["found"]


def test_no_driver(machine: Machine) -> None:
    report = doctor(machine.card())
    assert report.broken == ["gpu"]
    assert "on the PCI bus" in report["gpu"]["found"]
    assert "install NVIDIA's driver" in report["gpu"]["cure"]


def test_a_container_without_the_gpu(machine: Machine) -> None:
    """The container may hide the host's GPU on purpose, so this is not an error."""
    machine.card().write("/.dockerenv")
    report = doctor(machine)
    assert (report.code, report["gpu"]["state"]) == (0, "note")
    assert "--gpus all" in report["gpu"]["cure"]


@pytest.mark.parametrize(
    ("place", "cure"),
    [(None, "restart the machine"), ("/.dockerenv", "NVIDIA_DRIVER_CAPABILITIES"), ("WSL", "in Windows")],
)
def test_device_nodes_without_a_driver(machine: Machine, place: str | None, cure: str) -> None:
    machine.card().nodes()
    if place == "WSL":
        machine.write("/proc/version", "Linux version 6.6.0-microsoft-standard-WSL2\n")
    elif place:
        machine.write(place)
    report = doctor(machine)
    assert report.broken == ["driver"]
    assert "libcuda.so.1" in report["driver"]["found"]
    assert cure in report["driver"]["cure"]


def test_an_old_driver(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver(cuda=11040))
    assert report.broken == ["driver"]
    assert "CUDA 11.4" in report["driver"]["found"] and "580.95.05" in report["driver"]["found"]
    assert "525.60.13" in report["driver"]["cure"]


@pytest.mark.parametrize(("status", "cause", "cure"), [
    (803, "different versions", "restart the machine"), (802, "switch", "nvidia-fabricmanager"),
    (999, "nvidia-uvm", "nvidia-modprobe"), (46, "exclusively", "nvidia-smi -c DEFAULT"),
    (4711, "simulated fault", "nvidia-smi"),
])  # fmt: skip
def test_a_driver_that_does_not_start(machine: Machine, status: int, cause: str, cure: str) -> None:
    report = doctor(machine.card().nodes().driver(status=status))
    assert report.broken == ["driver"]
    assert cause in report["driver"]["found"]
    assert cure in report["driver"]["cure"]


def test_no_permission(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver().set(STAND_IN_DENY="1"))
    assert report.broken == ["nvidia device"]
    assert "/dev/nvidia0: Permission denied" in report["nvidia device"]["found"]
    assert "usermod" in report["nvidia device"]["cure"]


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_devices_that_are_hidden(machine: Machine, hidden: str) -> None:
    report = doctor(machine.card().nodes().driver().set(CUDA_VISIBLE_DEVICES=hidden))
    check = report["CUDA_VISIBLE_DEVICES"]
    assert (report.code, check["state"], check["cure"]) == (0, "note", "unset CUDA_VISIBLE_DEVICES")


def test_nonexistent_visible_devices(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver(status=100).set(CUDA_VISIBLE_DEVICES="7"))
    assert report.broken == ["driver"]
    assert report["driver"]["cure"] == "unset CUDA_VISIBLE_DEVICES"


def test_missing_wheels(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver())
    assert report["driver"]["state"] == "ok"
    assert "Stand-in, 8 GiB, compute 9.0" in report["gpu 0"]["found"]
    assert {"NVRTC", "cuBLASLt", "cuFFT", "cuSOLVER", "cuSPARSE"} <= set(report.broken)
    # One line for all of them.
    assert {report[name]["cure"] for name in ("NVRTC", "cuBLASLt", "cuFFT", "cuSOLVER")} == {
        'pip install "cuprous[cuda]"'
    }
    assert report["cuDNN"]["state"] == "note"  # convolutions also run without it


def test_missing_wheels_for_an_older_driver(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver(cuda=12040))
    assert {report[name]["cure"] for name in ("NVRTC", "cuBLASLt", "cuFFT", "cuSOLVER", "cuSPARSE")} == {
        'pip install "cuprous[cuda12]"'
    }


def test_the_wrong_cuda_major(machine: Machine) -> None:
    report = doctor(machine.card().nodes().driver(cuda=12040), nvrtc_root())
    assert "belongs to CUDA 13, but the driver supports CUDA 12.4" in report["NVRTC"]["found"]
    assert report["NVRTC"]["cure"] == "pip install nvidia-cuda-nvrtc-cu12"


@pytest.mark.parametrize(("compute", "cure"), [(61, "nvidia-cuda-nvrtc-cu12"), (990, "--upgrade")])
def test_a_gpu_that_the_compiler_does_not_know(machine: Machine, compute: int, cure: str) -> None:
    report = doctor(machine.card().nodes().driver(compute=compute), nvrtc_root())
    assert cure in report["compiler for gpu 0"]["cure"]


@pytest.mark.parametrize("gpu", [False, True])
def test_a_library_that_lacks_another(machine: Machine, tmp_path: Path, gpu: bool) -> None:
    """The library exists, so "not installed" would be misleading."""
    folder = tmp_path / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    needed = compiled("empty.c", "libnvJitLink.so.13")
    # By its bare name, as NVIDIA's libraries link to each other.
    line = ["cc", "-shared", "-fPIC", "-o", "libcusolver.so.12", "-Wl,--no-as-needed"]
    subprocess.run([*line, f"-L{needed}", "-l:libnvJitLink.so.13"], check=True, cwd=folder)
    if gpu:
        machine.card().nodes().driver()
    check = doctor(machine, [str(tmp_path / "nvidia")])["cuSOLVER"]
    assert check["state"] == ("broken" if gpu else "note")
    assert "found but cannot be loaded" in check["found"] and "libnvJitLink.so.13" in check["found"]
    assert "not installed" not in check["found"]
    assert check["cure"] == 'pip install "nvidia-nvjitlink>=13,<14"'


def test_a_library_cut_short(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    (folder / "libcufft.so.12").write_bytes(b"\x7fELF")
    check = doctor(machine.card().nodes().driver(), [str(tmp_path / "nvidia")])["cuFFT"]
    assert "found but cannot be loaded" in check["found"]
    assert check["cure"] == 'pip install --force-reinstall --no-deps "nvidia-cufft>=12,<13"'


def test_python_packages(machine: Machine) -> None:
    report = doctor(machine, hidden=["ml_dtypes"], numpy="1.26.4")
    assert report.broken == ["numpy", "ml_dtypes"]
    assert "1.26.4 is too old, 2.0 is needed" in report["numpy"]["found"]
    assert report["ml_dtypes"]["cure"] == 'pip install "ml_dtypes>=0.5"'


@pytest.mark.parametrize(
    ("variables", "state", "found"),
    [
        ({}, "note", "mpirun start ranks"),
        ({"RANK": "1", "WORLD_SIZE": "4"}, "ok", "rank 1 of 4 by torchrun's variables"),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}, "ok", "is reached from 127.0.0.1"),
        ({"RANK": "4", "WORLD_SIZE": "4"}, "broken", 'rank "4" of "4"'),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "no.such.host.invalid"}, "broken", "cannot be reached"),
    ],
)
def test_ranks(machine: Machine, variables: dict[str, str], state: str, found: str) -> None:
    """Which rank a process would be, whether rank 0 can be reached, and what is installed for several processes."""
    report = doctor(machine.set(**variables), hidden=["mpi4py"])
    assert report["ranks"]["state"] == state and found in report["ranks"]["found"], report["ranks"]
    assert (report["mpi"]["state"], report["mpi"]["cure"]) == ("note", "pip install mpi4py mpich")
    assert {report[name]["step"] for name in ("ranks", "mpi")} == {"ranks"}


def test_mpi_is_named(machine: Machine) -> None:
    report = doctor(machine, mpi4py="4.1.2", mpich="5.0.2")
    assert (report["mpi"]["state"], report["mpi"]["found"]) == ("ok", "mpi4py 4.1.2 on mpich 5.0.2")


def test_steps_in_words(machine: Machine) -> None:
    done = command("doctor", timeout=120, **machine.card().nodes().driver(cuda=11040).environment())
    assert done.returncode == 1
    titles = [
        "1. This machine", "2. GPU", "3. Driver", "4. GPU libraries", "5. cuDNN", "6. Python packages",
        "7. Several processes",
    ]  # fmt: skip
    assert sorted(titles, key=done.stdout.index) == titles
    assert done.stdout.count('pip install "cuprous[cuda]"') <= 1
    assert done.stdout.startswith("Do first: install NVIDIA's driver 525.60.13 or newer")
    assert "BROKEN" in done.stdout and "-> install NVIDIA's driver 525.60.13" in done.stdout


def test_the_cure_of_missing_wheels_is_the_first_line(machine: Machine) -> None:
    code = COMMAND.format(roots=[], hidden=(), versions={}).replace(', "--json"', "")
    done = run(code, timeout=120, **machine.card().nodes().driver().environment())
    assert done.stdout.splitlines()[0] == 'Do first: pip install "cuprous[cuda]"'


def test_a_sound_machine_has_nothing_to_do_first(machine: Machine) -> None:
    assert command("doctor", timeout=120, **machine.environment()).stdout.startswith("1. This machine\n")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_color", "wanted"), [(None, 1), ("1", 0)])
def test_faults_are_red_in_a_terminal(machine: Machine, no_color: str | None, wanted: int) -> None:
    ours, theirs = os.openpty()
    env = environment(**machine.card().environment(), NO_COLOR=no_color, TERM="xterm")
    line = [sys.executable, "-m", "cuprous", "doctor"]
    subprocess.run(line, stdout=theirs, stderr=subprocess.DEVNULL, timeout=120, check=False, env=env)
    os.close(theirs)
    printed = os.read(ours, 100_000).decode()
    os.close(ours)
    assert printed.count("\x1b[31mBROKEN") == wanted
    assert ("\x1b" in printed) == (wanted > 0)
