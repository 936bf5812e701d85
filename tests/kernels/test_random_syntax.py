"""Any text given as a kernel compiles or raises a readable error; `python -m tests.kernels.fuzz` runs more."""

from __future__ import annotations

import pytest

from .fuzz import CHECKS


@pytest.mark.slow
@pytest.mark.parametrize(("what", "least"), [("words", 5), ("bytes", 5), ("trees", 5)])
def test_random_syntax_never_breaks_the_compiler(what: str, least: int) -> None:
    count = 3000 if what == "words" else 250
    assert sum(CHECKS[what](seed) for seed in range(count)) >= least


@pytest.mark.parametrize("seed", [7027832, 7042824])
def test_stale_source_lines(seed: int) -> None:
    CHECKS["bytes"](seed)
