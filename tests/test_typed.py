"""What type checkers say: programs of every face pass, mistakes are found, and stubs are what is there."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cuprous
from tests import make_stubs
from tests.robust.helpers import environment

ROOT = Path(__file__).parents[1]
PACKAGE = Path(str(cuprous.__file__)).parent
PROGRAMS = ["arrays", "tensors", "kernels"]


def body(text: str) -> str:
    """Returns the code of a stub without its format."""
    tree = ast.parse(text)
    imports = sorted({ast.unparse(ast.ImportFrom(node.module, [name], node.level)) for node in ast.walk(tree)
                      if isinstance(node, ast.ImportFrom) for name in node.names})  # fmt: skip
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):  # `__all__`, which is sorted
            node.value.elts.sort(key=ast.unparse)
    others = [ast.dump(node) for node in tree.body[1:] if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join([*(line for line in imports if " as " in line), *others])


@pytest.mark.parametrize("module", make_stubs.STUBS)
def test_stubs_are_up_to_date(module: str) -> None:
    # In a process of its own: after the first sparse tensor, functions of tensors are others.
    code = f"from tests import make_stubs; print(make_stubs.stub({module!r}))"
    path = {"PYTHONPATH": f"{PACKAGE.parent}:{ROOT}"}
    made = subprocess.check_output(
        [sys.executable, "-c", code], text=True, timeout=300, cwd=ROOT, env=environment(**path)
    )
    written = make_stubs.path_of(module).read_text()
    assert body(written) == body(made), "run `python -m tests.make_stubs`"


def test_no_public_module_has_any_name() -> None:
    """A module-level `__getattr__` that type checkers see would hide every misspelled name."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        private = any(part.startswith("_") and part != "__init__" for part in (*path.parts[-3:-1], path.stem))
        if private or path.with_suffix(".pyi").exists() or "runner" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        found += [str(path) for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"]
    assert sorted(found) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", f"tests.typed.{name}"], capture_output=True, text=True, timeout=300,
                          cwd=ROOT, env=environment(PYTHONPATH=f"{PACKAGE.parent}:{ROOT}"), check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(Path(ROOT / "tests" / "typed" / f"{name}.py").read_text().splitlines()) >= 300


def mypy(*arguments: str) -> str:
    """Returns the report of mypy --strict as a user has it: errors within the package are not shown."""
    pytest.importorskip("mypy")
    line = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--explicit-package-bases", "--no-color-output",
            "--follow-imports=silent", *arguments]  # fmt: skip
    changed = environment(MYPYPATH=str(PACKAGE.parent), PYTHONPATH=None)
    return subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=ROOT, env=changed, check=False).stdout


def wrong() -> set[int]:
    """Returns the lines with mistakes."""
    lines = (ROOT / "tests/typed/typos.py").read_text().splitlines()
    return {number for number, text in enumerate(lines, 1) if text.endswith("# wrong")}


@pytest.mark.slow
def test_mypy_strict_finds_mistakes_and_nothing_else() -> None:
    report = mypy(*(f"tests/typed/{name}.py" for name in (*PROGRAMS, "typos")))
    errors = re.findall(r"^(\S+):(\d+): error", report, re.MULTILINE)
    assert {file for file, _ in errors} == {"tests/typed/typos.py"}, report
    assert {int(line) for _, line in errors} == wrong(), report


@pytest.mark.slow
def test_pyright_finds_mistakes_and_nothing_else(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=f"{Path(sys.executable).parent}")
    if pyright is None:
        pytest.skip("pyright is not installed")
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "cuprous").symlink_to(PACKAGE)  # as installed, so that rules for packages with py.typed apply
    settings = {"include": [str(Path("programs"))], "extraPaths": [], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "programs").symlink_to(ROOT / "tests" / "typed")
    line = [pyright, "--outputjson", "--pythonpath", sys.executable]
    changed = environment(PYTHONPATH=str(packages))
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=changed, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [(Path(d["file"]).stem, d["range"]["start"]["line"] + 1) for d in found if d["severity"] == "error"]
    assert {file for file, _ in errors} == {"typos"}, done.stdout
    assert {line for _, line in errors} == wrong()
