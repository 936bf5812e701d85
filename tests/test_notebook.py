"""What notebooks show: arrays, tensors, estimates, profiles and fused kernels as HTML, plots, and times that wait."""

from __future__ import annotations

import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous import _core
from cuprous._tools.charts import times
from cuprous._tools.notebook import counts, recorded_only
from docs import notebook

#: Tags without an end.
VOID = {"br", "meta"}


class Page(HTMLParser):
    """Checks that tags are closed in their order, and collects the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(value: Any) -> str:
    """Returns the text of a value's HTML."""
    html = value._repr_html_()
    assert isinstance(html, str)
    return Page(html).text


def test_arrays_show_shape_dtype_device_and_values() -> None:
    a = cp.arange(6, dtype="float32").reshape(2, 3)
    text = shown(a)
    assert "float32" in text and "(2, 3)" in text and a.device_name in text and "24.0 B" in text
    assert str(np.arange(6, dtype="float32").reshape(2, 3)) in text


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,), (3, 4), (2, 2, 2, 2, 2, 2)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex64"])
def test_every_kind_of_array_is_shown(shape: tuple[int, ...], dtype: str) -> None:
    assert f"shape {shape}" in shown(cp.ones(shape, dtype))
    assert f"shape {shape}" in shown(torch.ones(shape, dtype=getattr(torch, dtype)))


def test_numbers_are_shown_as_text() -> None:
    assert cp.asarray(1.5)._repr_html_() is None
    assert torch.tensor(1.5)._repr_html_() is None


@pytest.mark.parametrize("shape", [(3000, 4000), (10_000_000,), (40, 50, 60, 70)])
def test_only_edges_of_large_arrays_are_copied(shape: tuple[int, ...]) -> None:
    a = cp.zeros(shape, "float32")
    t = torch.zeros(shape)
    for value in (a, t):
        _core.synchronize()
        with cp.profile() as p:
            text = shown(value)
        assert p.total.bytes_out < 10_000
        assert "..." in text and len(text) < 2000
    with cp.profile() as p:
        assert "..." in repr(t)
    assert p.total.bytes_out < 10_000


def test_values_of_a_block_are_those_at_the_first_index() -> None:
    a = np.arange(4 * 10 * 30).reshape(4, 10, 30)
    assert "[0]:\n[[  0   1   2 ...  27  28  29]\n" in shown(cp.asarray(a))
    assert "[0]:\n[[  0,   1,   2,  ...,  27,  28,  29],\n" in shown(torch.from_numpy(a))


def test_tensors_show_their_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    assert "requires_grad=True" in shown(x)
    assert "grad_fn=<MulBackward0>" in shown(x * 2)
    assert shown(torch.nn.Parameter(torch.ones(2))).startswith("Parameter")


def test_text_is_escaped() -> None:
    def fn(x: Any) -> Any:
        return x + 1

    fn.__name__ = "<script>alert(1)</script>"
    html = cp.estimate(fn, cp.ones(10), device="H200")._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html


def work(x: Any) -> Any:
    return (cp.exp(2 * x) @ x).sum()


def test_estimates_show_the_answer_its_range_and_the_kernels() -> None:
    estimate = cp.estimate(work, cp.ones((300, 300)), device="H200")
    text = shown(estimate)
    assert estimate.sentence in text and re.search(r"between [\d.]+x and [\d.]+x,", text)
    assert estimate.cpu.name in text and "H200" in text
    for step in estimate.programs[0].steps:
        assert all(operation in text for operation in step.name.split(", "))


def test_the_bar_of_the_gpu_names_what_bounds_it_with_its_copies() -> None:
    estimate = cp.estimate(work, cp.ones((300, 300)), device="H200")
    assert (estimate.gpu.bound, estimate.bound) == ("launches", "copies")
    assert "bound by copies" in shown(estimate) and "Copies" in estimate.sentence


def test_ratios_are_written_as_in_sentences() -> None:
    for rate in ("3.1 GFLOPS", "700 GFLOPS", "20 TFLOPS", "190 TFLOPS", "5 PFLOPS"):
        found = cp.estimate_simple("1 TFLOP", cpu_rate="1 TFLOPS", gpu_rate=rate, bandwidth="1 GB/s", startup="0 s")
        if found.speedup >= 1:
            assert f" {times(found.speedup)} faster" in found.sentence
        assert re.fullmatch(r"[\d.]+x", times(found.speedup))
    assert [times(f) for f in (0.0518, 0.5, 156.2, 1234.5)] == ["0.052x", "0.50x", "156x", "1234x"]


