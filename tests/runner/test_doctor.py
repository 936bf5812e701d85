"""`cuprous doctor program.py` finds missing names in a program's text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuprous.runner.doctor import main
from tests.runner.programs import write

PROGRAM = """
    import torch
    import torch.nn.functional as F
    from torch import nn, no_such_name
    from torch.utils.data import DataLoader
    import helper
    from package.part import thing

    def late():
        import cupy as cp
        return cp.linalg.norm(cp.ones(3)), cp.linalg.no_such_norm

    class Net(nn.Module):
        def forward(self, x):
            return F.relu(x).no_method_is_known() + F.no_such_activation(x) + torch.float32.itemsize
"""


def test_missing_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, program=PROGRAM, helper="import torch.no_such_module")
    write(
        tmp_path / "package", __init__="", part="from . import other\nthing = 1", other="import numpy\nnumpy.no_such()"
    )
    assert main([str(tmp_path / "program.py"), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    found = sorted(
        (Path(row["file"]).stem, row["line"], row["name"]) for row in report["findings"] if not row["reason"]
    )
    assert found == [
        ("helper", 1, "torch.no_such_module"),
        ("program", 4, "torch.no_such_name"),
        ("program", 11, "cupy.linalg.no_such_norm"),
        ("program", 15, "torch.nn.functional.no_such_activation"),
    ]
    assert report["files"] == 4
    main([str(tmp_path / "program.py"), "--bind", "numpy"])
    assert "other.py:2  numpy.no_such\n" in capsys.readouterr().out


def test_names_that_raise_when_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, program="import torch\nif 0:\n    torch.onnx.export(1)\nimport cupy\ncupy.matrix(1)")
    assert main([str(tmp_path / "program.py")]) == 0
    out = capsys.readouterr().out
    assert "raise an error when used:" in out and "missing:" not in out
    assert "program.py:3  torch.onnx.export: " in out and "program.py:5  cupy.matrix: " in out


def test_a_program_without_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, program="import torch\ntorch.ones(2).sum()", broken="def")
    assert main([str(tmp_path / "program.py")]) == 0
    assert capsys.readouterr().out.endswith("All of them exist.\n")
    assert main([str(tmp_path / "broken.py")]) == 2 and main([str(tmp_path / "absent.py")]) == 2
