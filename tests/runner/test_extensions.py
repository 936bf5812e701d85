"""Libraries that are compiled against PyTorch are refused where they are imported, with what to do."""

from __future__ import annotations

import importlib.machinery
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.runner.programs import run, start, write

pytestmark = pytest.mark.slow
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
SOURCE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "NAME", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&definition); }
"""


def build(folder: Path, name: str, *options: str) -> None:
    """Compiles an empty extension module."""
    compiler = shutil.which("gcc")
    include = sysconfig.get_path("include")
    if compiler is None or not Path(include, "Python.h").exists():
        pytest.skip("needs gcc and Python's headers")
    source = folder / f"{name}.c"
    source.write_text(SOURCE.replace("NAME", name))
    command = [
        compiler,
        "-shared",
        "-fPIC",
        f"-I{include}",
        str(source),
        "-o",
        str(folder / f"{name}{SUFFIX}"),
        *options,
    ]
    subprocess.run(command, check=True)


def test_extensions_of_torch_are_refused(tmp_path: Path) -> None:
    package = tmp_path / "fastlib"
    package.mkdir()
    write(
        tmp_path, {"fastlib/__init__": "try:\n    from fastlib import kernels\nexcept ImportError as e:\n    error = e"}
    )
    (tmp_path / "libc10.c").write_text("int c10;")
    subprocess.run(["gcc", "-shared", "-fPIC", "libc10.c", "-o", "libc10.so"], cwd=tmp_path, check=True)
    build(package, "kernels", "-Wl,--no-as-needed", f"-L{tmp_path}", "-lc10", f"-Wl,-rpath,{tmp_path}")
    build(tmp_path, "harmless")
    code = "import harmless, fastlib, torch; print(fastlib.error.name)\nprint(fastlib.error)"
    name, text = run(tmp_path, "-c", code).stdout.splitlines()
    assert name == "fastlib.kernels"
    assert (
        text.startswith("fastlib is compiled against PyTorch's C++ library (fastlib.kernels)") and "run without" in text
    )
    assert start(tmp_path, "-c", "import fastlib; print(hasattr(fastlib, 'error'))").stdout == "False\n"
