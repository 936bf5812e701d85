"""Tests the web page in a browser: results, bad input, sharing, keyboard, screen readers, small screens, dark mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cuprous as cp

from .browser import Browser
from .helpers import command
from .serving import Server, serving
from .stand_ins import Machine, compiled

INPUTS = "[...document.querySelectorAll('#question input, #question select')]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves a simulated machine with two GPUs and a profile."""
    folder = tmp_path_factory.mktemp("machine")
    machine = Machine(folder).card().nodes().driver()
    machine.libraries.append(compiled("nvml.c", "libnvidia-ml.so.1"))
    profile = folder / "profile.json"
    profile.write_text(json.dumps(TRACE))
    with serving("--profile", str(profile), **machine.environment()) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Browser]:
    browser.size(1280, 900)
    browser.scheme("light")
    browser.failures.clear()
    browser.requests.clear()
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.until("document.getElementById('cpu-time').textContent")
    yield browser
    assert browser.failures == []
    # No request went to another machine.
    own = (f"http://127.0.0.1:{server.port}/", "data:", "about:")
    assert [url for url in browser.requests if not url.startswith(own)] == []


TRACE: dict[str, Any] = {
    "traceEvents": [
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Python"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "GPU stream"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 1000, "name": "train.py:41", "args": {"line": 41}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 100, "dur": 200, "name": "launch"},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 400, "dur": 2000, "name": "softmax"},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 2500, "dur": 1000, "name": "softmax"},
        {"ph": "B", "pid": 1, "tid": 1, "ts": 3000, "name": "copy"},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 3500},
        {"ph": "s", "pid": 1, "tid": 1, "ts": 150, "id": 1, "cat": "launch", "name": "launch"},
        {"ph": "f", "pid": 1, "tid": 2, "ts": 400, "id": 1, "cat": "launch", "name": "launch"},
        {"ph": "C", "pid": 1, "ts": 5, "name": "memory", "args": {"bytes": 5}},
        {"ph": "N", "pid": 1, "ts": 5, "name": "no such kind"},
    ]
}


def text(page: Browser, name: str) -> str:
    return str(page.run(f"document.getElementById('{name}').textContent"))


def type_into(page: Browser, name: str, value: str) -> None:
    page.run(f"document.getElementById('{name}').select()")
    page.call("Input.insertText", text=value) if value else page.keys("Backspace")


def test_inputs_to_outputs(page: Browser) -> None:
    before = text(page, "speedup")
    assert before.endswith("x")
    assert "Core i7-10700K takes" in page.run("document.querySelector('#bars title').textContent")
    type_into(page, "flops", "1000000")
    page.until(f"document.getElementById('speedup').textContent !== '{before}'")
    assert "GPU is about" in text(page, "sentence")
    assert text(page, "problem") == ""
    # One gray and one blue bar, by the computed styles.
    fills = page.run("[...document.querySelectorAll('#bars rect')].map(r => getComputedStyle(r).fill)")
    assert fills == ["rgb(110, 119, 129)", "rgb(9, 105, 218)"]
    widths = page.run("[...document.querySelectorAll('#bars rect')].map(r => Number(r.getAttribute('width')))")
    assert widths[0] == 600 > widths[1]
    assert page.run("document.querySelectorAll('#roofline path').length") == 2
    # The CPU wins for small work.
    type_into(page, "flops", "0.001")
    page.until("document.getElementById('sentence').textContent.startsWith('The CPU is faster')")
    page.picture("calculator")


def test_the_worked_examples(page: Browser) -> None:
    page.run("document.getElementById('example-network').click()")
    page.until("document.getElementById('speedup').textContent === '19.2x'")
    assert (text(page, "cpu-time"), text(page, "gpu-time")) == ("25.0 s", "1.30 s")
    page.run("document.getElementById('example-paths').click()")
    page.until("document.getElementById('cpu-time').textContent === '5 min 0 s'")
    assert float(text(page, "gpu-time").removesuffix(" s")) < 5
    assert float(text(page, "speedup").removesuffix("x")) >= 60
    assert page.run("document.getElementById('roofline-part').hidden") is True
    page.run("document.getElementById('full').click()")
    page.until("document.getElementById('sentence').textContent.includes('bound')")
    assert " to " in text(page, "range")


