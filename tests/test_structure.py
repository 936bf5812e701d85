"""The shape of the source: modules without cycles, imports at the top, the field's words."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CRATES = sorted(path.parent.name for path in ROOT.glob("crates/*/src"))
#: Modules that may use each other, by crate, with the reason.
CYCLES: dict[str, list[tuple[set[str], str]]] = {}
#: Imports of modules of python/cuprous that close a cycle, each used within functions only, with the reason.
PYTHON_CYCLES = {
    ("cuprous._array.interop", "cuprous"): "NumPy's protocols find our function by its public name",
    ("cuprous._array.methods", "cuprous"): "`__array_namespace__` returns the package",
    ("cuprous._array.interop", "cuprous.cuda._ipc"): "a method of arrays whose module imports NumPy",
    ("cuprous.cuda._arrays", "cuprous.cuda._ipc"): "a method of contexts whose module imports NumPy",
    ("cuprous.cuda._arrays", "cuprous.cuda._dates"): "arrays of dates are made by the same functions, with NumPy",
    ("cuprous.cuda._arrays", "cuprous.cuda._records"): "arrays of records are made by the same functions, with NumPy",
}
#: Imports of our own modules inside functions, in all of python/cuprous.
LATE_IMPORTS = 30
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
    while ends := {node for node, others in graph.items() if not others & graph.keys()}:  # in no cycle
        graph = {node: others - ends for node, others in graph.items() if node not in ends}
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


def imports(path: Path) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports of a file that are not for types only, and whether each stands in a function."""
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while nodes:
        node, late = nodes.pop()
        late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, late
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
            nodes += [(child, late) for child in inner]


@functools.cache
def package() -> dict[str, list[tuple[str, bool, str]]]:
    """The imports of each module of python/cuprous: what is imported, if in a function, and where."""
    paths = {}
    for path in (ROOT / "python/cuprous").rglob("*.py"):
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    result: dict[str, list[tuple[str, bool, str]]] = {}
    for module, path in paths.items():
        home = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
        found = result[module] = []
        for node, late in imports(path):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                base = home[: len(home) - node.level + 1] if node.level else []
                source = ".".join([*base, *filter(None, [node.module])])
                parts_of = [f"{source}.{name}" for name in names]
                names = [x if x in paths or x.startswith("cuprous._core") else source for x in parts_of]
            found += [(name, late, f"{path.relative_to(ROOT)}:{node.lineno}") for name in names]
    return result


def test_modules_of_the_package_have_few_cycles() -> None:
    found = package()
    graph = {name: {other for other, _, _ in found[name] if other in found and other != name} for name in found}
    for module, other in PYTHON_CYCLES:
        graph[module].remove(other)
    assert [sorted(group) for group in cycles(graph)] == []


def test_few_imports_stand_in_functions() -> None:
    everything = (one for found in package().values() for one in found)
    places = {place for name, late, place in everything if late and name.split(".")[0] == "cuprous"}
    assert len(places) < LATE_IMPORTS, sorted(places)


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
        text = path.read_text(encoding="utf-8")
        for word, elsewhere in WORDS.items():
            for match in re.finditer(rf"(?<![A-Za-z])(?:{word})(?![a-z])", text):  # also as a part of an identifier
                line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
                if not (elsewhere and re.search(elsewhere, line)):
                    number = text.count("\n", 0, match.start()) + 1
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
