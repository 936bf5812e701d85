"""Programs whose shapes differ at every step, and what a step of a new shape costs.

For each program: how many programs were planned, kernels generated, loaded and compiled, libraries asked for an
algorithm, and graphs built, in the first three steps, in later steps of new shapes, and in a second pass over the same
shapes; then the host time of each stage in microseconds a step.

`python -m bench.shapes [--device cuda] [--only generate] [--steps 40] [--large] [--torch]`

On a simulated GPU (`CUPROUS_TEST_DEVICE=sim:32`, CONTRIBUTING.md) the counts are those of a GPU, and planning takes the
same time. The rest of its times say nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "learning"))

#: What `stats()` counts, by the heading under which it is shown. Times end in `_ns`.
COUNTS = {
    "nodes": "nodes",
    "programs": "planned",
    "steps": "steps",
    "kernels": "kernels_generated",
    "loaded": "modules_loaded",
    "compiled": "kernels_compiled",
    "queries": "library_queries",
    "graphs": "graphs_built",
}
STAGES = {"fusion": "fusion_ns", "emission": "emission_ns", "compile": "compile_ns", "of it code": "codegen_ns"}
#: Steps after which a program should have met every kernel that it needs.
WARM = 3


class Size(NamedTuple):
    """Size of the models."""

    width: int
    heads: int
    layers: int


SMALL, LARGE = Size(64, 4, 2), Size(512, 8, 8)
#: A program: each `next` runs one step. The shapes are those of `length(step)`, a new one at each step.
Program = Callable[[Any, str, Callable[[int], int], Size], Iterator[None]]


def growing(step: int) -> int:
    """Lengths of generation: one more at each step."""
    return 5 + step


def ragged(step: int) -> int:
    """Lengths of batches, between 9 and 105 in no order. The first 97 are different."""
    return 9 + step * 31 % 97


def generate(torch: Any, device: str, length: Callable[[int], int], size: Size) -> Iterator[None]:
    """Generation by a small GPT without a cache."""
    from gpt import GPT  # type: ignore[import-not-found]

    model = GPT(29, 1024, **size._asdict()).to(device)
    with torch.no_grad():
        step = 0
        while True:
            tokens = torch.zeros(1, length(step), dtype=torch.int64, device=device)
            logits = model(tokens)[:, -1]
            int(logits.argmax(-1)[0])
            step += 1
            yield


def cached(torch: Any, device: str, length: Callable[[int], int], size: Size) -> Iterator[None]:
    """Generation with keys and values that grow by `cat`."""
    F, nn = torch.nn.functional, torch.nn
    width, heads, layers = size

    def layer() -> Any:
        parts = {"norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width)}
        parts |= {"norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)}
        return nn.ModuleDict(parts)

    embedding = nn.Embedding(29, width).to(device)
    blocks = nn.ModuleList([layer() for _ in range(layers)]).to(device)

    def start(n: int) -> list[list[Any]]:
        return [[torch.zeros(1, heads, n, width // heads, device=device) for _ in "kv"] for _ in range(layers)]

    with torch.no_grad():
        step = 0
        token = torch.zeros(1, 1, dtype=torch.int64, device=device)
        cache = start(length(0))
        while True:
            if cache[0][0].shape[2] != length(step):  # the lengths began anew
                cache = start(length(step))
            x = embedding(token)
            for block, kept in zip(blocks, cache, strict=True):
                split = block["qkv"](block["norm"](x)).view(1, 1, 3, heads, width // heads)
                q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
                kept[0], kept[1] = torch.cat((kept[0], k), 2), torch.cat((kept[1], v), 2)
                y = F.scaled_dot_product_attention(q, kept[0], kept[1])
                x = x + block["out"](y.transpose(1, 2).reshape(1, 1, width))
                x = x + block["down"](F.gelu(block["up"](block["norm2"](x))))
            token = (x @ embedding.weight.T)[:, -1].argmax(-1, keepdim=True)
            int(token[0, 0])
            step += 1
            yield


def train(torch: Any, device: str, length: Callable[[int], int], size: Size) -> Iterator[None]:
    """Training of a small GPT on batches of different lengths."""
    from gpt import GPT

    F = torch.nn.functional
    model = GPT(29, 1024, **size._asdict()).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    step = 0
    while True:
        tokens = torch.zeros(4, length(step) + 1, dtype=torch.int64, device=device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        float(loss)
        step += 1
        yield


def lstm(torch: Any, device: str, length: Callable[[int], int], size: Size) -> Iterator[None]:
    """Training of an LSTM on sequences of different lengths."""
    nn = torch.nn
    width = size.width // 2
    model = nn.ModuleDict({"lstm": nn.LSTM(8, width, batch_first=True), "head": nn.Linear(width, 8)}).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    step = 0
    while True:
        x = torch.zeros(4, length(step), 8, device=device) + 0.5
        optimizer.zero_grad()
        out, _ = model["lstm"](x)
        loss = nn.functional.mse_loss(model["head"](out), x)
        loss.backward()
        optimizer.step()
        float(loss)
        step += 1
        yield


PROGRAMS: dict[str, tuple[Program, Callable[[int], int]]] = {
    "generate": (generate, growing),
    "cached": (cached, growing),
    "train": (train, ragged),
    "lstm": (lstm, ragged),
}


def counted(stats: Callable[[], dict[str, int]], run: Iterator[None], steps: int) -> tuple[dict[str, int], float]:
    """Returns by how much the counters grew in so many steps, and the seconds that they took."""
    before, start = stats(), time.perf_counter()
    for _ in range(steps):
        next(run)
    seconds, after = time.perf_counter() - start, stats()
    return {name: after[name] - before.get(name, 0) for name in after}, seconds


def passes(
    torch: Any, name: str, device: str, steps: int, size: Size = SMALL
) -> Iterator[tuple[str, int, Iterator[None]]]:
    """Returns the parts of a measurement: what they are, their steps, and the program that runs them."""
    program, length = PROGRAMS[name]
    run = program(torch, device, lambda step: length(step % steps), size)
    yield "first", WARM, run
    yield "new", steps - WARM, run
    for again in ("second", "third", "fourth"):
        yield again, steps, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None)
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--large", action="store_true", help="models of 8 layers of 512 instead of 2 of 64")
    parser.add_argument("--torch", action="store_true", help="PyTorch's times instead")
    options = parser.parse_args()
    size = LARGE if options.large else SMALL
    if options.torch:
        import torch

        device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    else:
        from tests.simulated import select

        device = select(os.environ.get("CUPROUS_TEST_DEVICE", options.device or "cpu"))
        import cuprous.torch as torch
        from cuprous import _core

        _core.set_device(device)
    for name in options.only or PROGRAMS:
        print(f"{name}: {(PROGRAMS[name][0].__doc__ or '').strip()} {options.steps} lengths on {device}")
        if options.torch:
            for part, steps, run in passes(torch, name, device, options.steps, size):
                _, seconds = counted(dict, run, steps)
                print(f"  {part:8} {seconds / steps * 1e6:10.0f} us a step")
            continue
        print(
            "  a step  "
            + "".join(f"{head:>10}" for head in COUNTS)
            + "   us:  wall"
            + "".join(f"{s:>11}" for s in STAGES)
        )
        for part, steps, run in passes(torch, name, device, options.steps, size):
            grown, seconds = counted(_core.stats, run, steps)
            line = "".join(f"{grown.get(key, 0) / steps:10.1f}" for key in COUNTS.values())
            times = "".join(f"{grown.get(key, 0) / steps / 1e3:11.0f}" for key in STAGES.values())
            print(f"  {part:8}{line}{seconds / steps * 1e6:12.0f}{times}")


if __name__ == "__main__":
    main()