def test_numbers_as_people_write_them(page: Browser) -> None:
    """Ten thousand is never ten, with any digit separator; a typed unit is respected."""
    page.run("document.getElementById('example-network').click()")
    page.until("document.getElementById('speedup').textContent === '19.2x'")
    for written in ("10,000", "10 TFLOP", "10 000"):
        type_into(page, "flops", "1")
        page.until("document.getElementById('speedup').textContent !== '19.2x'")
        type_into(page, "flops", written)
        page.until("document.getElementById('speedup').textContent === '19.2x'")


@pytest.mark.parametrize("value", ["ten", "-1", "1e999", "NaN", "", "1 2", "<b>1</b>"])
def test_bad_input_is_named(page: Browser, value: str) -> None:
    type_into(page, "flops", value)
    page.until("document.getElementById('problem').textContent")
    assert text(page, "problem").startswith("Total operations")
    assert page.run("document.getElementById('flops').getAttribute('aria-invalid')") == "true"
    type_into(page, "flops", "5")
    page.until("!document.getElementById('problem').textContent")
    assert page.run("document.getElementById('flops').hasAttribute('aria-invalid')") is False
    page.failures.clear()  # the browser logs the answers 422


def test_what_the_server_refuses_is_shown(page: Browser, server: Server) -> None:
    page.open(f"http://127.0.0.1:{server.port}/?flops=1&gpus=1.5")
    page.until("document.getElementById('problem').textContent.includes('number of GPUs is 1.5')")
    page.failures.clear()  # the browser logs the answer 422


def test_an_address_can_be_shared(page: Browser) -> None:
    type_into(page, "flops", "4321")
    page.run("document.getElementById('gpu').value = 'H200 SXM'")
    page.run("document.getElementById('matrix').checked = true")
    page.run("document.getElementById('question').dispatchEvent(new Event('input'))")
    page.until("location.search.includes('flops=4321') && location.search.includes('H200')")
    page.until("document.querySelector('#bars title').textContent.includes('H200')")
    state = f"JSON.stringify({INPUTS}.map(i => i.type === 'checkbox' ? i.checked : i.value))"
    before, answer = page.run(state), text(page, "speedup")
    page.open(page.run("location.href"))
    page.until(f"document.getElementById('speedup').textContent === '{answer}'")
    assert page.run(state) == before


