"""The shape of the source: modules without cycles, imports at the top, the field's words."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CRATES = sorted(path.parent.name for path in ROOT.glob("crates/*/src"))
#: Modules that may use each other, by crate, with the reason.
CYCLES: dict[str, list[tuple[set[str], str]]] = {}
#: Imports of our own modules inside functions, in all of python/cuprous.
LATE_IMPORTS = 40
#: Words that only this project used for what the field has names for, and where they mean something else.
WORDS = {
    r"[Ff]olds?|[Ff]old(?:ed|ing)": r"\.fold\(|_fold|fold_constants|_FoldFunction|[Uu]nfold|modules\.fold|\bFold\b|"
    r"[Cc]onstant folding|cross-validation|folded stack|def fold\(|\"fold\"",
    r"ways? back": r"",
    r"halves": r"halves (?:of|the|what)|two halves|(?:both|into) halves|swapped_halves|_halves_come_first",
    r"told": r"",
    r"Thing|Ways": r"Ways (?:of|in|to) ",
}


def sources(crate: str) -> dict[str, str]:
    """The text of each module without comments and inline tests, by its path; the crate's root is ""."""
    root = ROOT / "crates" / crate / "src"
    found = {}
    for path in root.rglob("*.rs"):
        parts = path.relative_to(root).with_suffix("").parts
        name = "::".join(parts[:-1] if parts[-1] in ("mod", "lib") else parts)
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        found[name] = re.sub(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", "", text, flags=re.DOTALL)
    return found


def paths(tree: str) -> Iterator[list[str]]:
    """The paths of a `use` declaration: `a::{b, c::d}` gives a::b and a::c::d."""
    if match := re.fullmatch(r"(?s)\s*([\w:]*?)(?:::)?\{(.*)\}\s*", tree):
        depth, start = 0, 0
        for at, char in enumerate(match[2] + ","):
            depth += (char == "{") - (char == "}")
            if char == "," and depth == 0:
                for rest in paths(match[2][start:at]):
                    yield [part for part in match[1].split("::") if part] + rest
                start = at + 1
    elif tree.strip():
        yield [part for part in tree.split(" as ")[0].strip().split("::") if part]


def uses(modules: dict[str, str]) -> dict[str, set[str]]:
    """For each module, the other ones that its paths lead to; a module's own submodules do not count."""
    result: dict[str, set[str]] = {name: set() for name in modules}
    for name, text in modules.items():
        found = [path for tree in re.findall(r"\buse ((?:crate|super|self)\b[^;]+);", text) for path in paths(tree)]
        found += [path.split("::") for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", text)]
        for path in found:
            base = [] if path[0] == "crate" else name.split("::") if name else []
            rest = path[path[0] in ("crate", "self") :]
            while rest and rest[0] == "super":
                base, rest = base[:-1], rest[1:]
            full = base + rest
            while full and "::".join(full) not in modules:
                full = full[:-1]
            other = "::".join(full)
            if other and other != name and not name.startswith(other + "::"):
                result[name].add(other)
    return result


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected sets of more than one node."""
    reach = {node: {node} for node in graph}
    changed = True
    while changed:
        changed = False
        for node in graph:
            more = set().union(*(reach[other] for other in graph[node])) - reach[node]
            changed |= bool(more)
            reach[node] |= more
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph}
    return [set(group) for group in groups if len(group) > 1]


@pytest.mark.parametrize("crate", CRATES)
def test_modules_of_a_crate_have_no_cycle(crate: str) -> None:
    allowed = [modules for modules, _ in CYCLES.get(crate, [])]
    assert [sorted(found) for found in cycles(uses(sources(crate))) if found not in allowed] == []


def test_cycles_are_found() -> None:
    modules = {
        "": "", "a": "use crate::{b::X, c};", "b": "use super::a::Y;", "c": "", "d::e": "use super::f;", "d::f": "",
    }  # fmt: skip
    assert uses(modules) == {"": set(), "a": {"b", "c"}, "b": {"a"}, "c": set(), "d::e": {"d::f"}, "d::f": set()}
    assert cycles(uses(modules)) == [{"a", "b"}]


def test_few_imports_stand_in_functions() -> None:
    found = []
    for path in (ROOT / "python/cuprous").rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    names = (
                        [node.module or "."] if isinstance(node, ast.ImportFrom)
                        else [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                    )  # fmt: skip
                    relative = isinstance(node, ast.ImportFrom) and node.level > 0
                    if relative or any(name.split(".")[0] == "cuprous" for name in names):
                        found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(set(found)) < LATE_IMPORTS, sorted(set(found))


def tracked() -> list[Path]:
    """The project's own text files, without generated stubs, which have the names of other libraries."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    kinds = (".rs", ".py", ".pyi", ".md", ".cuh", ".h", ".toml")
    own = [ROOT / name for name in names if name.endswith(kinds) and not name.startswith(("bench/", "CHANGELOG"))]
    return [path for path in own if path.exists() and not path.read_text("utf-8").startswith('"""Generated by')]


def test_terms_are_the_fields() -> None:
    files = [path for path in tracked() if path != Path(__file__)]
    if not files:
        pytest.skip("not a clone")
    found = []
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word, elsewhere in WORDS.items():
                # Also as a part of an identifier.
                found_here = re.search(rf"(?<![A-Za-z])(?:{word})(?![a-z])", line)
                if found_here and not (elsewhere and re.search(elsewhere, line)):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_a_function_is_a_row_its_derivative_and_its_name() -> None:
    """CONTRIBUTING's recipe for a function: `exprel` was added by it, and nothing else of the sources names it."""
    sources = [path for path in tracked() if path.relative_to(ROOT).parts[0] in ("crates", "python", "xtask")]
    if not sources:
        pytest.skip("not a clone")
    found = {
        str(path.relative_to(ROOT)) for path in sources if re.search("exprel(?!axed)", path.read_text("utf-8"), re.I)
    }
    special = "python/cuprous/scipy/special"
    names = {f"{special}/_table.py", f"{special}/_documentation.py"}
    assert found == {"crates/core/src/ops.rs", "crates/core/src/vjp.rs", *names}
