"""`python -m cuprous.run`: environment, failures, restarts, signals, and no process left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cuprous.torch.distributed import _rendezvous

#: `say` writes a line at once; the parts of a `print` of two ranks would mix.
_IMPORT = r"""
import os, sys, time
import cuprous.torch as torch, cuprous.torch.distributed as dist
say = lambda *words: os.write(1, (" ".join(map(str, words)) + "\n").encode())
"""


def _start(folder: Path, program: str, *options: str, **more: str) -> subprocess.Popen[str]:
    path = folder / "train.py"
    path.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "cuprous.run", *options, str(path), "--argument", "1"]
    return subprocess.Popen(command, env=os.environ | more, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _run(folder: Path, program: str, *options: str, **more: str) -> tuple[int, str]:
    process = _start(folder, program, *options, **more)
    out, _ = process.communicate(timeout=50)
    return process.returncode, out


def test_ranks_get_torchruns_environment_and_a_secret(tmp_path: Path) -> None:
    """And meet without a port being named."""
    code, out = _run(tmp_path, _IMPORT + """
dist.init_process_group("gloo")
x = torch.ones(1); dist.all_reduce(x)
e = os.environ
say(e["RANK"], e["LOCAL_RANK"], e["WORLD_SIZE"], e["LOCAL_WORLD_SIZE"], e["GROUP_RANK"], x.item(), sys.argv[1:],
    len(e["CUPROUS_JOB_TOKEN"]), dist.is_torchelastic_launched(), e["TORCHELASTIC_RESTART_COUNT"])
dist.destroy_process_group()
""", "--standalone", "--nproc_per_node=2")  # fmt: skip
    assert code == 0, out
    assert sorted(out.splitlines()) == [
        f"{rank} {rank} 2 2 0 2.0 ['--argument', '1'] 64 True 0" for rank in range(2)
    ], out  # fmt: skip


def test_a_failure_ends_all_ranks_and_names_the_cause_first(tmp_path: Path) -> None:
    """The others say why they ended; files hold tracebacks and what was printed."""
    code, out = _run(tmp_path, _IMPORT + """
dist.init_process_group()
say("hello from", dist.get_rank())
if dist.get_rank() == 1:
    raise ValueError("bad batch")
dist.barrier()
""", "--standalone", "--nproc-per-node=3", f"--log-dir={tmp_path}/logs", "--tee=3", "--rdzv-id=job7")  # fmt: skip
    assert code == 1
    tail = out[out.index("[cuprous.run]") :]
    assert tail.index("rank 1 (process") < tail.index("rank 0 (process"), out
    assert "exit code 1" in tail and "ValueError: bad batch" in tail, out
    assert "[rank1]:hello from 1" in out and "rank 1 (host " in out, out
    folder = tmp_path / "logs/job7/attempt_0"
    assert (folder / "2/stdout.log").read_text() == "hello from 2\n"
    assert "raised ValueError: bad batch" in (folder / "0/stderr.log").read_text()
    error = json.loads((folder / "1/error.json").read_text())["message"]
    assert error["message"] == "ValueError: bad batch" and "Traceback" in error["extraInfo"]["py_callstack"]


def test_a_killed_rank_is_explained_by_the_launcher(tmp_path: Path) -> None:
    """Its exit status reaches the ranks through the store."""
    code, out = _run(tmp_path, _IMPORT + """
import signal
dist.init_process_group()
dist.barrier()
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGSEGV)
dist.barrier()
""", "--standalone", "--nproc-per-node=2")  # fmt: skip
    assert code == 1 and "died: killed by signal 11 (SIGSEGV); its last call was #1 barrier at" in out, out


def test_all_ranks_start_again_after_a_failure(tmp_path: Path) -> None:
    """As often as allowed."""
    program = (
        _IMPORT
        + """
dist.init_process_group()
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
x = torch.ones(1); dist.all_reduce(x)
if attempt < 1 and dist.get_rank() == 0:
    sys.exit(3)
