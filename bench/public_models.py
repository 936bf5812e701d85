"""Trains public models of timm and transformers by PyTorch, and unchanged by Cuprous, in turn on this machine.

    python -m bench.public_models --torch-python PYTHON --cuprous-python PYTHON [--threads 2] [--only Bert] [--record]

The first Python has PyTorch, timm and transformers, the second Cuprous and the same libraries. The models are those
of `tests/clients/programs`: small ones, with a batch of two. A time is that of a step of SGD with momentum: of one
thread the processor's time, of more threads the clock's, and the lowest median of the rounds. The first step is that
of the first round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parent.parent / "tests/clients/programs"
#: Steps of a model, of which the first three warm up; at most so many seconds, after the sixth step.
STEPS, WARM, SECONDS = 12, 3, 9.0
#: Goals for the speed relative to PyTorch's: the median of all models, and each.
MEDIAN, LEAST = 1.2, 0.7


def steps() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yields the name of each model and a step of its training. Imports `torch`, whichever that is in this process."""
    sys.path.insert(0, str(PROGRAMS))
    import models  # type: ignore[import-not-found]
    import timm
    import timm_models  # type: ignore[import-not-found]
    import torch

    def step(model: Any, loss: Callable[[Any], Any]) -> Callable[[], None]:
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

        def run() -> None:
            value = loss(model)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            value.item()

        return run

    images, classes = torch.randn(2, 3, 64, 64), torch.tensor([3, 7])

    def of_images(model: Any) -> Any:
        result = model(images)
        return torch.nn.functional.cross_entropy(result if isinstance(result, torch.Tensor) else result[0], classes)

    def of(inputs: dict[str, Any]) -> Callable[[Any], Any]:
        def loss(model: Any) -> Any:
            result = model(**inputs)
            if "labels" in inputs:
                return result["loss"]
            return (result["logits"] if "logits" in result else result[0]).square().mean()

        return loss

    for name in timm_models.NAMES:
        options: dict[str, Any] = {"img_size": 64} if name.startswith(timm_models.SIZED) else {}
        yield f"timm.{name}", step(timm.create_model(name, num_classes=10, **options), of_images)
    for name, model, inputs in models.cases():
        if not name.startswith("timm"):
            yield f"transformers.{name}", step(model, of(inputs))


def work(threads: int, only: str) -> None:
    """Prints the milliseconds of the first step and the median of the later ones, a model a line."""
    import torch

    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    for name, step in steps():
        if only not in name:
            continue
        times: list[float] = []
        end = time.perf_counter() + SECONDS
        while len(times) < STEPS and (len(times) < 6 or time.perf_counter() < end):
            start = clock()
            step()
            times.append((clock() - start) * 1e3)
        print(json.dumps({"model": name, "first": times[0], "ms": statistics.median(times[WARM:])}), flush=True)


def measure(command: list[str], threads: int) -> dict[str, dict[str, float]]:
    """Returns the worker's figures by model."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"model"')]
    return {row["model"]: row for row in rows}


def main() -> None:
    """Prints a line for each model, from the slowest, then the median."""
    parser = argparse.ArgumentParser(prog="python -m bench.public_models", description=__doc__)
    parser.add_argument("--torch-python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--cuprous-python", default=sys.executable, help="the Python that has Cuprous")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--record", action="store_true", help="add the rows to this machine's file in bench/results")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.threads, options.only)
    rest = [__file__, "--worker", "--threads", str(options.threads), "--only", options.only]
    commands = {
        "torch": [options.torch_python, *rest],
        "cuprous": [options.cuprous_python, "-m", "cuprous", "run", "--quiet", *rest],
    }
    rounds = [{name: measure(of, options.threads) for name, of in commands.items()} for _ in range(options.rounds)]
    best = {
        name: {model: min(one[name][model]["ms"] for one in rounds) for model in rounds[0][name]} for name in commands
    }
    speeds = {model: best["torch"][model] / ms for model, ms in best["cuprous"].items()}
    for model, speed in sorted(speeds.items(), key=lambda pair: pair[1]):
        first = [rounds[0][name][model]["first"] for name in ("cuprous", "torch")]
        print(f"{speed:5.2f}  {model}: {best['cuprous'][model]:.1f} ms, PyTorch {best['torch'][model]:.1f}; "
              f"first step {first[0]:.0f}, {first[1]:.0f}")  # fmt: skip
    median, least = statistics.median(speeds.values()), min(speeds.values())
    print(f"{len(speeds)} models, {options.threads} threads: median {median:.2f} of PyTorch's speed, least {least:.2f}")
    if options.record:
        record(best, options.threads, median, least)
    return None


def record(best: dict[str, dict[str, float]], threads: int, median: float, least: float) -> None:
    """Adds the sum of all models' steps to this machine's file, and the median as its note."""
    from bench import history

    run = history.Run("cpu", {})
    ms = {name: sum(of.values()) for name, of in best.items()}
    title = f"a step of each of {len(best['cuprous'])} public models, added up, {threads} thread{'s' * (threads > 1)}"
    note = f"median of the models {median:.2f} of PyTorch's speed, least {least:.2f}"
    entry = run.entry(
        f"learning.public_models_{threads}", title, ms, target=f"median ≥ {MEDIAN}, each ≥ {LEAST}",
        met=median >= MEDIAN and least >= LEAST, note=note,
    )  # fmt: skip
    history.append(run.machine.file, [entry])


if __name__ == "__main__":
    main()
