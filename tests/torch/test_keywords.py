"""Every keyword that PyTorch documents is accepted: signatures.txt has its signatures."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous.torch import _keywords

#: One function or method a line: its path below `torch`, and the names of its parameters in PyTorch 2.11.
SIGNATURES = {
    path: names.split()
    for path, _, names in (
        line.partition(": ") for line in Path(__file__).with_name("signatures.txt").read_text().splitlines()
    )
}


def _found(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), torch)


def _all_names(path: str, function: Any) -> set[str]:
    name = path.rpartition(".")[2]
    inner = function
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    own = set(_keywords.parameters(function))
    code = inner.__code__
    if code.co_flags & 0x08:  # **kwargs are passed on, or checked by the function
        return own | set(SIGNATURES[path])
    extra = set(_keywords.accepted(name, function)) | set(_keywords.POSITIONAL.get(name, ()))
    extra |= {"out"} if name in _keywords.OUT else set()
    return own | extra | ({"out_dtype"} if name in _keywords.OUT_DTYPE else set())


@pytest.mark.parametrize("path", SIGNATURES)
def test_documented_keywords(path: str) -> None:
    function = _found(path)
    if not hasattr(function, "__code__") and not hasattr(function, "__wrapped__"):
        pytest.skip("native, or a class")
    assert set(SIGNATURES[path]) - _all_names(path, function) == set()


def test_every_signature_names_a_function() -> None:
    assert len(SIGNATURES) > 700
    for path in SIGNATURES:
        _found(path)


def test_numpys_names_are_accepted_beside_pytorchs() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert torch.sum(x, axis=1, keepdims=True).tolist() == [[3.0], [12.0]]
    assert x.mean(axis=0).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        torch.sum(x, dim=0, axis=0)
    with pytest.raises(TypeError):
        torch.sum(x, axes=0)


def test_out_is_written() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0]])
    values, indices = torch.empty(1, 3), torch.empty(1, 3, dtype=torch.long)
    result = torch.sort(x, out=(values, indices))
    assert result.values is values and indices.tolist() == [[1, 2, 0]] and values.tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(RuntimeError, match="out has shape"):
        torch.index_select(x, 1, indices[0], out=torch.empty(2, 2))
