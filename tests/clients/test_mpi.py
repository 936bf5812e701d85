"""The backend "mpi" under the `mpirun` of the MPI that is installed beside Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.distributed.jobs import LIMIT, Ended, write

pytest.importorskip("mpi4py", reason="mpi4py is not installed (requirements-clients.txt)")
MPIRUN = Path(sys.executable).parent / "mpirun"
if not MPIRUN.exists():
    pytest.skip("no MPI is installed beside Python (requirements-clients.txt)", allow_module_level=True)
_ROOT = Path(__file__).resolve().parents[2]
#: Open MPI runs as root, and with more ranks than cores, only with these.
_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def start(path: Path, n: int, **more: str) -> subprocess.Popen[str]:
    """Starts a program under mpirun. Variables of other launchers do not matter."""
    paths = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | _SETTINGS | {"TEST_BACKEND": "mpi", "PYTHONPATH": paths} | more
    return subprocess.Popen(
        [MPIRUN, "-n", str(n), sys.executable, str(path)], env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def mpirun(program: str | Path, n: int = 2, limit: int = LIMIT, **more: str) -> Ended:
    """Runs a program under mpirun, of which no process is left after `limit` seconds."""
    began = time.monotonic()
    process = start(program if isinstance(program, Path) else write(program, limit), n, **more)
    try:
        out, _ = process.communicate(timeout=limit)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Ended(process.returncode, out, time.monotonic() - began)


def succeeds(program: str | Path, n: int = 2, limit: int = LIMIT, **more: str) -> str:
    """Runs a program in which all ranks succeed. Returns what they print."""
    ended = mpirun(program, n, limit, **more)
    assert ended.code == 0, ended.out
    return ended.out


@pytest.mark.parametrize(("n", "sequences"), [(2, 12), (4, 6)])
def test_random_sequences_of_collectives_agree_with_numpy(n: int, sequences: int) -> None:
    """Those of the backend "ring": all operations, dtypes, sizes, groups and roots, in order and overlapping.

    Most of the time is NumPy's, so a busy machine takes several times as long.
    """
    program = f"from tests.distributed.sequences import run_sequences\nrun_sequences({3000 * n}, {sequences})\n"
    succeeds(program, n, limit=3 * LIMIT)


def test_both_backends_give_the_same_bits_and_errors() -> None:
    """Sums of floats are taken in the order of the ranks; messages match by tag; the group says what it is."""
    succeeds("""
    assert dist.get_backend() == "mpi" and dist.is_mpi_available() and dist.is_backend_available("mpi")
    assert "MPI" in repr(dist.group.WORLD)
    ring = dist.new_group(backend="gloo")
    local = dist.new_group([0, 2], use_local_synchronization=True) if rank != 1 else None
    assert dist.get_backend(ring) == "ring" and (local is None or dist.get_backend(local) == "mpi")
    rng = np.random.default_rng(rank)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64):
        for size in (5, 5_000, 400_000):
            values = torch.from_numpy(rng.normal(size=(2, size))).to(torch.float64)
            one = (torch.complex(values[0], values[1]) if dtype == torch.complex64 else values[0]).to(dtype)
            two = one.clone()
            dist.all_reduce(one)
            dist.all_reduce(two, group=ring)
            assert torch.equal(one, two), (dtype, size)
    right, left = (rank + 1) % n, (rank - 1) % n
    out, got = torch.full((700_000,), float(rank)), torch.zeros(700_000)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, out, right), dist.P2POp(dist.irecv, got, left)])
    assert all(w.wait() for w in works) and (got == left).all().item()
    sends = [dist.isend(torch.tensor([10 * rank + tag]), right, tag=tag) for tag in (5, 6, 7)]
    for tag in (7, 5, 6):
        received = torch.tensor([0])
        assert dist.recv(received, left, tag=tag) == left and received.item() == 10 * left + tag
    if local is not None:
        dist.all_reduce(got, group=local)
        assert got[-1].item() == 3          # of ranks 0 and 2: 2 + 1
    try:
        dist.all_reduce(out, dist.ReduceOp.BXOR)
        raise SystemExit("accepted")
    except RuntimeError as e:               # as gloo's
        assert "not supported for float32" in str(e)
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group("mpi")          # again
    dist.barrier()
    """, 3)  # fmt: skip


_TRAINING = """
import sys
import cuprous.torch as torch
import cuprous.torch.distributed as dist
from cuprous.torch.nn.parallel import DistributedDataParallel as DDP
from cuprous.torch.utils.data import DataLoader, TensorDataset
from cuprous.torch.utils.data.distributed import DistributedSampler

