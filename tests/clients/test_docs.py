"""The examples of docs/clients.md run, and print what their comments say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## ([^\n]*)\n(?:(?!^## ).)*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


def test_every_client_has_an_example() -> None:
    assert list(EXAMPLES) == re.findall(r"^## (.*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = EXAMPLES[name]
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(module, reason=f"{module} is not installed (requirements-clients.txt)")
    if name in ("SciPy", "scikit-learn") and os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SciPy was started without SCIPY_ARRAY_API=1; use `make test-clients`")
    exec(compile(code, name, "exec"), {})
    promised = re.findall(r"print\(.*\)  # (.+)", code)
    assert " ".join(capsys.readouterr().out.split()) == " ".join(" ".join(promised).split())
