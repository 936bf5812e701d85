"""One script for `torchrun` in PyTorch and here: the losses of PyTorch's DistributedDataParallel on gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Unchanged but for the imports; each rank has its part of each batch.
SCRIPT = """
import os, sys
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
dtype = getattr(torch, sys.argv[1])
rng = np.random.default_rng(0)
net = nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.LayerNorm(40), nn.Linear(40, 24), nn.GELU(), nn.Linear(24, 5))
net = net.to(dtype)
with torch.no_grad():
    for p in net.parameters():
        p.copy_(torch.from_numpy(rng.normal(size=tuple(p.shape)) * 0.3))
model = DistributedDataParallel(net, bucket_cap_mb=0.002)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
for step in range(100):
    x = rng.normal(size=(24, 12))
    y = x[:, :5].argmax(axis=1)
    part = slice(rank * 24 // n, (rank + 1) * 24 // n)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.from_numpy(x[part]).to(dtype)), torch.from_numpy(y[part]))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(repr(mean.item() / n))
dist.destroy_process_group()
"""


@pytest.mark.skipif("CUPROUS_PEER_TORCH" not in os.environ, reason="needs a Python with PyTorch: CUPROUS_PEER_TORCH=…")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("n", [2, 4])
def test_losses_are_those_of_pytorchs_ddp(n: int, dtype: str, tolerance: float, tmp_path: Path) -> None:
    """From the same weights, over 100 steps of AdamW with a clipped norm."""
    torchrun = Path(os.environ["CUPROUS_PEER_TORCH"]).with_name("torchrun")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    found = []
    for name, command, environment in (
        ("theirs", [str(torchrun)], clean),
        ("ours", [sys.executable, "-m", "cuprous.run"], dict(os.environ)),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(
            SCRIPT
            if name == "theirs"
            else SCRIPT.replace("import torch\n", "import cuprous.torch as torch\n")
            .replace("import torch.", "import cuprous.torch.")
            .replace("from torch", "from cuprous.torch")
        )
        done = subprocess.run([*command, "--standalone", f"--nproc-per-node={n}", str(path), dtype], env=environment,
                              capture_output=True, text=True, timeout=150)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        found.append([float(line) for line in done.stdout.split()])
    theirs, ours = found
    assert len(theirs) == 100 and theirs[-1] < theirs[0] / 1.5
    assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance)
