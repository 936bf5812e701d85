"""The generated tables of AMD's libraries have the values of AMD's headers, where these are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

GENERATED = Path(__file__).parents[2] / "crates" / "hip-sys" / "src" / "generated"

#: The header of each generated file.
HEADERS = {
    "hipblaslt": "hipblaslt/hipblaslt.h", "rocblas": "rocblas/rocblas.h", "hipfft": "hipfft/hipfftXt.h",
    "hipsolver": "hipsolver/hipsolver.h", "hipsparse": "hipsparse/hipsparse.h", "amdsmi": "amd_smi/amdsmi.h",
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_values_are_those_of_amds_headers(name: str) -> None:
    """`HIP_PATH` names where the headers are installed. amdsmi's are C, in which enumerations are ints."""
    include = Path(os.environ.get("HIP_PATH", "/usr")) / "include"
    if not (include / HEADERS[name]).exists() or shutil.which("g++") is None:
        pytest.skip(f"{include / HEADERS[name]} or g++ is not installed")
    text = (GENERATED / f"{name}.rs").read_text()
    constants = re.findall(r"pub const (\w+): (\w+) =\s+\w+\((\d+)\);", text)
    assert len(constants) > 3
    checks = "\n".join(
        f'static_assert((unsigned)({constant}) == {value}u, "{kind}");' for constant, kind, value in constants
    )
    code = f"#define __HIP_PLATFORM_AMD__\n#include <{HEADERS[name]}>\n{checks}\n"
    line = ["g++", "-std=c++17", "-w", "-fsyntax-only", f"-I{include}", "-x", "c++", "-"]
    done = subprocess.run(line, input=code, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[:2000]
