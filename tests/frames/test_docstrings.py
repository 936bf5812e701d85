"""The examples of the public names."""

from __future__ import annotations

import doctest
import inspect

import polars as pl
import pytest

import cuprous as cp
import cuprous.frames

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", cuprous.frames.__all__)
def test_examples(name: str) -> None:
    value = getattr(cuprous.frames, name)
    assert inspect.getdoc(value)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(value, name, globs={"cp": cp, "pl": pl}):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", ["Engine", "Table", "from_arrays", "report"])
def test_what_is_called_has_an_example(name: str) -> None:
    assert "Examples\n--------\n" in (inspect.getdoc(getattr(cuprous.frames, name)) or "")


def test_members_say_what_they_take() -> None:
    for cls in (cuprous.frames.Engine, cuprous.frames.Table):
        for name, member in vars(cls).items():
            if name.startswith("_") or not callable(member):
                continue
            doc = inspect.getdoc(member) or ""
            parameters = [p for p in inspect.signature(member).parameters if p != "self"]
            assert doc and all(f"{p} : " in doc for p in parameters), f"{cls.__name__}.{name}"