dist.init_process_group("mpi")
torch.set_default_device("cpu")
torch.manual_seed(dist.get_rank())
x = torch.linspace(-1, 1, 64, dtype=torch.float64).reshape(-1, 1)
data = TensorDataset(x, x**2)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(torch.float64)
model = DDP(net)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for epoch in range(10):
    sampler = DistributedSampler(data, shuffle=False)
    for inputs, targets in DataLoader(data, batch_size=16 // dist.get_world_size(), sampler=sampler):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach(), dist.ReduceOp.AVG)
        if dist.get_rank() == 0:
            sys.stdout.write(f"loss {loss.item():.17g}\\n")
dist.destroy_process_group()
"""


def _losses(text: str) -> list[float]:
    return [float(line.split()[1]) for line in text.splitlines() if line.startswith("loss ")]


def test_a_script_for_ddp_has_the_losses_of_one_process(tmp_path: Path) -> None:
    """A script written for PyTorch with MPI, whose imports alone are changed: 2 and 4 ranks, to 1e-12 in float64."""
    script = tmp_path / "train.py"
    script.write_text(_TRAINING)
    one = _losses(succeeds(script, 1))
    assert len(one) == 40 and one[-1] < one[0] / 4
    for n in (2, 4):
        assert _losses(succeeds(script, n)) == pytest.approx(one, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    ("program", "texts"),
    [
        ("dist.all_reduce(torch.ones(3 + rank))", ["all_reduce float32[3] sum at", "all_reduce float32[4] sum at"]),
        ("if rank: raise ValueError('bad batch')\ndist.barrier()", ["raised ValueError: bad batch", "rank 1 (host "]),
        ("if rank: dist.destroy_process_group()\nelse: dist.barrier()", ["rank 1 left the job"]),
    ],
    ids=["mismatch", "exception", "leaves"],
)  # fmt: skip
def test_failures_are_explained_as_by_the_ring(program: str, texts: list[str]) -> None:
    """Within seconds, with ranks and lines, and mpirun ends."""
    ended = mpirun(program)
    assert ended.code != 0 and ended.after < 20, ended
    for text in texts:
        assert text in ended.out, ended.out


def test_a_stopped_rank_is_an_error_after_the_timeout() -> None:
    """The others do not hang in MPI: they say who is missing and where."""
    ended = mpirun("""
    import signal
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        dist.all_reduce(torch.ones(500_000))
    except dist.DistBackendError as e:
        os.write(1, f"caught: {e}\\n".encode())
        os._exit(3)
    """, TEST_TIMEOUT="2")  # fmt: skip
    assert ended.code != 0 and ended.after < 20 and "caught:" in ended.out and "rank 1" in ended.out, ended.out


def test_what_mpi_knows_nothing_of_is_an_error() -> None:
    """torchrun's ranks without MPI, and a group of MPI in a job of the ring."""
    code = """
import cuprous.torch.distributed as dist
try:
    dist.init_process_group("mpi")
except ValueError as e:
    print("mpirun" in str(e))
dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
try:
    dist.new_group(backend="mpi")
except ValueError as e:
    print("init_process_group" in str(e))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"WORLD_SIZE": "2"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.stdout.split() == ["True", "True"], done.stderr