def test_simple_estimates_show_their_parts() -> None:
    estimate = cp.estimate_simple("1 TFLOP", "1 GB", cpu_rate="400 GFLOPS", gpu_rate="10 TFLOPS", bandwidth="8 GB/s",
                                  startup="375 ms")  # fmt: skip
    text = shown(estimate)
    assert estimate.sentence in text and "2.50 s" in text and "600 ms" in text
    assert all(f"GPU: {part}" in text for part in ("start-up", "copies", "compute"))


def test_profiles_show_lines_and_advice() -> None:
    with cp.profile() as p:
        float(work(cp.ones((300, 300))))
    text = shown(p)
    assert "test_notebook.py" in text and all(sentence in text for sentence in p.advice)
    assert cp.profile()._repr_html_() is None
    assert repr(p) == str(p) and p.table() in repr(p)  # prompts show the table


def test_explain_names_what_was_fused() -> None:
    explained = cp.explain(lambda x: cp.exp(2 * x).sum(axis=1), cp.ones((300, 300)))
    assert repr(explained) == "program 1: 3 operations in 1 kernel\n  kernel 1: multiply, exp, sum"
    assert re.search("program 1.*multiply.*exp.*sum", shown(explained))
    assert cp.explain()._repr_html_() is None
    assert cp.explain(lambda: 1) == "no operation on arrays was recorded"
    with pytest.raises(TypeError, match="the first argument is the function"):
        cp.explain(3)  # type: ignore[arg-type]


def test_plots_draw_what_is_known() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    estimate = cp.estimate(work, cp.ones((300, 300)), device="H200")
    ax = estimate.plot()
    widths = sum(bar.get_width() for bar in ax.patches)
    assert widths == pytest.approx((estimate.total_cpu or 0) + (estimate.total_gpu or 0))
    assert estimate.plot(ax) is ax
    simple = cp.estimate_simple("1 TFLOP", "1 GB", cpu_rate="400 GFLOPS", gpu_rate="10 TFLOPS", bandwidth="8 GB/s")
    assert sum(bar.get_width() for bar in simple.plot().patches) == pytest.approx(
        simple.cpu_seconds + simple.gpu_seconds
    )
    with cp.profile() as p:
        float(work(cp.ones((300, 300))))
    drawn = sum(bar.get_width() for bar in p.plot().patches)
    total = p.total
    assert drawn == pytest.approx(total.device_time + total.copy_time + total.wait_time + total.plan_time)
    timeline = p.plot("timeline")
    assert any(label.get_text().endswith("work") for label in timeline.get_yticklabels())
    with pytest.raises(ValueError, match="'lines' or 'timeline', not 'pie'"):
        p.plot("pie")  # type: ignore[arg-type]
    matplotlib.pyplot.close("all")


def test_plots_without_matplotlib_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        cp.estimate(work, cp.ones((30, 30)), device="H200").plot()