dist.barrier()
say("attempt", attempt)
"""
    )
    code, out = _run(tmp_path, program, "--standalone", "--nproc-per-node=2", "--max-restarts=2")
    assert code == 0 and out.count("attempt 1") == 2 and "starting all ranks again (1 of 2)" in out, out
    code, out = _run(tmp_path, program, "--standalone", "--nproc-per-node=2")
    assert code == 1 and "exit code 3" in out, out


@pytest.mark.parametrize(
    ("number", "code", "options"),
    [(signal.SIGTERM, 143, []), (signal.SIGINT, 130, []), (signal.SIGQUIT, 131, []), (signal.SIGKILL, -9, []),
     (signal.SIGUSR1, 138, ["--signals-to-handle=SIGTERM,SIGUSR1"])],
)  # fmt: skip
def test_signals_end_all_processes(number: signal.Signals, code: int, options: list[str], tmp_path: Path) -> None:
    """Also if the launcher itself is killed, and what ranks have started in their group."""
    process = _start(tmp_path, r"""
import os, subprocess, sys, time
os.write(1, f"PID {os.getpid()}\n".encode())
time.sleep(100)
""", "--standalone", "--nproc-per-node=2", *options)  # fmt: skip
    assert process.stdout is not None
    pids = [int(process.stdout.readline().split()[1]) for _ in range(2)]
    process.send_signal(number)
    assert process.wait(10) == code
    until = time.monotonic() + 5
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < until, "a rank is left"
        time.sleep(0.02)
    process.stdout.close()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_launchers_are_one_job(tmp_path: Path) -> None:
    """As on two hosts. A failure on one ends the ranks of the other."""
    from cuprous import _core

    program = (
        _IMPORT
        + """
dist.init_process_group()
x = torch.tensor([dist.get_rank()]); dist.all_reduce(x)
say("sum", x.item(), os.environ["GROUP_RANK"])
if os.environ.get("FAIL") == os.environ["RANK"]:
    raise OSError("disk")
