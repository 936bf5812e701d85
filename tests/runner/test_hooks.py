"""`pytest -p cuprous`, `%load_ext cuprous` and `bind` in a running process."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuprous
from cuprous.runner import _packages
from tests.runner.programs import start, write


@pytest.mark.slow
def test_pytest(tmp_path: Path) -> None:
    write(
        tmp_path,
        conftest="import torch",
        test_it="""
        import torch, numpy as np
        def test_bound():
            assert torch.__package__ == "cuprous.torch"
        def test_numpy():
            assert type(np.ones(2)).__module__ == "numpy"
    """,
    )
    done = start(tmp_path, "-m", "pytest", "-p", "cuprous", "-p", "no:cacheprovider", "test_it.py")
    assert "2 passed" in done.stdout and "\ncuprous: bound torch, " in done.stdout
    with_numpy = start(tmp_path, "-m", "pytest", "-p", "cuprous", "--bind", "numpy", "-q", "test_it.py", code=1)
    assert "1 failed, 1 passed" in with_numpy.stdout
    parallel = start(tmp_path, "-m", "pytest", "-p", "cuprous", "-q", "-n", "2", "test_it.py")
    assert "2 passed" in parallel.stdout


@pytest.mark.slow
def test_a_notebook(tmp_path: Path) -> None:
    code = """
import cuprous
class Shell:  # what IPython's %load_ext and %unload_ext do
    def load(self): cuprous.load_ipython_extension(self)
    def unload(self): cuprous.unload_ipython_extension(self)
shell = Shell()
shell.load()
import torch
print(torch.__package__, cuprous.bound())
shell.unload()
import importlib.util
spec = importlib.util.find_spec("torch")  # none, or that of the real package
print("unbound", cuprous.bound(), spec is None or "cuprous" not in (spec.origin or ""))
"""
    done = start(tmp_path, "-c", code)
    names = ", ".join(map(repr, _packages.DEFAULT))
    assert done.stdout == f"cuprous.torch ({names})\nunbound () True\n"
    assert done.stderr.startswith("cuprous: bound torch, ")


def test_unknown_packages() -> None:
    with pytest.raises(ValueError, match="cannot bind jax; choose from torch"):
        cuprous.bind("jax")
    assert cuprous.bound() == ()


def test_counterparts() -> None:
    expected = {
        "torch": "cuprous.torch", "torch.nn.functional": "cuprous.torch.nn.functional", "cupy.linalg": "cuprous.linalg",
        "cupyx": "cuprous.cupyx", "cupyx.scipy.fft": "cuprous.scipy.fft", "numba.cuda.random": "cuprous.cuda.random",
        "numba": None, "torchaudio": None, "numpy": None,
    }  # fmt: skip
    assert {name: _packages.counterpart(name, _packages.DEFAULT) for name in expected} == expected
