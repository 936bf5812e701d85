"""Compares a few thousand random function calls with NumPy, and checks that the fuzzer finds planted bugs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.fuzz.functions.__main__ import NAMES, case, check
from tests.fuzz.functions.agree import difference, outcome
from tests.fuzz.functions.differences import KNOWN

ROOT = Path(__file__).parent.parent
CASES = 4000 if DEVICE == "cpu" else 400


@pytest.mark.slow
@pytest.mark.skipif(DEVICE != "cpu", reason="each case would compile kernels of its own")
@pytest.mark.parametrize("seed", [0, 1_000_000])
def test_random_calls_agree_with_numpy(seed: int) -> None:
    failures = [f"{n}: {found[1].show()}\n  {found[0]}" for n in range(seed, seed + CASES // 2) if (found := check(n))]
    assert not failures, "\n".join(failures[:10])


def test_many_functions_are_drawn() -> None:
    assert len({name for name in NAMES if "." not in name}) >= 300


def test_numpy_agrees_with_itself() -> None:
    for seed in range(0, 20_000, 29):
        it = case(seed)
        assert difference(it, outcome(it, np), outcome(it, np)) is None


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("cumsum", lambda a, *args, **kw: np.cumsum(a, *args, **kw) + 1),
        ("maximum", lambda a, b, *args, **kw: np.maximum(a, b, *args, **kw).astype("float64")),
        ("roll", lambda a, *args, **kw: np.roll(a, *args, **kw)[None]),
        ("digitize", lambda x, bins, **kw: np.searchsorted(bins, x)),
    ],
)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, path: str, broken: Any) -> None:
    def ours(*args: Any, **kwargs: Any) -> Any:
        def host(x: Any) -> Any:
            return x.get() if isinstance(x, cp.ndarray) else x

        return broken(*map(host, args), **{k: host(v) for k, v in kwargs.items()})

    monkeypatch.setattr(cp, path, ours)
    first = NAMES.index(path)
    assert any(check(n) for n in range(first, first + 60 * len(NAMES), len(NAMES)))


def test_known_differences_are_documented() -> None:
    text = (ROOT / "docs" / "differences.md").read_text()
    assert [row for row, _ in KNOWN if row not in text] == []