dist.barrier()
"""
    )
    store = _core.DistStore.tcp("127.0.0.1", 0, True, 10.0)
    port = store.port
    del store
    for fail, expected in ("", 0), ("3", 1):
        options = ["--nnodes=2", "--nproc-per-node=2", f"--rdzv-endpoint=127.0.0.1:{port}"]
        both = [_start(tmp_path, program, *options, f"--node-rank={k}", FAIL=fail) for k in range(2)]
        outs = [process.communicate(timeout=50)[0] for process in both]
        assert [process.returncode for process in both] == [expected] * 2, outs
        if fail:
            assert "rank 3 (host" in outs[0] and "raised OSError: disk" in outs[0], outs[0]
        else:
            assert "sum 6 0" in outs[0] and "sum 6 1" in outs[1], outs


def test_a_taken_port_and_wrong_options_end_at_once(tmp_path: Path) -> None:
    """With what to do."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out = _run(tmp_path, "", f"--master-port={port}")
        assert code == 1 and f"127.0.0.1:{port}" in out and "--standalone or port 0" in out, out
    code, out = _run(tmp_path, "", "--nproc-per-node=none")
    assert code == 1 and "positive number, auto, cpu or gpu" in out


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1"}, (3, 8, 1)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, (1, 2, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, (0, 4, None)),
        ({"RANK": "5", "WORLD_SIZE": "6", "PMI_RANK": "0", "PMI_SIZE": "4"}, (5, 6, None)),
    ],
)
def test_other_launchers_are_understood(
    environ: dict[str, str], expected: tuple[int, int, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first that says rank and number of ranks wins."""
    for names in _rendezvous._LAUNCHERS:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = _rendezvous._launched()
    assert (found.get("rank"), found.get("world_size"), found.get("local_rank")) == expected


@pytest.mark.parametrize(
    ("host", "before", "after"),
    [("127.0.0.1", None, "lo"), ("localhost", None, "lo"), ("127.0.0.1", "eth0", "eth0"), ("10.1.2.3", None, None)],
)
def test_the_connections_of_nccl_stay_on_the_host_of_the_job(
    host: str, before: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody proves to NCCL that it belongs to the job."""
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", before or "")
    if before is None:
        monkeypatch.delenv("NCCL_SOCKET_IFNAME")
    _rendezvous.choose_interface_of_nccl(host)
    assert os.environ.get("NCCL_SOCKET_IFNAME") == after
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)


@pytest.mark.skipif("CUPROUS_PEER_TORCH" not in os.environ, reason="needs a Python with PyTorch: CUPROUS_PEER_TORCH=…")
def test_pytorchs_own_launcher_starts_the_ranks(tmp_path: Path) -> None:
    """The real torchrun, which hosts the store: a script for DistributedDataParallel, and a large tensor."""
    path = tmp_path / "program.py"
    path.write_text(
        _IMPORT
        + """
from cuprous.torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.ones(2, 3) * (dist.get_rank() + 1)).square().mean().backward()
    optimizer.step()
x = torch.ones(400_000)
dist.all_reduce(x)
say("done", x[5].item(), round(model.module.weight.sum().item(), 4))
dist.destroy_process_group()
"""
    )
    torchrun = Path(os.environ["CUPROUS_PEER_TORCH"]).with_name("torchrun")
    command = [torchrun, "--standalone", "--nproc-per-node=2", "--no-python", sys.executable, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    lines = [line.partition("done")[2] for line in done.stdout.splitlines() if "done" in line]
    assert len(lines) == 2 and len(set(lines)) == 1 and lines[0].startswith(" 2.0 "), done.stdout


def test_slurm_gives_address_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first host of the step, and a port that follows from the job; an interactive shell is one rank."""
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "70000")
    with pytest.warns(UserWarning, match="start ranks with srun"):
        assert _rendezvous._launched()["world_size"] == 1
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_STEP_NODELIST", "node[003-005,9],other1")
    assert _rendezvous._master(4) == ("node003", 70000 % 4096 + 61440)
    monkeypatch.setenv("SLURM_JOB_NAME", "bash")
    with pytest.warns(UserWarning, match="only rank"):
        assert _rendezvous._launched()["world_size"] == 1


_SAY = """
import os
for file, name in ((1, "out"), (2, "err")):
    os.write(file, f"{name}{os.environ['RANK']} ".encode())
"""


@pytest.mark.parametrize(
    ("options", "console", "files"),
    [
        (["--tee=0:3,1:1", "--local_ranks_filter", "0"], "out0 err0", "out0 err0 out1"),
        (["-r", "1:3"], "out0 err0", "out1 err1"),
        (["-t", "2", "--redirects=1"], "err0 err1", "err0 err1 out0 out1"),
        (["--local-ranks-filter=1"], "out1 err1", ""),
    ],
)
def test_streams_of_each_rank_go_where_torchrun_lets_them_go(
    options: list[str], console: str, files: str, tmp_path: Path
) -> None:
    """To files, to the console, to both or, of a rank that is filtered out, nowhere."""
    code, out = _run(tmp_path, _SAY, "--standalone", "--nproc-per-node=2", f"--log-dir={tmp_path}/logs", *options)
    written = " ".join(path.read_text() for path in (tmp_path / "logs").rglob("*.log"))
    assert code == 0 and sorted(out.replace("[rank0]:", "").replace("[rank1]:", "").split()) == sorted(console.split())
    assert sorted(written.split()) == sorted(files.split())


def test_each_rank_may_see_its_own_gpu_alone(tmp_path: Path) -> None:
    """As number 0: of those that are visible to the launcher."""
    program = """
import os
names = ("RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES")
os.write(1, (" ".join(os.environ[name] for name in names) + "\\n").encode())
"""
    arguments = ["--standalone", "--nproc-per-node=2", "--virtual-local-rank"]
    for given, gpus in ((None, ("0", "1")), ("5, 3,1", ("5", "3"))):
        more = {} if given is None else {"CUDA_VISIBLE_DEVICES": given}
        code, out = _run(tmp_path, program, *arguments, **more)
        assert code == 0 and sorted(out.splitlines()) == [f"{rank} 0 {gpu}" for rank, gpu in enumerate(gpus)], out
    code, out = _run(tmp_path, program, *arguments, CUDA_VISIBLE_DEVICES="4")
    assert code == 1 and "CUDA_VISIBLE_DEVICES=4 has fewer GPUs than 2 ranks" in out


def test_ranks_listen_where_local_addr_says(tmp_path: Path) -> None:
    """127.0.0.2 is this machine's too."""
    program = (
        _IMPORT
        + """
dist.init_process_group("gloo")
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
addresses = [store.get(key).decode() for key in store.list_keys() if "/control/" in key]
dist.barrier()
say(*[address.rpartition(":")[0] for address in addresses])
"""
    )
    code, out = _run(tmp_path, program, "--standalone", "--nproc-per-node=2", "--local-addr=127.0.0.2")
    assert code == 0 and out == "127.0.0.2 127.0.0.2\n" * 2, out
    code, out = _run(tmp_path, program, "--standalone", "--nproc-per-node=2", "--local-addr=198.51.100.7")
    assert code == 1 and "CUPROUS_LOCAL_ADDR=198.51.100.7: this machine does not have that address" in out, out


def test_torchruns_environment_variables_and_other_options(tmp_path: Path) -> None:
    """Kubernetes' operators set PET_…; what the command line says goes before."""
    program = "import os\nos.write(1, (os.environ['ROLE_NAME'] + os.environ['WORLD_SIZE'] + '\\n').encode())"
    pet = {"PET_NPROC_PER_NODE": "2", "PET_STANDALONE": "1", "PET_NNODES": "1:1", "PET_ROLE": "worker"}
    assert _run(tmp_path, program, **pet) == (0, "worker2\nworker2\n")
    assert _run(tmp_path, program, "--nproc-per-node=1", "--role=own", **pet) == (0, "own1\n")
    code, out = _run(tmp_path, program, "--nnodes=1:2", "--standalone")
    assert code == 2 and "1:2: the number of hosts cannot change during a job; give one number" in out
    code, out = _run(tmp_path, program, "--standalone", "--signals-to-handle=SIGTERM,SIGKILL,SIGFOO")
    assert code == 2 and "SIGKILL, SIGFOO: not a signal that a process can handle" in out
    assert _run(tmp_path, program, "--standalone", "--role=r", "--run-path", "--no-python") == (0, "r1\n")
    code, out = _run(tmp_path, program, "--standalone", "--rdzv-conf=foo=1")
    assert code == 2 and "foo: only join_timeout or timeout is supported" in out
    started = time.monotonic()
    code, out = _run(tmp_path, program, "--nnodes=2", "--rdzv-endpoint=127.0.0.1:0", "--rdzv-conf=join_timeout=1")
    assert code == 1 and "host 1 of 2 has not joined" in out and time.monotonic() - started < 20, out


def test_lines_with_a_text_go_to_one_file_and_have_a_prefix(tmp_path: Path) -> None:
    """Of the streams that go to files and to the console."""
    program = """
import os
rank = os.environ["RANK"]
os.write(1, f"loss {rank}\\na,b {rank}\\nother\\n".encode())
os.write(2, b"loss is nan\\n")
"""
    options = ["--tee=0:3,1:1", "--duplicate-stdout-filters=a,,b,loss", "--duplicate_stderr_filters", "nan"]
    prefix = {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "<${role_name} ${rank}> "}
    options += ["--standalone", "--nproc-per-node=2", "--rdzv-id=j", f"--log-dir={tmp_path}/logs"]
    code, out = _run(tmp_path, program, *options, **prefix)
    folder = tmp_path / "logs/j/attempt_0"
    assert code == 0 and "<default 1> other" in out, out
    assert sorted((folder / "filtered_stdout.log").read_text().splitlines()) == [
        f"<default {rank}> {text} {rank}" for rank in range(2) for text in ("a,b", "loss")
    ]
    assert (folder / "filtered_stderr.log").read_text() == "<default 0> loss is nan\n"


def test_options_for_gpus_and_of_pytorchs_logging_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    for options, text in (
        (["--numa-binding=node"], "--numa-binding: this machine has 0 GPUs for 1 ranks"),
        (["--nproc-per-node=gpu"], "--nproc-per-node=gpu: this machine has no GPU"),
        (["--event-log-handler=console"], "console: no events are recorded"),
        (["--logs-specs=own"], "own: extensions of PyTorch's logging are not supported"),
    ):
        code, out = _run(tmp_path, "", "--standalone", *options, **hidden)
        assert code != 0 and text in out, out
    program = "import os\nos.write(1, b'x')"
    assert _run(tmp_path, program, "--standalone", "--nproc-per-node=auto", **hidden) == (
        0,
        "x" * (os.cpu_count() or 1),
    )
    code, out = _run(tmp_path, program, "--standalone", "--event-log-handler=null", "--shutdown-timeout=5")
    assert (code, out) == (0, "x")
