"""The suites: which files, where they are found, and what their imports mean."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
NUMPY_FILES = """
    _core/test_indexing _core/test_multiarray _core/test_numeric _core/test_umath _core/test_ufunc _core/test_einsum
    _core/test_shape_base lib/test_function_base lib/test_nanfunctions lib/test_arraysetops lib/test_stride_tricks
    lib/test_arraypad lib/test_packbits lib/test_histograms lib/test_index_tricks lib/test_twodim_base
    lib/test_polynomial lib/test_type_check lib/test_shape_base lib/test_ufunclike linalg/test_linalg
    fft/test_pocketfft fft/test_helper random/test_smoke
"""


@dataclass(frozen=True)
class Suite:
    """A peer's tests. `bind` runs in the process that runs a file, before anything of the peer is imported."""

    name: str
    find: Callable[[], Path | None]
    files: Callable[[Path], list[Path]]
    bind: Callable[[Path], Any]
    missing: str
    options: tuple[str, ...] = field(default=())

    @property
    def remainder(self) -> Path:
        """The file of tests that are known to fail."""
        return HERE / f"{self.name}_remainder.txt"


def _from_variable(variable: str, inside: str) -> Callable[[], Path | None]:
    def find() -> Path | None:
        root = Path(os.environ.get(variable, f"build/peers/{variable.lower()}")).resolve()
        return root if (root / inside).exists() else None

    return find


# --- NumPy: its tests are part of its wheel


def _numpy_root() -> Path:
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _numpy_files(root: Path) -> list[Path]:
    pairs = [name.split("/") for name in NUMPY_FILES.split()]
    return [root / folder / "tests" / f"{file}.py" for folder, file in pairs]


def _bind_numpy(root: Path) -> Any:
    from tests.peers.numpy_names import importer

    return importer


# --- CuPy


def _cupy_files(root: Path) -> list[Path]:
    # cuda_tests and core_tests/fusion_tests test CuPy's driver layer and its fusion; kernels are a suite of their own.
    out = ("cuda_tests", "testing_tests", "fusion_tests", "test_raw.py", "test_elementwise.py", "test_reduction.py")
    files = sorted((root / "tests/cupy_tests").rglob("test_*.py"))
    return [f for f in files if not set(f.parts) & set(out)]


def _cupyx_files(root: Path) -> list[Path]:
    return sorted((root / "tests/cupyx_tests/scipy_tests").rglob("test_*.py"))


def _cupy_kernel_files(root: Path) -> list[Path]:
    return [root / f"tests/cupy_tests/core_tests/test_{name}.py" for name in ("raw", "elementwise", "reduction")]


def _bind_cupy(root: Path) -> None:
    import sys

    import cuprous
    from tests.peers.binding import Finder

    internal = ModuleType("cupy._core.internal")
    vars(internal)["prod"] = math.prod  # cupy.testing makes its arrays with it
    core = _package("cupy._core")
    vars(core).update(ndarray=cuprous.ndarray, array=cuprous.array)
    aliases = {
        "cupy": "cuprous",
        "cupyx": "cuprous.cupyx",
        "cupyx.scipy": "cuprous.scipy",
        "cupy_backends.cuda.api.runtime": "cuprous.cuda.runtime",
    }
    own = {"cupy.testing": root / "cupy/testing", "cupy_tests": root / "tests/cupy_tests"}
    lent = {n: _package(n) for n in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api")}
    lent |= {"cupy._core": core, "cupy._core.internal": internal}
    sys.meta_path.insert(0, Finder(aliases, own | {"cupyx_tests": root / "tests/cupyx_tests"}, lent))
    import cupy.testing  # noqa: F401


def _package(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    return module


FETCH_CUPY = "clone https://github.com/cupy/cupy and name the folder: CUPY=/path/to/cupy"
_find_cupy = _from_variable("CUPY", "tests/cupy_tests")

SUITES = {
    suite.name: suite
    for suite in (
        Suite("numpy", _numpy_root, _numpy_files, _bind_numpy, ""),
        Suite("cupy", _find_cupy, _cupy_files, _bind_cupy, FETCH_CUPY),
        Suite("cupyx", _find_cupy, _cupyx_files, _bind_cupy, FETCH_CUPY),
        Suite("cupy_kernels", _find_cupy, _cupy_kernel_files, _bind_cupy, FETCH_CUPY),
    )
}