def executed(cells: list[str], folder: Path) -> list[list[Any]]:
    """Runs a notebook in a kernel of its own and returns the outputs of each cell."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in notebook.cells]


def text_of(outputs: list[Any]) -> str:
    """Returns what a cell printed."""
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.slow
def test_a_notebook(tmp_path: Path) -> None:
    outputs = executed(
        [
            "import cuprous as cp\na = cp.ones((600, 600))\na",
            "%time b = float((a * 2).sum())",
            "%timeit -n 3 -r 1 a @ a",
            "%timeit -n 3 -r 1 a @ a",
            "%%cuprous_time\nc = a @ a\nc @ a",
            "%cuprous_time d = a @ a",
            "print(float(c[0, 0]), float(d[0, 0]))",
            "cp.estimate(lambda x: x @ x, a, device='H200')",
            "%%cuprous_time\nc;",
        ],
        tmp_path,
    )
    html = [output["data"] for output in outputs[0] if "data" in output]
    assert len(html) == 1 and "shape (600, 600)" in html[0]["text/html"] and html[0]["text/plain"].startswith("array(")
    assert "cuprous: this time" not in text_of(outputs[1])  # the value was waited for
    assert "that of recording alone" in text_of(outputs[2]) and "recording alone" not in text_of(outputs[3])
    timed = text_of(outputs[4])
    assert re.search(r"s, computed \(Python .*s, then waited .*s\)", timed)
    assert any("shape (600, 600)" in str(output.get("data")) for output in outputs[4])
    assert "computed" in text_of(outputs[5]) and text_of(outputs[6]) == "600.0 600.0\n"
    assert "text/html" in outputs[7][0]["data"]
    assert not any("data" in output for output in outputs[8])


@pytest.mark.parametrize("page", notebook.PAGES)
def test_notebooks_are_those_of_their_pages(page: str) -> None:
    text = (notebook.FOLDER / page).with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == notebook.written(page), "run `python -m docs.notebook`"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorial.md", "guides/first-kernel.md"])  # test_gallery.py runs the gallery's code
def test_pages_run_as_notebooks(page: str, tmp_path: Path) -> None:
    pytest.importorskip("nbformat")
    text = notebook.written(page)
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    outputs = executed(cells, tmp_path)
    for cell, shown in zip(cells, outputs, strict=True):
        promised = re.search(r"^print\(.*\)  # (.*)$", cell, re.MULTILINE)
        assert promised is None or promised[1] in text_of(shown), cell


@pytest.mark.slow
def test_errors_of_timed_cells_name_their_line(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    with pytest.raises(nbclient.exceptions.CellExecutionError) as failed:
        executed(["import cuprous as cp", "%%cuprous_time\nx = 1\ncp.ones(3) + cp.ones(4)"], tmp_path)
    message = re.sub(r"\x1b\[[\d;]*m", "", str(failed.value))
    assert re.search(r"Cell In\[\d\], line 2\n(?:.*\n)*-+> 2 cp\.ones\(3\) \+ cp\.ones\(4\)", message)


def test_dropped_work_is_recorded_only() -> None:
    a = cp.ones((300, 300))
    _core.synchronize()

    def measured(run: Any, times: int) -> bool:
        before = counts()
        for _ in range(times):
            run()
        after = counts()
        _core.flush()
        return recorded_only(before, after, counts())

    for count in (1, 7, 5000):
        assert measured(lambda: a + a, count)
        assert not measured(lambda: float((a[0] + a[0]).sum()), count)
    assert not measured(lambda: a.shape, 3)
    assert not measured(lambda: cp.timeit(lambda: a + a, repeat=2), 1)


def left_over() -> bool:
    """Returns true if work was recorded that had not been submitted, and submits it."""
    before = counts()
    _core.flush()
    return counts().programs > before.programs


def test_paced_loops_are_in_step_with_the_work() -> None:
    x = cp.ones((50, 50))
    found = []
    for _ in cp.paced(range(5), interval=0):
        found.append(left_over())
        x = cp.tanh(x @ x)
    assert not any(found) and not left_over()
    for _ in range(3):
        x = cp.tanh(x @ x)
    assert left_over()


def test_paced_loops_wait_as_often_as_the_interval_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[None] = []
    monkeypatch.setattr(_core, "synchronize", lambda: waits.append(None))
    assert list(cp.paced(range(100), interval=1e9)) == list(range(100))
    assert len(waits) == 8  # before, after 1, 3, 7, 15, 31, 63 iterations, and at the end
    waits.clear()
    for _ in cp.paced(range(10), interval=1e-6):
        time.sleep(1e-3)
    assert len(waits) == 12


def test_paced_takes_what_a_loop_takes() -> None:
    assert len(cp.paced([1, 2, 3])) == 3 and list(cp.paced(c for c in "ab")) == ["a", "b"]
    assert list(cp.paced(())) == []
    with pytest.raises(TypeError, match=r"object of type 'generator' has no len"):
        len(cp.paced(c for c in "ab"))
    with pytest.raises(TypeError, match=r"\[paced\] the first argument must be an iterable, not int"):
        cp.paced(3)  # type: ignore[arg-type]
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match=r"\[paced\] interval must be 0 or more seconds"):
            cp.paced([], interval=wrong)
    bar = pytest.importorskip("tqdm").tqdm(cp.paced(range(3)), file=io.StringIO())
    assert bar.total == 3 and list(bar) == [0, 1, 2]


def test_profiles_name_cells_as_the_prompts_do(tmp_path: Path) -> None:
    """The file of a cell has a number that nobody sees; the columns keep their places."""
    run = "with cp.profile() as profile:\n    total = float((cp.ones((500, 500)) @ cp.ones((500, 500))).sum())"
    outputs = executed(["import cuprous as cp", run, "print(profile)", "profile"], tmp_path)
    text = outputs[2][0]["text"]
    assert "In[2]:2 <module>" in text
    assert ".py" not in text
    line = next(line for line in text.splitlines() if line.startswith("In[2]"))
    head = text.splitlines()[0]
    assert line.rindex(re.split(r"\s{2,}", line)[1]) + len(re.split(r"\s{2,}", line)[1]) == head.index("device") + 6
    html = outputs[3][0]["data"]["text/html"]
    assert "In[2]:2 " in html
    assert ".py:" not in html
