"""Models and training loops of other libraries run unchanged under `cuprous run`, with PyTorch's results.

They are transformers, timm, lightning, accelerate, torchmetrics, torch_geometric, and twelve others. The programs in
`programs` import `torch`; PyTorch 2.11 wrote their results into JSON files beside them.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.runner.programs import run

PROGRAMS = Path(__file__).with_name("programs")
NEEDED = ("transformers", "timm", "lightning", "accelerate", "torchmetrics")
MORE = ("botorch", "diffusers", "entmax", "gpytorch", "kornia", "peft", "pyro", "segmentation_models_pytorch",
        "torchdiffeq", "torchsde", "vit_pytorch", "x_transformers")  # fmt: skip
#: Results that are sums with cancellation, so that their rounding errors are large beside them.
LOOSE = {"StructuralSimilarityIndexMeasure": 1e-4}

needs_libraries = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, NEEDED)), reason=f"{', '.join(NEEDED)} (requirements-programs.txt)"
)
needs_graphs = pytest.mark.skipif(
    not importlib.util.find_spec("torch_geometric"), reason="torch_geometric (requirements-programs.txt)"
)

needs_more = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, (*NEEDED, *MORE))), reason=f"{', '.join(MORE)} (requirements-programs.txt)"
)


def results(program: str, folder: Path) -> dict[str, Any]:
    """Runs a program and returns what it prints."""
    done = run(folder, "--quiet", str(PROGRAMS / f"{program}.py"), HF_HUB_OFFLINE="1")
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULTS "))
    found: dict[str, Any] = json.loads(line.removeprefix("RESULTS "))
    return found


def expected(program: str) -> dict[str, Any]:
    """Returns PyTorch's results."""
    found: dict[str, Any] = json.loads((PROGRAMS / f"{program}.json").read_text(encoding="utf-8"))
    return found


@needs_libraries
def test_models(tmp_path: Path) -> None:
    """The output, the loss and the gradients of 38 models."""
    ours, theirs = results("models", tmp_path), expected("models")
    assert ours.keys() == theirs.keys() and len(ours) == 38
    off = {name: (ours[name], theirs[name]) for name in ours if ours[name] != pytest.approx(theirs[name], 1e-4, 1e-5)}
    assert off == {}


@needs_libraries
def test_models_of_timm(tmp_path: Path) -> None:
    """The losses of 40 models before, between and after two steps of training, in double precision."""
    ours, theirs = results("timm_models", tmp_path), expected("timm_models")
    assert ours.keys() == theirs.keys() and len(ours) == 40
    off = {name: (ours[name], theirs[name]) for name in ours if ours[name] != pytest.approx(theirs[name], 1e-10)}
    assert off == {}


@needs_libraries
def test_libraries(tmp_path: Path) -> None:
    """Generation, both Trainers, accelerate's loop and metrics."""
    ours, theirs = results("libraries", tmp_path), expected("libraries")
    assert ours["generation"] == theirs["generation"]
    for name in ("trainer", "fit", "loop"):
        assert ours[name] == pytest.approx(theirs[name], 1e-5), name
    for name, value in theirs["metrics"].items():
        assert ours["metrics"][name] == pytest.approx(value, LOOSE.get(name, 1e-5)), name


@needs_graphs
def test_graphs(tmp_path: Path) -> None:
    """Layers, loaders and functions of torch_geometric, and a variational autoencoder."""
    ours, theirs = results("graphs", tmp_path), expected("graphs")
    for name, value in theirs["utilities"].items():
        assert ours["utilities"][name] == pytest.approx(value, 1e-5), name
    assert ours["layers"].keys() == theirs["layers"].keys()
    for name, losses in theirs["layers"].items():
        assert ours["layers"][name] == pytest.approx(losses, 1e-5), name
    assert ours["batches"] == pytest.approx(theirs["batches"], 1e-4)
    assert ours["autoencoder"] == pytest.approx(theirs["autoencoder"], 1e-4)


def flat(value: Any) -> list[float]:
    """Returns the numbers of nested lists and dicts in their order."""
    if isinstance(value, (dict, list)):
        parts = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
        return [number for part in parts for number in flat(part)]
    return [float(value)]


@needs_more
def test_more_libraries(tmp_path: Path) -> None:
    """Twelve libraries of diffusion, adapters, images, equations, Gaussian processes and probabilistic programs."""
    ours, theirs = results("more_libraries", tmp_path), expected("more_libraries")
    assert ours.keys() == theirs.keys() and len(ours) == len(MORE)
    for name, wanted in theirs.items():
        assert flat(ours[name]) == pytest.approx(flat(wanted), 1e-4, 1e-6, nan_ok=True), name
