"""Every example of the README and of docs/*.md runs, and prints what its comments say.

A page is a program: its Python blocks run in order, in one namespace. `print(…)  # text` promises that text, whatever
the white space. A block that begins with `# needs a GPU` runs on a GPU only; one that imports a library that is not
installed is left out (`make test-clients` has those of docs/clients.md).
"""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cuprous as cp
from cuprous._tools import completions
from tests.conftest import DEVICE

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [
    ROOT / name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "DECISIONS.md",
        "CHANGELOG.md",
        "bench/RESULTS.md",
        "bench/attempts.md",
    )
]
BLOB = "https://github.com/cuprous/cuprous/blob/main/"
#: The gallery is run, and its pictures are compared, by tests/ported.
EXAMPLES = [p for p in PAGES if "```python" in p.read_text(encoding="utf-8") and p.name != "gallery.md"]


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Returns the Python blocks of a page, each with the line before it."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, found.start(1)), found[1]


def missing(code: str) -> list[str]:
    """Returns the missing requirement of a block, if any."""
    # `cuprous.keras` and `cuprous.sklearn` need packages of their own.
    names = re.findall(r"^(?:import|from) (?:cuprous\.(?=(?:keras|sklearn)\b))?(\w+)", code, re.MULTILINE)
    names += re.findall(r"^from cuprous import (keras)\b", code, re.MULTILINE)
    lacks = [name for name in names if not importlib.util.find_spec(name)]
    if (
        re.search(r"^(?:import|from) (?:scipy|sklearn)\b", code, re.MULTILINE)
        and os.environ.get("SCIPY_ARRAY_API") != "1"
    ):
        lacks.append("SCIPY_ARRAY_API=1")
    if code.startswith("# needs a GPU") and DEVICE == "cpu":
        lacks.append("a GPU")
    if code.startswith("# needs a launcher"):
        lacks.append("a launcher")
    return lacks


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples(page: Path) -> None:
    printed: dict[int, list[str]] = {}
    # Pages assume a fresh program, and memory that earlier tests left in the pool counts against a limit.
    gc.collect()
    cp.get_default_memory_pool().free_all_blocks()

    def recorded(*values: Any) -> None:
        printed.setdefault(sys._getframe(1).f_lineno, []).append(" ".join(map(str, values)))

    namespace: dict[str, Any] = {"print": recorded, "__name__": "example"}
    left_out = []
    for line, code in blocks(page):
        if lacks := missing(code):
            left_out.append(f"line {line + 1} ({', '.join(lacks)})")
            continue
        printed.clear()
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
        for number, text in enumerate(code.splitlines(), line + 1):
            if promise := re.search(r"\bprint\(.*\)  # (.+)$", text):
                assert squeezed(" ".join(printed.get(number, []))) == squeezed(promise[1]), f"{page.name}:{number}"
    if left_out and len(left_out) == len(list(blocks(page))):
        pytest.skip("; ".join(left_out))


def prose(text: str) -> str:
    """Returns Markdown without its blocks and pieces of code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's titles, as GitHub and Sphinx make them."""
    titles = re.findall(
        r"^#+ (.*)$",
        re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE),
        re.MULTILINE,
    )
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower() for title in titles]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title)) for title in plain}


@pytest.mark.parametrize("page", [*LINKED, *PAGES[1:]], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Also links to files of the repository on GitHub. Sphinx checks only those within the documentation."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if link.startswith(BLOB):
            base, name = ROOT, link.removeprefix(BLOB)
        elif re.match(r"\w+:", link):
            continue
        else:
            base, name = page.parent, link
        file, _, anchor = name.partition("#")
        target = (base / file) if file else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Returns the commands of `cuprous` in a page's code, and what follows up to a program's name."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(?:sh|console|bash|text)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    lines = [line.split("  #")[0] for block in blocks for line in block.splitlines()]
    for code in lines + re.findall(r"`([^`\n]+)`", text):
        if call := re.match(r".*?(?:^|[ /$(])(?<!import )cuprous ([a-z]+)\b(?!\.py)(.*)", code):
            yield call[1], call[2].partition(".py")[0]


def test_commands_of_the_pages_exist() -> None:
    """Every `cuprous COMMAND --option` of a page is one that the command's help has."""
    known = {
        command.name: {n for option in command.options for n in option.names} for command in completions.commands()
    }
    seen = 0
    for page in [*LINKED, *PAGES[1:]]:
        for command, rest in commands(page):
            assert command in known, f"{page.name}: cuprous {command}"
            assert set(re.findall(r"(?<!\S)--[a-z][\w-]*", rest)) <= known[command], f"{page.name}: {command}{rest}"
            seen += 1
    assert seen > 60


#: Variables of tests, which users have no use for.
OF_TESTS = {
    "CUPROUS_NVIDIA_ROOTS",
    "CUPROUS_TEST_CHILD",
    "CUPROUS_CHECK_TYPES",
    "CUPROUS_CHECK_CLANG",
    "CUPROUS_CHECK_CUDA",
}


def test_environment_variables_are_documented() -> None:
    """Those that the code reads are those of docs/command-line.md, but for variables of tests."""
    named = re.compile(r"[\"'](CUPROUS_[A-Z_]+)[\"']")
    sources = [*(ROOT / "python" / "cuprous").rglob("*.py")]
    sources += [
        path for room in (ROOT / "crates").glob("*/src") if room.parent.name != "sim" for path in room.rglob("*.rs")
    ]
    read = {name for path in sources for name in named.findall(path.read_text(encoding="utf-8"))}
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert read - OF_TESTS == set(re.findall(r"`(CUPROUS_[A-Z_]+)", page))


def test_every_client_has_an_example() -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert [section.split("\n")[0] for section in sections if "```python" not in section] == []


@pytest.mark.skipif(
    os.environ.get("CUPROUS_ALL_EXAMPLES") != "1" or sys.version_info < (3, 11),
    reason="a run without the libraries of requirements-clients.txt",
)
def test_no_example_of_a_client_is_left_out() -> None:
    assert [missing(code) for _, code in blocks(ROOT / "docs" / "clients.md") if missing(code)] == []
