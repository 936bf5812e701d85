"""Ten programs written with NumPy, Matplotlib, SciPy, Pillow and pandas run with Cuprous after `sed` on one line.

Each is run twice, as it is and with its import replaced. What it prints must be the same, and each file that it writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
NEEDED = {"matplotlib", "scipy", "PIL", "pandas"}


def needs(program: Path) -> list[str]:
    """Returns the other libraries that a program imports."""
    words = program.read_text().replace(".", " ").split()
    return sorted(NEEDED & set(words))


def run(program: Path, folder: Path) -> str:
    """Runs a program in a folder of its own and returns what it prints, scalars as plain numbers.

    Elements and means are arrays of no dimensions here and scalars in NumPy, which shows only in their `repr`.
    """
    folder.mkdir()
    # Tests of clients run with SciPy's array API, which the programs do not know.
    env = {key: value for key, value in os.environ.items() if key != "SCIPY_ARRAY_API"} | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=folder, capture_output=True, text=True, timeout=300, env=env
    )
    assert done.returncode == 0, done.stderr
    return re.sub(r"(?:np\.float64|array)\(([-+.e\d]+)\)", r"\1", done.stdout)


def same(one: Path, two: Path, random: bool) -> bool:
    """Returns true if two written files have the same contents: numbers up to rounding, pictures by their pixels.

    The streams of random numbers differ from NumPy's, so pictures of them are only compared in size and mean.
    """
    if one.suffix == ".npy":
        return np.allclose(np.load(one), np.load(two), rtol=1e-9)
    first, second = (np.asarray(Image.open(file).convert("RGB"), float) for file in (one, two))
    if first.shape != second.shape:
        return False
    return abs(first.mean() - second.mean()) < 6 if random else float((np.abs(first - second) > 8).mean()) < 0.002


def test_there_are_ten() -> None:
    assert len(PROGRAMS) == 10
    assert all(p.read_text().count("import numpy as np\n") == 1 for p in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_runs_with_one_line_replaced(program: Path, tmp_path: Path) -> None:
    for name in needs(program):
        pytest.importorskip(name)
    ported = tmp_path / program.name
    subprocess.run(
        ["sed", "s/^import numpy as np$/import cuprous as np/", str(program)], stdout=ported.open("w"), check=True
    )
    wanted, got = run(program, tmp_path / "numpy"), run(ported, tmp_path / "cuprous")
    assert got == wanted
    files = sorted(p.name for p in (tmp_path / "numpy").iterdir())
    assert files == sorted(p.name for p in (tmp_path / "cuprous").iterdir())
    random = ".random" in program.read_text()
    for name in files:
        assert same(tmp_path / "numpy" / name, tmp_path / "cuprous" / name, random), name
