"""Trains the network of examples/learning/gpt.py on several processes, each with its part of every batch.

python -m cuprous.run --standalone --nproc-per-node=2 examples/cluster/train_gpt.py
mpirun -n 2 python examples/cluster/train_gpt.py --backend mpi
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import cuprous.torch as torch
import cuprous.torch.distributed as dist
from cuprous.torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "learning"))
from gpt import GPT, TEXT, F, optim

LENGTH, BATCH = 32, 16


def batches(steps: int, rank: int, ranks: int):
    """Yields a rank's part of each batch: the same texts for any number of ranks."""
    letters = sorted(set(TEXT))
    numbers = np.array([letters.index(c) for c in TEXT])
    starts = np.random.RandomState(0).randint(0, len(numbers) - LENGTH - 1, (steps, BATCH))
    for at in np.array_split(starts, ranks, axis=1)[rank]:
        yield torch.tensor(numbers[at[:, None] + np.arange(LENGTH + 1)])


def main() -> None:
    """Runs the command line on each rank."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--backend", default="gloo", help="gloo or mpi")
    options = parser.parse_args()
    dist.init_process_group(options.backend)
    torch.set_default_device("cpu")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if BATCH % ranks:
        raise SystemExit(f"batches of {BATCH} cannot be divided equally among {ranks} ranks")
    torch.manual_seed(0)
    model = DistributedDataParallel(GPT(len(set(TEXT)), LENGTH))
    optimizer = optim.AdamW(model.parameters(), lr=0.003, betas=(0.9, 0.95), weight_decay=0.1)
    start, losses = time.perf_counter(), []
    for batch in batches(options.steps, rank, ranks):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    means = torch.stack(losses)
    dist.all_reduce(means, dist.ReduceOp.AVG)  # once, after the last step
    if rank == 0:
        spent = f"{options.steps} steps on {ranks} ranks in {time.perf_counter() - start:.1f} s"
        print(f"loss {means[0].item():.4f} -> {means[-1].item():.4f}, {spent}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
