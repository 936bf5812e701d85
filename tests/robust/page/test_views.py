"""Tests how the page looks and who can use it: three widths, light and dark, with axe-core and reference pictures.

`CUPROUS_PICTURES=write` draws the reference pictures anew. They are compared in blocks, so that another version of the
browser may draw edges differently, but nothing may move, vanish or change its color.
"""

from __future__ import annotations

import io
import json
import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .browser import Browser
from .contents import show

PICTURES = Path(__file__).parent / "pictures"
WIDTHS = {"desktop": (1280, 900), "tablet": (834, 1112), "phone": (360, 740)}
SECTIONS = ("calculator", "monitor", "profile")
#: The font of the reference pictures, which Debian and Ubuntu have wherever they have a browser.
FONT = "DejaVu Sans"
HAS_FONT = """(() => {
    const width = (font) => { const pen = document.createElement('canvas').getContext('2d'); pen.font = font; return pen.measureText('mmmiii').width; };
    return width('40px "DejaVu Sans", monospace') !== width('40px monospace') && width('40px "DejaVu Sans", serif') !== width('40px serif');
})()"""  # noqa: E501
SET_FONT = f"""(() => {{
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* {{ font-family: "{FONT}", sans-serif !important; transition: none !important; caret-color: transparent !important; }}');
    document.adoptedStyleSheets = [sheet];
    window.dispatchEvent(new Event('resize'));
}})()"""  # noqa: E501
#: Blocks of a picture, in its own pixels (half of the page's).
BLOCK = 8


def sample() -> str:
    """Returns a minute of a machine that does not change from one test to the next."""
    wave = [50 + 40 * np.sin(k / 9) for k in range(120)]
    gpu = {
        "index": 0, "name": "Example GPU", "utilization": 83, "memory_used": 20 << 30, "memory_total": 80 << 30,
        "power": 413.0, "power_limit": 700.0, "temperature": 66, "clock": 1400, "clock_limit": 1980,
        "throttled_by": ["power limit"], "nvlink": [], "nvlink_rates": None,
    }  # fmt: skip
    lanes = {
        "generation": 4,
        "width": 8,
        "generation_limit": 5,
        "width_limit": 16,
        "sent": 1 << 20,
        "received": 2 << 20,
    }
    silent = dict.fromkeys(gpu) | {"index": 1, "name": "Silent GPU", "throttled_by": [], "nvlink": []}
    gpus = [gpu | {"pcie": lanes}, silent | {"pcie": dict.fromkeys(lanes)}]
    process = {
        "pid": 4242, "gpu": 0, "name": "python train.py --epochs 90", "rank": [0, 2], "memory": 3 << 30,
        "utilization": 81, "cpu": 99.0, "host_memory": 2 << 30,
        "own": {"allocated": 1 << 30, "reserved": 2 << 30, "peak": 2 << 30},
    }  # fmt: skip
    host = {
        "name": "example", "cpu": "Example CPU", "cores": 16, "utilization": 42.0, "memory_used": 12 << 30,
        "memory_total": 64 << 30, "load": [4.25, 2.91, 2.21],
    }  # fmt: skip
    other = process | {"pid": 77, "name": "/usr/bin/other", "rank": None, "gpu": None, "own": None, "memory": None}
    return json.dumps({
        "sample": {"time": 0, "host": host, "driver": "580.95.05", "gpus": gpus, "no_gpu": None,
                   "processes": [process, other]},
        "host": [wave, [19.0] * 120],
        "gpus": {"0": [wave[::-1], [25.0] * 120, [59.0] * 120, [66.0] * 120], "1": [[0.0] * 120] * 4},
    })  # fmt: skip


def view(page: Browser, section: str, width: str, scheme: str) -> None:
    """Opens a section with contents that do not depend on the machine."""
    page.size(*WIDTHS[width])
    page.scheme(scheme)
    page.answers["/api/sample"] = sample()
    address = page.run("location.origin") + "/?flops=10000&data=1&startup=400&cpu=Core+i7-10700K&gpu=RTX+3080"
    page.open(f"{address}#{section}")
    show(page, section)


def axe() -> str:
    """Returns the script of axe-core: a newer one than the package's by `CUPROUS_AXE`."""
    if named := os.environ.get("CUPROUS_AXE"):
        return Path(named).read_text()
    return (files("axe_core_python") / "axe.min.js").read_text()


FOUND = """axe.run().then(r => [...r.violations, ...r.incomplete].map(
    rule => [rule.id, rule.nodes.slice(0, 3).map(n => [n.target.join(' '), n.failureSummary])]))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("section", SECTIONS)
def test_axe_finds_nothing_and_leaves_nothing_undecided(page: Browser, section: str, scheme: str) -> None:
    script = axe()
    for width in WIDTHS:
        view(page, section, width, scheme)
        page.run(script + ";1")
        assert page.run(FOUND) == [], f"{width}, as it opens"
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.run(FOUND) == [], f"{width}, with all details"
        # Nothing is cut off, and the page does not scroll sideways.
        assert page.run("document.documentElement.scrollWidth") <= WIDTHS[width][0]


def test_axe_notices_a_fault(page: Browser) -> None:
    view(page, "calculator", "phone", "light")
    page.run("document.querySelector('label[for=flops]').remove()")
    page.run(axe() + ";1")
    assert "label" in {rule for rule, _ in page.run(FOUND)}


def blocks(picture: Image.Image) -> np.ndarray:
    """Returns the mean color of each block."""
    data = np.asarray(picture.convert("RGB"), float)
    rows, columns = data.shape[0] // BLOCK, data.shape[1] // BLOCK
    return data[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK, 3).mean((1, 3))


def differences(got: Image.Image, wanted: Image.Image) -> float:
    """Returns the part of blocks whose color differs visibly; 1 for another size."""
    if abs(got.height - wanted.height) > 4 or got.width != wanted.width:
        return 1.0
    one, two = blocks(got), blocks(wanted)
    rows = min(len(one), len(two))
    return float((np.abs(one[:rows] - two[:rows]).max(2) > 20).mean())


def drawn(page: Browser, section: str, width: str, scheme: str) -> Image.Image:
    """Returns a picture of a section at half its size."""
    view(page, section, width, scheme)
    if not page.run(HAS_FONT):
        pytest.skip(f"the reference pictures need the font {FONT}: apt-get install fonts-dejavu-core")
    page.run(SET_FONT)
    page.run("new Promise(done => setTimeout(done, 150))")
    picture = Image.open(io.BytesIO(page.picture(f"{section}-{width}-{scheme}"))).convert("RGB")
    return picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.BOX)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("section", SECTIONS)
def test_pictures(page: Browser, section: str, width: str, scheme: str) -> None:
    file = PICTURES / f"{section}-{width}-{scheme}.png"
    got = drawn(page, section, width, scheme)
    if os.environ.get("CUPROUS_PICTURES") == "write":
        PICTURES.mkdir(exist_ok=True)
        got.quantize(160, method=Image.Quantize.FASTOCTREE).save(file, optimize=True)
    assert differences(got, Image.open(file)) < 0.01


def test_pictures_notice_a_change(page: Browser) -> None:
    wanted = Image.open(PICTURES / "calculator-desktop-light.png")
    got = drawn(page, "calculator", "desktop", "light")
    changed = got.copy()
    changed.paste((255, 255, 255), (208, 270, 632, 310))  # without the bar in parts
    assert differences(got, wanted) < 0.01 < differences(changed, wanted)
