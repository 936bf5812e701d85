"""Generated kernels compile for GPUs of AMD, with a compiler that needs no GPU.

`make test-amd` compiles the kernels of many tests, each for one of the targets by its code. Debian's packages clang-19
and libamdhip64-dev are enough. Their hiprtc is older: it knows gfx90a and gfx1030.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.test_cuda_code import checked

#: Waves of 64 threads (the data center's GPUs) and of 32.
TARGETS = "gfx90a|gfx942|gfx1030|gfx1100|gfx1201"


def _clang() -> str | None:
    """Returns the command of a clang that compiles HIP, as `make test-amd` names it or as Debian installs it."""
    if command := os.environ.get("CUPROUS_CHECK_CLANG"):
        return command
    found = shutil.which("clang++-19")
    if found is None or not os.path.exists("/usr/include/hip/hip_runtime.h"):
        return None
    return f"{found} -x hip --cuda-device-only -nogpulib --hip-path=/usr -include hip/hip_runtime.h"


CLANG = _clang()
WITHOUT = "no compiler for AMD: apt-get install clang-19 libamdhip64-dev, or name one in CUPROUS_CHECK_CLANG"


@pytest.mark.slow
@pytest.mark.skipif(CLANG is None, reason=WITHOUT)
def test_kernels_of_random_programs_compile() -> None:
    programs = ["-m", "tests.fuzz", "--programs", "10", "--seed", "7", "--device", "cpu", "--modes", "fused"]
    checked(programs, TARGETS, CUPROUS_CHECK_CLANG=str(CLANG))


@pytest.mark.skipif(CLANG is None, reason=WITHOUT)
def test_an_error_shows_the_line_of_the_users_source() -> None:
    code = """
import cuprous as cp
try:
    cp.RawKernel('extern "C" __global__ void own(float* x) {\\n  asm("mov.u32 %0, 1;" : "=q"(x));\\n}', "own").compile()
except Exception as error:
    assert "2 |   asm(" in str(error), error
else:
    raise AssertionError("PTX is no code of AMD's")
"""
    checked(["-c", code], "gfx1100", CUPROUS_CHECK_CLANG=str(CLANG))
