"""Tests the calculator and the monitor in a browser: results, bad input, sharing, keyboard, screen readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..helpers import command
from ..serving import Server, serving
from .browser import Browser
from .contents import cells, show, text

INPUTS = "[...document.querySelectorAll('#question input, #question select')]"


def type_into(page: Browser, name: str, value: str) -> None:
    page.run(f"document.getElementById('{name}').select()")
    page.call("Input.insertText", text=value) if value else page.keys("Backspace")


def test_inputs_to_outputs(page: Browser) -> None:
    before = text(page, "speedup")
    assert before.endswith("x")
    assert text(page, "range").startswith("between ")  # the headline has its range
    assert "Core i7-10700K takes" in page.run("document.getElementById('bars').getAttribute('aria-label')")
    type_into(page, "flops", "1000000")
    page.until(f"document.getElementById('speedup').textContent !== '{before}'")
    assert "GPU is about" in text(page, "sentence")
    assert text(page, "problem") == ""
    # One gray and one blue bar, by the computed styles.
    bars = "[...document.querySelectorAll('#bars .bar-whole')]"
    fills = page.run(f"{bars}.map(r => getComputedStyle(r).backgroundColor)")
    assert fills == ["rgb(89, 99, 110)", "rgb(9, 105, 218)"]
    widths = page.run(f"{bars}.map(r => r.offsetWidth)")
    assert widths[0] == page.run("document.getElementById('bars').clientWidth") > widths[1]
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
    assert text(page, "range").startswith("between ")


PARTS = "[...document.querySelectorAll('#bars .bar-parts div')].map(d => d.getBoundingClientRect().width)"


@pytest.mark.parametrize("example", ["example-network", "example-paths", "example-matrix", "example-small"])
def test_parts_of_the_time_add_up(page: Browser, example: str) -> None:
    """The GPU's bar is drawn in parts over the whole width, however short it is beside the CPU's."""
    page.run(f"document.getElementById('{example}').click()")
    page.until("document.getElementById('sentence').textContent && !document.getElementById('problem').textContent")
    page.until("(a => a.cpu_rate !== undefined || !a.simple)(Object.fromEntries(new URLSearchParams(location.search)))")
    full, parts = page.run("document.getElementById('bars').clientWidth"), page.run(PARTS)
    assert sum(parts) == pytest.approx(full, rel=0.01) and len(parts) >= 3
    rows = cells(page, "parts")
    assert rows == [] or [row[0].split()[0] for row in rows]
    # The widths are in proportion to the times.
    answer = page.run("fetch('/api/estimate?flops=10T&data=1GB&gpu=L4&cpu=5600X&overlapped=1').then(a => a.json())")
    stacked = page.run(f"import('/charts.js').then(c => c.stack({json.dumps(answer)}))")
    assert sum(seconds for _, seconds in stacked) == pytest.approx(answer["gpu_seconds"], rel=1e-3)


def test_the_answer_stays_in_sight_on_a_phone(page: Browser) -> None:
    page.size(360, 740)
    page.run("document.getElementById('example-network').click()")
    page.until("document.getElementById('glance').textContent.startsWith('19.2x · CPU 25.0 s · GPU 1.30 s')")
    bar = "(r => [r.top, r.bottom, innerHeight])(document.getElementById('glance').getBoundingClientRect())"
    for field in ("flops", "startup", "gpu", "simple"):
        page.run(f"document.getElementById('{field}').scrollIntoView({{block: 'center'}})")
        top, bottom, height = page.run(bar)
        assert 0 <= top < bottom <= height, field
    page.run("document.getElementById('glance').click()")
    page.until("document.getElementById('speedup').getBoundingClientRect().top < innerHeight / 2")
    page.run("document.getElementById('example-matrix').click()")  # not by the simple formula: with a range
    page.until("/^[0-9.]+x [(][0-9.]+x to [0-9.]+x[)] · CPU /.test(document.getElementById('glance').textContent)")


def test_without_scripts_the_page_names_the_commands(page: Browser, server: Server) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(f"http://127.0.0.1:{server.port}/")
        shown = page.run("document.body.innerText")
        assert "This page needs JavaScript" in shown and "cuprous estimate" in shown
        assert "Total operations" not in shown and "Monitor" not in shown
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


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
    page.until("document.getElementById('bars').getAttribute('aria-label').includes('H200')")
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
        show(page, section)
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
        show(page, section)
        assert page.run(CONTRAST) == []
        page.until("document.documentElement.scrollWidth <= 360")
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
    # Axes with units, the span of time, and curves that keep growing.
    labels = page.run("[...document.querySelectorAll('#host .plot span')].map(s => s.textContent)")
    assert {"100 %", "0 %", "0 B", "1 min ago", "30 s ago", "now"} <= set(labels)
    assert "over 15 min" in text(page, "host")
    page.run("document.querySelector('#monitor [value=\"600\"]').click()")
    page.until("document.getElementById('host').textContent.includes('10 min ago')")
    page.run("document.querySelector('#monitor [value=\"60\"]').click()")
    # A GPU that reports nothing has no empty plots.
    assert page.run(
        "[...document.querySelectorAll('#gpu-cards .card')].map(c => c.querySelectorAll('.plot').length)"
    ) == [4, 0]
    assert "utilization, memory, power, temperature" in shown
    # The graph moves on: it grows, and when it is full its oldest samples leave it.
    first = json.dumps(page.run("document.querySelector('#host path').getAttribute('d')"))
    page.until(f"document.querySelector('#host path').getAttribute('d') !== {first}")
    page.run("document.querySelectorAll('#processes thead button')[1].click()")
    assert page.run("document.querySelectorAll('#processes th')[1].getAttribute('aria-sort')") == "descending"
    numbers = [int(row[1]) for row in cells(page, "processes")]
    assert numbers == sorted(numbers, reverse=True)
    page.picture("monitor")


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
        assert "Measured CPU takes" in browser.run("document.getElementById('bars').getAttribute('aria-label')")
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
