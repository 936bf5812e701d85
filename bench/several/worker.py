"""One process of `Ranks`, of the library that BENCH_LEARNING names: it calls what its standard input says."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import signal
import sys
import time
import traceback
from datetime import timedelta

from bench.several.channel import open_lines, write

#: Functions by their names: the first part is the module.
MODULES = {"check": "checks", "fault": "faults", "speed": "speed", "copy": "copies"}


def join() -> None:
    """Selects this rank's GPU and connects the processes."""
    from bench.several.library import DEVICE, dist, torch

    device, n, rank = os.environ["BENCH_DEVICE"], int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    if device == "cuda":
        if torch.__name__ != "torch":
            torch.cuda.get_device_properties(rank)  # starts CUDA, which simulated GPUs are counted by
        torch.cuda.set_device(rank)
    elif torch.__name__ == "torch":
        torch.set_num_threads(1)
    if n > 1:
        timeout = timedelta(seconds=float(os.environ["BENCH_TIMEOUT"]))
        bound = {"device_id": torch.device(DEVICE)} if device == "cuda" else {}
        dist.init_process_group(os.environ["BENCH_BACKEND"], timeout=timeout, **bound)


def main() -> None:
    """Calls functions until the input ends."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no process is left if the parent is killed
    try:
        join()
        for line in sys.stdin:
            function, arguments = json.loads(line)
            module, _, name = function.partition(".")
            write({"result": getattr(importlib.import_module(f"bench.several.{MODULES[module]}"), name)(**arguments)})
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (at {os.path.basename(place.filename)}:{place.lineno})"
        write({"error": text[:2000], "at": time.time()})
        raise  # the library tells the other ranks
    from bench.several.library import dist

    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    open_lines()
    main()
