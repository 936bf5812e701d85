"""Workflows, metadata and the symbols of the extension agree with the code."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import cuprous
from cuprous import _core
from tests import symbols

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "conda" / "recipe.yaml"
YAML = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff", RECIPE])
WORKFLOWS = [path for path in YAML if path.parent.name == "workflows"]
#: Files for people and external services, without code.
OUTSIDE = [*YAML, *sorted(ROOT.glob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))] + [
    ROOT / name for name in ("Makefile", "Cargo.toml", "pyproject.toml", "deny.toml")
]

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the extension is no ELF library here")


def read(name: str) -> str:
    """Returns the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def found(pattern: str, text: str) -> str:
    """Returns the first group of the only match."""
    (match,) = re.findall(pattern, text, re.MULTILINE)
    return str(match)


def calls() -> list[tuple[str, str]]:
    """Returns the file and the arguments of every `make` command in a workflow."""
    lines = [(path.name, line.split(" #")[0]) for path in WORKFLOWS for line in path.read_text().splitlines()]
    return [
        (name, call)
        for name, line in lines
        if not line.lstrip().startswith("#")
        for call in re.findall(r"(?:^\s*|run: |[;&|] )make ([^;&|]+)", line)
    ]


def test_files_are_there() -> None:
    """The globs above match files."""
    assert {path.name for path in WORKFLOWS} >= {"test.yml", "nightly.yml", "wheels.yml", "docs.yml"}
    assert {name for name, _ in calls()} == {path.name for path in WORKFLOWS}


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_parses(path: Path) -> None:
    """Every file is valid YAML, and every job of a workflow has a time limit."""
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with `make docs`")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    if path in WORKFLOWS:
        assert content["permissions"] == {"contents": "read"} and "group" in content["concurrency"]
        for name, job in content["jobs"].items():
            assert 0 < job["timeout-minutes"] <= 360, name


def test_workflows_call_targets_of_the_makefile() -> None:
    """Their variables exist as well."""
    makefile = read("Makefile")
    targets = set(found(r"^\.PHONY: ((?:.*\\\n)*.*)$", makefile).replace("\\\n", " ").split())
    variables = set(re.findall(r"^(\w+) +[?:]=", makefile, re.MULTILINE))
    for name, call in calls():
        words = re.findall(r"(\w+)=(?:\"[^\"]*\"|\$\{\{.*?\}\}|\S*)|(\S+)", call)
        assert {target for _, target in words if target} <= targets, (name, call)
        assert {variable for variable, _ in words if variable} <= variables, (name, call)


def test_versions_of_python_agree() -> None:
    """The oldest is required, is in the stable ABI's name and is tested, and so are all up to the newest."""
    project = read("pyproject.toml")
    oldest = int(found(r'^requires-python = ">=3\.(\d+)"$', project))
    named = [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)]
    assert named == list(range(oldest, named[-1] + 1))
    matrices = re.findall(r"^ +python: \[(.*)\]$", read(".github/workflows/test.yml"), re.MULTILINE)
    tested = [version for matrix in matrices for version in re.findall(r'"3\.(\d+t?)"', matrix)]
    assert [int(minor) for minor in tested if minor.isdigit()] == named
    assert f'"abi3-py3{oldest}"' in read("Cargo.toml")
    assert f'target-version = "py3{oldest}"' in project


#: Packages whose names in conda are other ones.
IN_CONDA = {
    "nvidia-cuda-nvrtc": "cuda-nvrtc",
    "nvidia-cublas": "libcublas",
    "nvidia-cufft": "libcufft",
    "nvidia-cusolver": "libcusolver",
    "nvidia-cusparse": "libcusparse",
    "nvidia-cudnn-cu13": "cudnn",
    "nvidia-nccl-cu13": "nccl",
}


def test_the_conda_recipe_agrees_with_the_package() -> None:
    """Its version, requirements, optional libraries, commands and addresses are those of the package for pip."""
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with `make docs`")
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    pyproject = tomllib.loads(read("pyproject.toml"))
    project, cargo = pyproject["project"], tomllib.loads(read("Cargo.toml"))["workspace"]["package"]

    def listed(requirements: list[str]) -> set[str]:
        """Returns requirements as conda writes them, without those of the package itself."""
        parts = [re.fullmatch(r"([\w-]+)(\[.*\])?(.*)", text.split(";")[0].strip()) for text in requirements]
        return {f"{IN_CONDA.get(part[1], part[1])} {part[3]}" for part in parts if part}

    python = f"python {project['requires-python']}"
    needed = recipe["requirements"]
    assert recipe["context"]["version"] == cargo["version"]
    assert (recipe["package"]["name"], recipe["about"]["license"]) == (project["name"], project["license"])
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license_file"] == project["license-files"]
    urls = project["urls"]
    assert (recipe["about"]["repository"], recipe["about"]["documentation"]) == (
        urls["Repository"],
        urls["Documentation"],
    )
    assert set(needed["run"]) == {python} | listed(project["dependencies"])
    # conda has one package of each library for all versions of CUDA, so `cuda12` has no constraints of its own.
    groups = {name: names for name, names in project["optional-dependencies"].items() if name != "cuda12"}
    extras = [name for names in groups.values() for name in names]
    assert set(needed["run_constraints"]) == listed(extras) - listed(project["dependencies"])
    assert set(needed["host"]) == {python, "pip"} | listed(pyproject["build-system"]["requires"])
    assert f"rust >={cargo['rust-version']}" in needed["build"]
    tested = {line.split()[0] for test in recipe["tests"] for line in test.get("script", ())}
    assert tested == set(project["scripts"])
    for module in recipe["tests"][0]["python"]["imports"]:
        assert (ROOT / "python" / Path(*module.split("."), "__init__.py")).exists(), module


