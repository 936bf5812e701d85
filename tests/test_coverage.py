"""Every NumPy name is present or documented as missing, and the coverage page is up to date."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _unsupported

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.py"


def script() -> Any:
    """Returns docs/coverage.py as a module."""
    spec = importlib.util.spec_from_file_location("coverage_page", PAGE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the folder that the page adds to the path, in which a later `import coverage` would find the page."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.slow
def test_page_is_fresh() -> None:
    coverage = script()
    text = coverage.TABLE.read_text(encoding="utf-8")
    if f"beside NumPy {coverage.version()};" not in text:
        pytest.skip("the page was written beside another version of NumPy")
    pytest.importorskip("scipy")
    if f"beside SciPy {coverage.scipy_version()}." not in text:
        pytest.skip("the page was written beside another version of SciPy")
    # In a separate process, because here the kernels of thousands of calls would also be compiled for GPUs.
    env = os.environ | {"CUPROUS_CHECK_CUDA": ""}
    run = subprocess.run([sys.executable, PAGE, "--print"], env=env, capture_output=True, text=True, check=True)
    assert text == run.stdout, "run `make coverage`"


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


def test_modules_and_unknown_names() -> None:
    assert not hasattr(cp, "nonexistent")
    assert not hasattr(cp, "ma")
    with pytest.raises(AttributeError, match="where"):
        _ = cp.ma
    assert hasattr(cp, "frompyfunc")
    assert "frompyfunc" not in dir(cp)


def test_no_name_is_both_unsupported_and_present() -> None:
    listed = {*_unsupported.ALTERNATIVES, *_unsupported.ABSENT}
    assert not listed & set(vars(cp))
    assert not listed & set(cp.__all__)


def test_numpys_dispatch_names_the_alternative() -> None:
    with pytest.raises(NotImplementedError, match="keep them in NumPy"):
        np.is_busday(cp.arange(3))


#: Heading and function in the table -> what is done on the host of a GPU.
ON_GPUS = {
    ("numpy", "sum"): "yes", ("numpy", "zeros_like"): "yes", ("numpy", "einsum"): "yes", ("numpy", "nonzero"): "waits",
    ("numpy", "repeat"): "yes or waits", ("numpy", "savetxt"): "host", ("numpy.fft", "fft"): "yes",
    ("numpy.linalg", "solve"): "waits", ("numpy.random.Generator", "normal"): "yes",
    ("numpy.random.Generator", "zipf"): "waits", ("scipy.ndimage", "generic_filter"): "host",
    ("scipy.ndimage", "gaussian_filter"): "yes", ("scipy.ndimage", "label"): "waits",
    ("scipy.signal", "lfilter"): "yes", ("scipy.sparse.linalg", "cg"): "waits",
}  # fmt: skip


def test_gpu_notes_on_the_page() -> None:
    found, heading = {}, ""
    for line in script().TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:].strip("`")
        elif line.startswith("| "):
            name, _, gpu = line[2:].split(" | ")[:3]
            found[heading, name] = gpu
    assert {key: found[key] for key in ON_GPUS} == ON_GPUS


def test_measuring_leaves_no_state() -> None:
    script()
    transfers = importlib.import_module("transfers")
    before = dict(vars(cp.ndarray)), cp.get_device()
    with transfers.elsewhere(), transfers.counted() as count:
        assert cp.nonzero(cp.ones(3))[0].device_name != "cpu"
        assert count.down == 1
    assert (dict(vars(cp.ndarray)), cp.get_device()) == before


def test_counts_need_no_device_read() -> None:
    """A read would wait for the GPU."""
    for value, dtype in ((300, "uint8"), (-1, "uint16"), (2**63, "int64"), (2**2000, "float64")):
        for xp in (np, cp):
            with pytest.raises(OverflowError):
                xp.full(3, value, dtype)
    for value, dtype in ((5, "bool"), (2**63, "uint64"), (2**24 + 1, "float32"), (7, "complex64"), (2**70, "float64")):
        np.testing.assert_array_equal(cp.full(3, value, dtype).get(), np.full(3, value, dtype))
