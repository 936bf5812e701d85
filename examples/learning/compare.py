"""The programs of this folder by Cuprous and by PyTorch, from the same weights and data: losses side by side.

`python compare.py [NAME …] [--steps N] [--device cuda] [--double] [--plot FILE]`; PyTorch must be installed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

NAMES = ["simple_net", "cnn", "char_rnn", "lstm", "gru", "transformer", "digits", "gpt"]


def losses_of(name: str, steps: int, device: str, double: bool) -> list[float]:
    """The losses of a program by the library that `common` has picked, from weights that do not depend on it."""
    import importlib

    common, program = importlib.import_module("common"), importlib.import_module(name)

    def prepare(model) -> None:
        with common.torch.no_grad():
            for k, (path, p) in enumerate(model.named_parameters()):
                values = np.random.RandomState(k).uniform(-1, 1, tuple(p.shape))
                values = values / np.sqrt(p.shape[-1]) if p.ndim > 1 else 0.1 * values + ("weight" in path)
                p.copy_(common.torch.tensor(values, dtype=p.dtype, device=p.device))

    dtype = common.torch.float64 if double else common.torch.float32
    return program.train(common.Setting(steps, device, dtype, prepare))


def by(library: list[str], name: str, options: argparse.Namespace) -> np.ndarray:
    """The losses, from a process of its own."""
    command = [sys.executable, __file__, name, "--steps", str(options.steps), "--device", options.device, "--worker"]
    command += (["--double"] if options.double else []) + library
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    if done.returncode:
        raise SystemExit(done.stderr)
    return np.array(json.loads(done.stdout.splitlines()[-1]))


def plot(found: dict[str, tuple[np.ndarray, np.ndarray]], file: str) -> None:
    """Both curves of each program."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(16, 7))
    for axis, (name, (ours, theirs)) in zip(axes.flat, found.items(), strict=False):
        axis.semilogy(theirs, color="0.75", linewidth=5, label="PyTorch")
        axis.semilogy(ours, linewidth=1, label="Cuprous")
        axis.set_title(name)
    axes.flat[0].legend()
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(losses_of(options.names[0], options.steps, options.device, options.double)))
        return
    found = {}
    for name in options.names:
        ours, theirs = (by(library, name, options) for library in ([], ["--torch"]))
        found[name] = ours, theirs
        away = np.abs(ours - theirs) / np.abs(theirs)
        print(f"{name:12s} {theirs[0]:9.5f} -> {theirs[-1]:9.5f}  largest relative difference {away.max():.1e}")
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
