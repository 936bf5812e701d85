"""Compares the programs of this folder with Cuprous and with PyTorch, from the same weights and data, by their losses.

`python compare.py [NAME …] [--steps N] [--device cuda] [--double] [--plot FILE] [--torch-python PYTHON]`. PyTorch must
be installed for this Python, or for the one given. A difference that rounding does not explain is an error.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

#: Allowed relative difference of the losses, for float32 (False) and float64 (True).
BOUNDS = {False: 1e-4, True: 1e-10}
NAMES = ["simple_net", "cnn", "char_rnn", "lstm", "gru", "transformer", "digits", "gpt"]


def losses_of(name: str, steps: int, device: str, double: bool) -> list[float]:
    """Returns the losses of a program with the library that `common` selected. The weights do not depend on the
    library."""
    import importlib

    common, program = importlib.import_module("common"), importlib.import_module(name)
    common.torch.manual_seed(0)
    common.torch.backends.cudnn.allow_tf32 = False  # full float32 precision

    def prepare(model) -> None:
        with common.torch.no_grad():
            for k, (path, p) in enumerate(model.named_parameters()):
                values = np.random.RandomState(k).uniform(-1, 1, tuple(p.shape))
                values = values / np.sqrt(p.shape[-1]) if p.ndim > 1 else 0.1 * values + ("weight" in path)
                p.copy_(common.torch.tensor(values, dtype=p.dtype, device=p.device))

    dtype = common.torch.float64 if double else common.torch.float32
    return program.train(common.Setting(steps, device, dtype, prepare))


def by(library: list[str], options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Returns the losses of all programs, computed in a separate process."""
    python = options.torch_python if library else sys.executable
    command = [python, __file__, *options.names, "--steps", str(options.steps), "--device", options.device, "--worker"]
    command += (["--double"] if options.double else []) + library
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"losses"')]
    return {name: np.array(line["losses"]) for name, line in zip(options.names, found, strict=True)}


def plot(found: dict[str, tuple[np.ndarray, np.ndarray]], file: str) -> None:
    """Plots both curves of each program."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(-(-len(found) // 4), 4, figsize=(12, 2.6 * -(-len(found) // 4)), squeeze=False)
    for axis, (name, (ours, theirs)) in zip(axes.flat, found.items(), strict=False):
        axis.semilogy(theirs, color="0.75", linewidth=5, label="PyTorch")
        axis.semilogy(ours, linewidth=1, label="Cuprous")
        axis.set_title(name)
        axis.set_xlabel("step")
        axis.minorticks_off()
    for axis in axes.flat[len(found) :]:
        axis.axis("off")
    axes.flat[0].legend()
    figure.tight_layout()
    figure.savefig(file, dpi=64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--torch-python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        for name in options.names:
            print(json.dumps({"losses": losses_of(name, options.steps, options.device, options.double)}))
        return
    both = [by(library, options) for library in ([], ["--torch"])]
    found = {name: (both[0][name], both[1][name]) for name in options.names}
    bound, far = BOUNDS[options.double], []
    for name, (ours, theirs) in found.items():
        away = np.max(np.abs(ours - theirs) / np.abs(theirs))
        far += [] if away <= bound else [name]
        print(f"{name:12s} {theirs[0]:9.5f} -> {theirs[-1]:9.5f}  largest relative difference {away:.1e}", flush=True)
    if options.plot:
        plot(found, options.plot)
    if far:
        raise SystemExit(f"further apart than {bound:g}: {', '.join(far)}")


if __name__ == "__main__":
    main()