def test_versions_of_cuprous_agree() -> None:
    """The workspace has the only version."""
    version = found(r'^\[workspace\.package\]\nversion = "(.*)"$', read("Cargo.toml"))
    assert found(r"^version: (.*)$", read("CITATION.cff")) == version == cuprous.__version__


def test_one_repository_address() -> None:
    """All repository addresses equal the one in pyproject.toml."""
    repository = found(r'^Repository = "https://github\.com/([\w-]+/[\w-]+)"$', read("pyproject.toml"))
    name = repository.split("/")[1]
    for path in OUTSIDE:
        for place in re.findall(rf"github\.com/([\w-]+/{name})\b", path.read_text(encoding="utf-8")):
            assert place == repository, path.name


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_no_private_paths(path: Path) -> None:
    """Absolute paths are ones that every machine has."""
    paths = re.findall(r"(?<![\w.:/)}>*\]-])/([a-z]+)/[\w.]+", path.read_text(encoding="utf-8"))
    assert set(paths) <= {"bin", "dev", "etc", "opt", "path", "proc", "sys", "usr"}


def extension() -> bytes:
    """Returns the built extension."""
    return Path(_core.__file__).read_bytes()


@linux
def test_needed_symbols() -> None:
    """The symbols equal readelf's, and all symbols without a version are Python's."""
    needed = symbols.needed(extension())
    highest, bad = symbols.problems(extension(), None)
    assert symbols.version_of(f"GLIBC_{highest}") == max(map(symbols.version_of, needed)) >= (2, 17)
    assert bad == [] and any(name.startswith("PyType_") for name in needed[""])
    if tool := shutil.which("readelf"):
        listed = subprocess.run([tool, "-W", "-V", str(_core.__file__)], capture_output=True, text=True, check=True)
        assert set(re.findall(r"Name: (GLIBC_[\d.]+)", listed.stdout)) == {v for v in needed if symbols.version_of(v)}


@linux
def test_newer_symbols_are_found() -> None:
    """A version above the limit is reported with its symbols, as is a symbol without its version."""
    image = bytearray(extension())
    limit = (2, 16)
    over = {
        version: names for version, names in symbols.needed(bytes(image)).items() if symbols.version_of(version) > limit
    }
    assert over and len(symbols.problems(bytes(image), limit)[1]) == len(over)
    # The indices of versions, section headers away: all of them become "global, without a version".
    (at,), (entry, count) = struct.unpack_from("<Q", image, 0x28), struct.unpack_from("<HH", image, 0x3A)
    (section,) = [
        header
        for header in (struct.unpack_from("<IIQQQQIIQQ", image, at + i * entry) for i in range(count))
        if header[1] == symbols.VERSION_OF_SYMBOL
    ]
    image[section[4] : section[4] + section[5]] = b"\1\0" * (section[5] // 2)
    (problem,) = symbols.problems(bytes(image), None)[1]
    assert "memcpy" in problem and "PyType_" not in problem


@linux
def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command prints requirements, fails only above the limit, and skips files that are not libraries."""
    (tmp_path / "other.so").write_bytes(b"MZ")
    arguments = ["symbols", str(_core.__file__), str(tmp_path / "other.so")]
    monkeypatch.setattr(sys, "argv", arguments)
    assert symbols.main() == 0 and re.search(r"glibc 2\.\d+\n$", capsys.readouterr().out)
    monkeypatch.setattr(sys, "argv", [*arguments, "--glibc", "2.2"])
    assert symbols.main() == 1 and "_core" in capsys.readouterr().err


def test_versions_of_symbols() -> None:
    """Versions are compared numerically; versions of other libraries are ignored."""
    assert symbols.version_of("GLIBC_2.4") < symbols.version_of("GLIBC_2.28") < symbols.version_of("GLIBC_ABI_DT_RELR")
    assert symbols.version_of("GLIBC_2.2.5") == (2, 2, 5)
    assert {symbols.version_of(name) for name in ("", "GCC_3.0", "GLIBCXX_3.4", "GLIBC_PRIVATE")} == {()}
