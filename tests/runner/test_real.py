"""`cuprous.real_package`: the real package beside the bound one, for a package that stands for the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuprous
from tests.runner.programs import run, start, write

pytestmark = pytest.mark.slow


def real_package(folder: Path) -> str:
    """Writes a package `torch` with modules that import each other, early and late. Returns its folder."""
    write(
        folder / "real/torch",
        __init__="import torch.early\nfrom torch import early as also\ndef later():\n    import torch.late\n"
        "    return torch.late.which()\ndef latest():\n    import importlib\n"
        "    return importlib.import_module('torch.latest').NAME\n",
        early="import torch\nNAME = torch.__package__",
        late="import torch, torch.early\ndef which(): return torch.__package__, torch.early.NAME",
        latest="from torch.late import which\nNAME = which()",
    )
    return str(folder / "real")


def test_the_real_package_stays_real(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="""
        import torch, cuprous, sys
        real = cuprous.real_package("torch")
        print(torch.__package__, real.__name__, real.also.NAME, real.later(), real.latest())
        import torch.nn as nn, torch as again
        from torch import optim
        print(again is torch, nn.__name__, optim.__name__, cuprous.real_package("torch.late") is real.late)
        print(cuprous.real_package("torch") is real, cuprous.real_package("json").__name__)
        cuprous.unbind()
        import torch as unbound
        print(unbound is real, cuprous.bound())
    """,
    )
    assert run(tmp_path, "program.py", path=real_package(tmp_path)).stdout.splitlines() == [
        "cuprous.torch torch torch ('torch', 'torch') ('torch', 'torch')",
        "True cuprous.torch.nn cuprous.torch.optim True",
        "True json",
        "True ()",
    ]


def test_a_package_that_was_imported_before_is_kept(tmp_path: Path) -> None:
    code = (
        "import torch as before, cuprous\ncuprous.bind('torch')\nimport torch\n"
        "print(torch.__package__, cuprous.real_package('torch') is before, before.later())"
    )
    done = start(tmp_path, "-c", code, path=real_package(tmp_path))
    assert done.stdout == "cuprous.torch True ('torch', 'torch')\n"
    assert done.stderr.splitlines()[1] == "cuprous: torch was imported before; modules that hold it keep it"


def test_a_package_that_is_not_installed(tmp_path: Path) -> None:
    """PyCUDA, since machines with GPUs often have the other packages."""
    code = (
        "import pycuda, cuprous\ntry: cuprous.real_package('pycuda')\n"
        "except ModuleNotFoundError as e: print(e)\nimport pycuda.gpuarray\nprint(pycuda.gpuarray.__name__)"
    )
    assert run(tmp_path, "-c", code).stdout == "No module named 'pycuda'\ncuprous.pycuda.gpuarray\n"


def test_numba_stays_and_its_cuda_is_bound(tmp_path: Path) -> None:
    write(tmp_path / "real/numba", {"__init__": "njit = 'real'", "cuda/__init__": "NAME = 'real'"})
    # Where numba-cuda is installed, it sends imports of numba.cuda elsewhere, from the real Numba too.
    code = (
        "import sys\nsys.meta_path[:] = [f for f in sys.meta_path if 'redirector' not in type(f).__module__]\n"
        "import numba, cuprous\nfrom numba import cuda\nimport numba.cuda as again\n"
        "print(numba.njit, cuda.__name__, again is cuda, cuprous.real_package('numba.cuda').NAME, numba.cuda is cuda)"
    )
    assert run(tmp_path, "-c", code, path=str(tmp_path / "real")).stdout == "real cuprous.cuda True real True\n"


def test_names_are_strings() -> None:
    assert cuprous.bound() == ()
    with pytest.raises(TypeError, match="must be a string, got int"):
        cuprous.real_package(1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jax"):
        cuprous.bind("jax")
    cuprous.unbind()
