"""All-reduce and steps of DistributedDataParallel beside PyTorch on gloo: `python -m bench.collectives --torch PYTHON`.

Both libraries run in turn, in processes of their own on this machine. Times are medians of rank 0, in microseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys

_PROGRAM = r"""
import json, os, sys, time
if os.environ["LIBRARY"] == "torch":
    import torch, torch.distributed as dist
    torch.set_num_threads(1)
else:
    import cuprous.torch as torch, cuprous.torch.distributed as dist
    torch.set_default_device("cpu")
F, DDP = torch.nn.functional, torch.nn.parallel.DistributedDataParallel
dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()

def median(call, seconds):
    for _ in range(3):
        call()
    times = []
    while True:  # rank 0 decides when it is enough
        dist.barrier()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        stop = torch.tensor([float(sum(times) >= seconds and len(times) >= 7)])
        dist.broadcast(stop, src=0)
        if stop.item():
            break
    return sorted(times)[len(times) // 2] * 1e6

rows = {}
for size in json.loads(os.environ["SIZES"]):
    x = torch.zeros(size // 4)
    rows[f"all-reduce {size}"] = median(lambda: dist.all_reduce(x), 0.5)

def steps(model):
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.ones(8, 10), torch.ones(8, 2)
    def step():
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()
        opt.step()
        return next(iter(model.parameters()))[0, 0].item()
    return step

torch.manual_seed(0)
rows["step of Linear(10, 2)"] = median(steps(torch.nn.Linear(10, 2)), 0.3)
rows["the same with DDP"] = median(steps(DDP(torch.nn.Linear(10, 2))), 0.3)
dist.barrier()
if rank == 0:
    print(json.dumps(rows))
dist.destroy_process_group()
"""

SIZES = [4, 4096, 64 << 10, 1 << 20, 25 << 20, 100 << 20]


def run(python: str, library: str, ranks: int) -> dict[str, float]:
    """Returns the times of one library by row."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    own = {"LIBRARY": library, "SIZES": json.dumps(SIZES), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
           "WORLD_SIZE": str(ranks)}  # fmt: skip
    processes = [
        subprocess.Popen([python, "-c", _PROGRAM], env=os.environ | own | {"RANK": str(rank)}, text=True,
                         stdout=subprocess.PIPE)
        for rank in range(ranks)
    ]  # fmt: skip
    outs = [process.communicate(timeout=300)[0] for process in processes]
    rows: dict[str, float] = json.loads(outs[0])
    return rows


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", required=True, help="a Python with PyTorch")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    options = parser.parse_args()
    for ranks in options.ranks:
        rounds = [(run(sys.executable, "cuprous", ranks), run(options.torch, "torch", ranks)) for _ in range(3)]
        print(f"\n{ranks} ranks{'':24}cuprous     gloo   ratio")
        for row in rounds[0][0]:
            own, peer = (sorted(pair[k][row] for pair in rounds)[1] for k in (0, 1))
            print(f"{row:30}{own:10.0f}{peer:9.0f}{peer / own:8.2f}")


if __name__ == "__main__":
    main()
