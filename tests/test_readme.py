"""The README's examples run, in order, and print what their comments say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def test_examples(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    namespace: dict[str, object] = {}
    for block in blocks:
        if "import torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, "README.md", "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        promised = re.findall(r"print\(.*\)\s*# (.+)", block)
        for want, got in zip(promised, printed, strict=False):
            assert got.strip() == want.strip(), block
