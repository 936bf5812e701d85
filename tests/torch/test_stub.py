"""The stubs declare what `Tensor` has, and nothing else. mypy checks this file too."""

from __future__ import annotations

import ast

import pytest

from cuprous import torch
from tests.torch.make_stub import FILES, PACKAGE, stub


@pytest.mark.parametrize("file", FILES)
def test_stubs_are_up_to_date(file: str) -> None:
    written, wanted = (ast.dump(ast.parse(text).body[-1]) for text in ((PACKAGE / file).read_text(), stub(file)))
    assert written == wanted, "run `python -m tests.torch.make_stub`"


def test_stubs_declare_all_attributes() -> None:
    declared = set()
    for file in (*FILES, "_core_tensor.pyi"):
        for cls in ast.walk(ast.parse((PACKAGE / file).read_text())):
            if isinstance(cls, ast.ClassDef) and cls.name.startswith("Tensor"):
                for line in cls.body:
                    if isinstance(line, ast.FunctionDef):
                        declared.add(line.name)
                    elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                        declared.add(line.target.id)
    # A class gets annotations when they are first read.
    inherited = set(dir(object)) | {"__dict__", "__module__", "__delitem__", "__annotations__"}
    assert set(dir(torch.Tensor)) - inherited == declared - inherited


def test_a_misspelled_method_is_an_error() -> None:
    tensor = torch.ones(2)
    assert tensor.softmax(0).tolist() == [0.5, 0.5]
    with pytest.raises(AttributeError, match="sofmax"):
        tensor.sofmax()  # type: ignore[attr-defined]  # mypy fails if this comment is not needed
