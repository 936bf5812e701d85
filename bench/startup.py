"""Times fresh processes: the import, and the start up to the first result. The first run is not counted, because it
reads files into memory and compiles modules, as pip does."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time

from bench.context import Context

IMPORTS = {"cuprous": "import cuprous", "cupy": "import cupy", "torch": "import torch", "numpy": "import numpy"}
FIRST = {
    "cuprous": "import cuprous as cp; a = cp.arange(1000000); c = a + a; print(c[:10])",
    "cupy": "import cupy as cp; a = cp.arange(1000000); c = a + a; print(c[:10])",
    "torch": "import torch; x = torch.randn(1000, 1000).to('cuda'); print((x @ x)[0, 0].item())",
    "jax": "import jax.numpy as jnp; a = jnp.arange(1000000); print((a + a)[:10])",
    "numpy": "import numpy as np; a = np.arange(1000000); c = a + a; print(c[:10])",
}


def seconds(code: str, runs: int = 3) -> float:
    """Returns the least wall-clock time of a Python process that runs the code, after one uncounted run."""
    best = float("inf")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    for n in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if n:
            best = min(best, time.perf_counter() - start)
    return best


def fill(c: Context, snippets: dict[str, str], minus: float = 0.0) -> None:
    for name, code in snippets.items():
        if importlib.util.find_spec(name) is None or (c.quick and name in ("torch", "jax")):
            continue
        if c.device == "cpu" and name in ("cupy", "jax"):
            continue
        try:
            if c.device == "cpu" and name == "torch":
                code = code.replace(".to('cuda')", "")
            c.row.ms[name] = (seconds(code, 2 if name in ("torch", "jax") else 4) - minus) * 1e3
        except subprocess.CalledProcessError as error:
            c.row.errors[name] = error.stderr.decode()[-200:]


def imports(c: Context) -> None:
    """Times imports, minus an empty Python process."""
    fill(c, IMPORTS, minus=seconds("pass", 6))


def first_result(c: Context) -> None:
    fill(c, FIRST)
