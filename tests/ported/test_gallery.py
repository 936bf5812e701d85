"""The pictures of docs/gallery.md are what its code draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]


def test_pictures_are_what_the_code_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from docs import gallery

    files = gallery.draw(tmp_path)
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    assert [f"](figures/{file.name})" in text for file in files] == [True] * 6
    for file in files:
        got, wanted = (
            np.asarray(Image.open(f).convert("RGB"), float) for f in (file, ROOT / "docs/figures" / file.name)
        )
        assert got.shape == wanted.shape
        assert (np.abs(got - wanted).max(2) > 40).mean() < 0.03, file.name
