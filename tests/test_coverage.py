"""No name of NumPy's is missing silently, and the page that says so is fresh."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _unsupported

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.py"


def script() -> Any:
    """docs/coverage.py as a module."""
    spec = importlib.util.spec_from_file_location("coverage_page", PAGE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_fresh() -> None:
    coverage = script()
    text = coverage.TABLE.read_text(encoding="utf-8")
    if f"beside NumPy {coverage.version()};" not in text:
        pytest.skip("the page was written beside another version of NumPy")
    pytest.importorskip("scipy")
    if f"beside SciPy {coverage.scipy_version()}." not in text:
        pytest.skip("the page was written beside another version of SciPy")
    assert text == coverage.page(), "run `make coverage`"


@pytest.mark.parametrize("name", sorted({*np.__all__} - {"__version__"}))
def test_every_name_answers(name: str) -> None:
    if name in _unsupported.ABSENT:
        with pytest.raises(AttributeError, match=re.escape(_unsupported.ABSENT[name])):
            getattr(cp, name)
    elif name in _unsupported.ALTERNATIVES:
        with pytest.raises(NotImplementedError, match=name):
            getattr(cp, name)(cp.ones(3))
    else:
        value = getattr(cp, name)
        assert callable(value) == callable(getattr(np, name)), name


def test_modules_and_strangers() -> None:
    assert not hasattr(cp, "nonexistent")
    assert not hasattr(cp, "ma")
    with pytest.raises(AttributeError, match="where"):
        _ = cp.ma
    assert hasattr(cp, "frompyfunc")
    assert "frompyfunc" not in dir(cp)


def test_nothing_is_called_unsupported_and_there() -> None:
    listed = {*_unsupported.ALTERNATIVES, *_unsupported.ABSENT}
    assert not listed & set(vars(cp))
    assert not listed & set(cp.__all__)


def test_numpys_dispatch_names_the_alternative() -> None:
    with pytest.raises(NotImplementedError, match="keep them in NumPy"):
        np.is_busday(cp.arange(3))