def test_by_keyboard_alone(page: Browser) -> None:
    page.run("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        page.keys("Tab")
        seen.append(page.run("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert page.run("document.activeElement === document.body || document.activeElement.matches(':focus-visible')")
        if seen[-1] == "share":
            break
    order = ["Skip to content", "Calculator", "Monitor", "Profile", "flops", "data", "startup", "cpu", "gpu", "full"]
    assert [name for name in seen if name in order] == order
    assert {"example-network", "example-paths", "share"} <= set(seen)
    page.run("document.getElementById('example-network').focus()")
    page.keys("Enter")
    page.until("document.getElementById('speedup').textContent === '19.2x'")
    page.run("document.querySelector('nav a[href=\"#monitor\"]').focus()")
    page.keys("Enter")
    page.until("!document.getElementById('monitor').hidden && document.activeElement.id === 'content'")


CONTROLS = {"textbox", "button", "link", "combobox", "radio", "checkbox", "image", "table", "region", "navigation"}


def test_a_screen_reader_hears_names(page: Browser) -> None:
    for section in ("calculator", "monitor", "profile"):
        page.run(f"location.hash = '{section}'")
        page.until(f"!document.getElementById('{section}').hidden")
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        heard = [n for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") in CONTROLS]
        nameless = [n["role"]["value"] for n in heard if not n.get("name", {}).get("value")]
        assert nameless == [], section
        assert len(heard) > 5
    assert page.run("document.documentElement.lang") == "en"
    assert page.run("(all => all.length === new Set(all.map(e => e.id)).size)([...document.querySelectorAll('[id]')])")


# Every visible text, with the contrast of its color to the background.
CONTRAST = """(() => {
  const light = (text) => {
    const parts = text.match(/[0-9.]+/g).map(Number).slice(0, 3);
    const [r, g, b] = parts.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/rgba\\(.*, 0\\)/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility() || e.closest('title')) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(e.closest('svg') ? style.fill : style.color), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([e.tagName, walk.currentNode.textContent.trim().slice(0, 30), ratio]);
  }
  return low;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_and_fit_a_phone(page: Browser, scheme: str) -> None:
    page.scheme(scheme)
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    page.size(360, 740)
    for section in ("calculator", "monitor", "profile"):
        page.run(f"location.hash = '{section}'")
        page.until(f"!document.getElementById('{section}').hidden")
        if section == "monitor":
            page.until("document.querySelectorAll('#gpu-cards .card').length === 2")
        assert page.run(CONTRAST) == []
        assert page.run("document.documentElement.scrollWidth") <= 360, section
        controls = "[...document.querySelectorAll('button, select, input')].filter(e => e.checkVisibility())"
        assert page.run(f"{controls}.filter(e => e.offsetHeight < 17).length") == 0
        page.picture(f"{section}-phone-{scheme}")


def test_the_monitor(page: Browser) -> None:
    page.run("location.hash = 'monitor'")
    page.until("document.querySelectorAll('#gpu-cards .card').length === 2")
    shown = text(page, "monitor")
    link = ("PCIe", "4.0 x8 of 5.0 x16", "1 of 2 up")
    for wanted in ("NVIDIA Stand-in", "83 %", "20.0 GiB of 80.0 GiB", "power limit, too hot (hardware)", *link):
        assert wanted in shown, wanted
    assert "/usr/bin/other" in text(page, "processes")
    first = page.run("document.querySelector('#host path').getAttribute('d').length")
    page.until(f"document.querySelector('#host path').getAttribute('d').length > {first}")  # the graph keeps growing
    page.run("[...document.querySelectorAll('#processes thead button')][0].click()")
    assert page.run("document.querySelector('#processes th').getAttribute('aria-sort')") == "descending"
    page.picture("monitor")


def test_a_profile(page: Browser, server: Server, tmp_path: Path) -> None:
    assert server.address.endswith("/#profile")
    page.open(server.address)
    page.until("document.querySelectorAll('#totals tbody tr').length")
    expected = "The server's profile: 5 events on 2 tracks and 1 curve, 1 of other kinds are not shown."
    assert text(page, "profile-state") == expected
    rows = page.run("[...document.querySelectorAll('#totals tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert rows[0] == ["softmax", "GPU stream", "2", "3.000 ms", "1.500 ms", "2.000 ms"]
    assert ["copy", "Python", "1", "500.0 µs", "500.0 µs", "500.0 µs"] in rows
    page.run("document.getElementById('timeline').focus()")
    page.keys("+", "ArrowRight", "-", "Home")
    box = page.run("(r => [r.x, r.y, r.width])(document.getElementById('timeline').getBoundingClientRect())")
    where = {"x": box[0] + box[2] * 0.01, "y": box[1] + 24, "button": "left", "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, **where)
    page.until("document.getElementById('event').textContent.startsWith('train.py:41: 1.000 ms')")
    page.picture("profile")
    # A user's file, and a file that is not a trace.
    for content, wanted in [
        ('[{"ph":"X","ts":1,"dur":2,"name":"a"}]', "1 events on 1 tracks"),
        ("{", "is no trace"),
        ('{"a":1}', "is no trace"),
    ]:
        file = tmp_path / f"{len(content)}.json"
        file.write_text(content)
        choose(page, file, wanted)


def choose(page: Browser, file: Path, wanted: str) -> None:
    """Opens a user's file in the viewer."""
    node = page.call("DOM.querySelector", nodeId=page.call("DOM.getDocument")["root"]["nodeId"], selector="#file")
    page.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node["nodeId"])
    page.until(f"document.getElementById('profile-state').textContent.includes({json.dumps(wanted)})")


def cells(page: Browser, table: str) -> list[list[str]]:
    rows = f"[...document.querySelectorAll('#{table} tbody tr')]"
    return list(page.run(f"{rows}.map(r => [...r.cells].map(c => c.textContent))"))


def test_profile_written_by_cuprous(page: Browser, server: Server, tmp_path: Path) -> None:
    x = cp.ones(200_000)
    with cp.profile() as p:
        for _ in range(30):
            y = cp.exp(x) + 1
            float(y.sum())
        y.get()
    p.save(tmp_path / "own.json")
    page.open(server.address)
    choose(page, tmp_path / "own.json", "own.json")
    assert text(page, "profile-state").endswith("tracks and 1 curve.")
    lines = cells(page, "lines")
    first = next(k for k, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "y = cp.exp(x) + 1" in line)
    assert {f"test_page.py:{first + k}" for k in range(3)} <= {line[0] for line in lines}
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


RATES = {
    "work": {"add": [7e9] * 5, "dot": [3.2e9] * 5},
    "rooms": [{"bytes": 0.0, "bandwidth": 1e10}],
    "launch": 1e-6, "program": 1e-6, "record": 3e-7, "threads": 2.0, "memory": 0.0, "startup": 0.0,
}  # fmt: skip


def test_calibrated_machine(browser: Browser, tmp_path: Path) -> None:
    """Results of `cuprous calibrate` are listed first and used; the page notices a new calibration."""
    kept = tmp_path / "machine.json"
    here = json.loads(
        command("estimate", "--flops", "1e0", "--gpu", "l4", "--json", CUPROUS_CACHE_DIR=str(tmp_path)).stdout
    )["cpu"]
    copies = {"up": 1e9, "down": 1e9, "up_pinned": 1e9, "down_pinned": 1e9, "latency": 1e-5}
    file = {
        "format": 2, "version": "0", "host": here, "board": None, "measured": 0, "disturbed": None,
        "cpu": RATES | {"name": "Measured CPU"}, "gpu": RATES | {"name": "Its GPU", "copies": copies},
    }  # fmt: skip
    kept.write_text(json.dumps(file))
    with serving(CUPROUS_CACHE_DIR=str(tmp_path)) as server:
        browser.size(1280, 900)
        browser.scheme("light")
        browser.failures.clear()
        browser.open(f"http://127.0.0.1:{server.port}/?flops=1000&gpu=L4")
        browser.until("document.getElementById('cpu-time').textContent")
        assert browser.run("document.getElementById('cpu').value") == "this"
        chosen = "document.getElementById('cpu').selectedOptions[0].textContent"
        assert browser.run(chosen) == "This machine: Measured CPU, measured"
        # 1,000 GFLOP at 1 GFLOPS, with the share of peak that is assumed for listed hardware.
        assert text(browser, "cpu-time") == "16 min 40 s"
        assert "as cuprous calibrate measured it" in text(browser, "sources")
        assert "Measured CPU takes" in browser.run("document.querySelector('#bars title').textContent")
        browser.picture("calculator-here")
        # A quantity without a measurement gives an error; listed hardware has a value for it.
        browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        type_into(browser, "parallel", "0.5")
        browser.until(
            "document.getElementById('problem').textContent.includes('the parallel part cannot be combined with')"
        )
        browser.run("document.getElementById('cpu').value = 'Core i7-10700K'")
        browser.run("document.getElementById('question').dispatchEvent(new Event('input'))")
        browser.until("!document.getElementById('problem').textContent")
        browser.failures.clear()  # the browser logs the answer 422
        kept.write_text(json.dumps(file | {"cpu": file["cpu"] | {"name": "Faster CPU"}}))
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until(f"document.getElementById('cpu').selectedOptions.length && {chosen}.includes('Faster CPU')")
        # Measured on another machine: treated like listed hardware, with advice.
        kept.write_text(json.dumps(file | {"host": "another"}))
        browser.failures.clear()
        browser.open(f"http://127.0.0.1:{server.port}/?cpu=this&flops=1")
        browser.until("document.getElementById('sources').textContent.includes('it was measured on another')")
        assert ", measured" not in browser.run("document.getElementById('cpu').options[0].textContent")
        assert browser.failures == []
