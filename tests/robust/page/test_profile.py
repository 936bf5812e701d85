"""Tests the viewer of profiles in a browser: timeline, hover, zoom, tables, flame graph, users' files."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuprous as cp

from ..serving import Server
from .browser import Browser
from .contents import cells, choose, show, text


def test_a_profile(page: Browser, server: Server, tmp_path: Path) -> None:
    assert server.address.endswith("/#profile")
    page.open(server.address)
    page.until("document.querySelectorAll('#totals tbody tr').length")
    expected = "The server's profile: 5 events on 2 tracks and 1 curve, 1 of other kinds are not shown."
    assert text(page, "profile-state") == expected
    rows = cells(page, "totals")
    assert rows[0] == ["softmax", "GPU stream", "2", "3.00 ms", "1.50 ms", "2.00 ms"]
    assert ["copy", "Python", "1", "500 µs", "500 µs", "500 µs"] in rows
    # The texts of lines stand beside their times, and kinds have columns of their own.
    head = page.run("[...document.querySelectorAll('#lines th')].map(h => h.textContent)")
    assert head == ["Line", "Source", "Time", "Kernels", "Copies", "Host", "Events"]
    first = cells(page, "lines")[0]
    assert first[:4] + first[6:] == ["train.py:42", "weights = softmax(scores)", "3.00 ms", "3.00 ms", "2"]
    # A user's file, and a file that is not a trace.
    for content, wanted in [
        ('[{"ph":"X","ts":1,"dur":2,"name":"a"}]', "1 events on 1 tracks"),
        ("{", "is no trace"),
        ('{"a":1}', "is no trace"),
    ]:
        file = tmp_path / f"{len(content)}.json"
        file.write_text(content)
        choose(page, file, wanted)


BOX = "(r => [r.x, r.y, r.width])(document.getElementById('timeline').getBoundingClientRect())"
# The pixels of a canvas that have a color of the style sheet, by name.
COLORS = """(() => {
    const canvas = document.getElementById('timeline');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const counts = {};
    for (let at = 0; at < data.length; at += 4) {
        const key = '#' + [0, 1, 2].map(k => data[at + k].toString(16).padStart(2, '0')).join('');
        counts[key] = (counts[key] ?? 0) + 1;
    }
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(['device', 'copies', 'host', 'plan'].map(name => [name, counts[style.getPropertyValue('--' + name)] ?? 0]));
})()"""  # noqa: E501


def test_the_timeline(page: Browser) -> None:
    """Kinds have colors; hovering names an event; wheel and keys zoom; an event is chosen by a click or a key."""
    show(page, "profile")
    page.run("document.getElementById('timeline').scrollIntoView({block: 'center'})")
    page.until(f"{COLORS}.device > 0")
    whole = page.run(COLORS)
    assert whole["copies"] > 0 and whole["host"] > 0 and whole["plan"] == 0
    x, y, width = page.run(BOX)
    row = y + 26 + 18 + 8  # the first row of the first track, below the axis and the name
    page.mouse("mouseMoved", x + width * 0.97, row)
    page.until("!document.getElementById('hover').hidden")
    hover = text(page, "hover")
    for wanted in ("copy: 500 µs", "from 3.00 ms on", "train.py:43: loss = float(weights.sum())", "bytes: 18.9 MB"):
        assert wanted in hover
    page.mouse("mouseMoved", x, y - 30)
    page.until("document.getElementById('hover').hidden")
    page.click(x + width * 0.97, row)
    page.until("document.getElementById('event').textContent.startsWith('copy: 500 µs')")
    # The timeline has the focus now, so the wheel zooms into what is under the pointer.
    for _ in range(4):
        page.mouse("mouseWheel", x + width * 0.97, row, deltaX=0, deltaY=-120)
    page.until(f"{COLORS}.copies > {whole['copies'] * 1.5}")
    page.keys("Home")
    page.until(f"{COLORS}.copies < {whole['copies'] * 1.1}")
    page.keys("+", "+", "ArrowLeft", "ArrowLeft", "ArrowRight", "-", "Home")
    page.keys("p")
    page.until("document.getElementById('event').textContent.startsWith('launch: 200 µs')")
    page.keys("p")
    page.until("document.getElementById('event').textContent.startsWith('train.py:41: 1.00 ms')")
    page.keys("Enter")  # zooms to it, so that the copy is out of view
    page.until(f"{COLORS}.copies === 0")


def test_the_wheel_scrolls_until_the_timeline_is_chosen(page: Browser) -> None:
    show(page, "profile")
    page.size(1280, 500)
    page.run("document.activeElement.blur()")
    x, y, width = page.run(BOX)
    page.mouse("mouseWheel", x + width / 2, y + 40, deltaX=0, deltaY=120)
    page.until("scrollY > 0")


def test_tables_are_sorted_by_a_click(page: Browser) -> None:
    show(page, "profile")
    for at, numbers in ((0, False), (2, True), (3, True)):
        page.run(f"document.querySelectorAll('#totals thead button')[{at}].click()")
        once = cells(page, "totals")
        page.run(f"document.querySelectorAll('#totals thead button')[{at}].click()")
        assert [row[at] for row in cells(page, "totals")] == [row[at] for row in once][::-1]
        names = [row[at] for row in once]
        if not numbers:
            assert names == sorted(names)


def test_the_flame_graph(page: Browser, tmp_path: Path) -> None:
    show(page, "profile")
    frames = "[...document.querySelectorAll('#flame button')]"
    widths = page.run(f"Object.fromEntries({frames}.map(b => [b.textContent, b.getBoundingClientRect().width]))")
    whole = page.run("document.getElementById('flame').clientWidth")
    assert set(widths) == {
        "all",
        "main (train.py:9)",
        "step (train.py:42)",
        "softmax",
        "step (train.py:43)",
        "[copy to the host]",
    }
    assert widths["softmax"] == pytest.approx(whole * 6 / 7, abs=3)
    assert widths["[copy to the host]"] == pytest.approx(whole / 7, abs=3)
    page.run(f"{frames}.find(b => b.textContent === 'step (train.py:43)').click()")
    assert "14.3 % of all" in text(page, "flame-note")
    assert page.run(f"{frames}.find(b => b.textContent === '[copy to the host]').offsetWidth") == pytest.approx(
        whole, abs=3
    )
    page.keys("ArrowDown")
    assert page.run("document.activeElement.textContent") == "[copy to the host]"
    page.keys("Home")
    assert page.run("[document.activeElement.textContent, document.getElementById('unzoom').disabled]") == ["all", True]
    # Traces of others have no stacks: events inside of others are frames.
    (tmp_path / "nested.json").write_text(
        '[{"ph":"X","ts":0,"dur":10,"name":"outer"},{"ph":"X","ts":2,"dur":4,"name":"inner"},{"ph":"X","ts":6,"dur":2,"name":"inner"}]'
    )
    choose(page, tmp_path / "nested.json", "nested.json: 3 events")
    titles = page.run(f"{frames}.map(b => b.title)")
    assert titles[-1] == "inner: 6.00 µs, 60.0 % of all" and len(titles) == 4
    # Rounded times are no nesting: 0.1 + 0.2 is more than 0.3.
    (tmp_path / "next.json").write_text(
        '[{"ph":"X","ts":0.1,"dur":0.2,"name":"one"},{"ph":"X","ts":0.3,"dur":9,"name":"two"}]'
    )
    choose(page, tmp_path / "next.json", "next.json: 2 events")
    assert page.run(f"{frames}.map(b => b.offsetTop)") == [0, 24, 48, 48]


def test_profile_written_by_cuprous(page: Browser, server: Server, tmp_path: Path) -> None:
    x = cp.ones(200_000)
    with cp.profile() as p:
        for _ in range(30):
            y = cp.exp(x) + 1
            float(y.sum())
        y.get()
    p.save(tmp_path / "own.json")
    page.open(server.address)
    choose(page, tmp_path / "own.json", "own.json: ")
    assert text(page, "profile-state").endswith("tracks and 1 curve.")
    lines = cells(page, "lines")
    first = next(k for k, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "y = cp.exp(x) + 1" in line)
    assert {f"{Path(__file__).name}:{first + k}" for k in range(3)} <= {line[0] for line in lines}
    assert "y = cp.exp(x) + 1" in {line[1] for line in lines}
    totals = cells(page, "totals")
    assert any(row[1] == "cpu: work" and row[2] == "30" for row in totals)
    assert any(row[1] == "host: Python thread 1" and row[0].startswith("run ") for row in totals)
    flows = page.run("""import('/profile.js').then(async (viewer) => {
        const found = viewer.parse(JSON.parse(await document.getElementById('file').files[0].text()));
        return [found.flows.length, found.flows.every(([a, b]) => a[1] <= b[1]), found.skipped];
    })""")
    assert flows[0] >= 30 and flows[1:] == [True, 0]
    page.picture("own profile")


def test_a_large_profile(page: Browser, server: Server, tmp_path: Path) -> None:
    events = [
        f'{{"ph":"X","pid":{1 + k % 2},"tid":1,"ts":{k},"dur":1,"name":"n{k % 50}","args":{{"line":"a.py:{k % 7}"}}}}'
        for k in range(200_000)
    ]
    arrows = [f'{{"ph":"{ph}","pid":{pid},"tid":1,"ts":{k},"cat":"c","id":{k}}}'
              for k in range(0, 200_000, 20) for ph, pid in (("s", 1), ("f", 2))]  # fmt: skip
    (tmp_path / "large.json").write_text(f'{{"traceEvents":[{",".join(events + arrows)}]}}')
    page.open(server.address)
    choose(page, tmp_path / "large.json", "large.json: 200000 events on 2 tracks.")
    assert len(cells(page, "totals")) == 50 and len(cells(page, "lines")) == 7
    page.run("document.getElementById('timeline').focus()")
    page.keys("+", "+", "ArrowRight", "-", "Home")
    page.picture("large profile")
