"""A driver that is too old, broken or incomplete is reported with a fix, and the CPU keeps working."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.robust.helpers import command, output

CODE = """
    import warnings
    warnings.simplefilter("ignore")
    import cuprous as cp
    print(cp._core.device_count(), cp._core.get_device(), float((cp.arange(10.0) * 2).sum()))
    print(str(cp._core.unusable_gpu_reason()).splitlines()[0])
    try:
        cp._core.set_device("cuda")
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""

# Stands in for libcuda.so.1: reports a version, or fails to start.
TOO_OLD = "int cuDriverGetVersion(int *v) { *v = 11040; return 0; }"
WILL_NOT_START = """
    int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
    int cuInit(unsigned f) { return 999; }
    int cuGetErrorName(int e, const char **s) { *s = "CUDA_ERROR_UNKNOWN"; return 0; }
    int cuGetErrorString(int e, const char **s) { *s = "unknown error"; return 0; }
"""
HALF_THERE = "int cuInit(unsigned f) { return 0; }"


@pytest.fixture
def stand_in(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Returns a folder with a libcuda.so.1 compiled from the C code that the test names."""
    target = tmp_path / "libcuda.so.1"
    if request.param == "noise":
        target.write_bytes(b"this is no library")
        return str(tmp_path)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source = tmp_path / "cuda.c"
    source.write_text(request.param)
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(target), str(source)], check=True)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("stand_in", "words"),
    [(TOO_OLD, "11.4"), (HALF_THERE, "cuDriverGetVersion"), ("noise", "driver")],
    indirect=["stand_in"],
)
def test_a_driver_that_cannot_be_used(stand_in: str, words: str) -> None:
    first, reason, error = output(CODE, LD_LIBRARY_PATH=stand_in, CUPROUS_DEVICE=None).splitlines()
    assert first == "0 cpu 90.0"
    assert words in reason
    assert words in error


@pytest.mark.parametrize("stand_in", [WILL_NOT_START], indirect=True)
def test_a_driver_that_does_not_start(stand_in: str) -> None:
    """The failure shows at the first use of the GPU, which raises; the CPU keeps working."""
    code = """
        import warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        try:
            cp._core.set_device("cuda")
            print(float(cp.ones(3).sum()))
        except RuntimeError as error:
            print(error)
        cp._core.set_device("cpu")
        print(float(cp.ones(3).sum()))
    """
    *error, value = output(code, LD_LIBRARY_PATH=stand_in).splitlines()
    assert "cuInit" in "\n".join(error)
    assert value == "3.0"


@pytest.mark.parametrize("stand_in", [TOO_OLD, WILL_NOT_START, "noise"], indirect=True)
def test_doctor_finds_the_fault(stand_in: str) -> None:
    done = command("doctor", "--json", LD_LIBRARY_PATH=stand_in, CUPROUS_DEVICE=None)
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (1, False)
    broken = [check for check in report["checks"] if check["state"] == "broken"]
    assert broken
    assert all(check["cure"] for check in broken)
    assert not any(check["name"].startswith("kernel on cuda") for check in broken), "a follow-on error hides the cause"
