"""The test suites: their files, their location, and the meaning of their imports."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    #: The part of a file's path that is not in its module name, and its replacement.
    prefix: tuple[str, str] = ("", "")
    #: Additional options of pytest.
    options: tuple[str, ...] = ()

    def module(self, path: Path) -> str:
        """Returns the name under which a test file, given below the root, is imported."""
        name = ".".join(path.parts)
        old, new = self.prefix
        return new + name.removeprefix(old)

    @property
    def remainder(self) -> Path:
        """The file of known failures."""
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
    # Without CuPy's driver layer, fusion and internals, and files that need a GPU for every test; kernels are a suite
    out = ("cuda_tests", "testing_tests", "fusion_tests", "test_raw.py", "test_elementwise.py", "test_reduction.py",
           "test_mdspan.py", "test_internal.py", "test_cub_reduction.py", "test_callback.py", "test_cache.py",
           "test_include.py", "test_cublas.py", "test_carray.py", "test_function.py")  # fmt: skip
    files = sorted((root / "tests/cupy_tests").rglob("test_*.py"))
    return [f for f in files if not set(f.parts) & set(out)]


class _Generators(ModuleType):
    """CuPy's tests replace the generators of all devices before each test, and check that they did."""

    _random_states = property(lambda self: {}, lambda self, states: None)


_RANDOM_MODULES = ("_distributions", "_generator", "_sample")


def _cupyx_files(root: Path) -> list[Path]:
    return sorted((root / "tests/cupyx_tests/scipy_tests").rglob("test_*.py"))


def _cupy_kernel_files(root: Path) -> list[Path]:
    return [root / f"tests/cupy_tests/core_tests/test_{name}.py" for name in ("raw", "elementwise", "reduction")]


def _bind_cupy(root: Path, lent: Mapping[str, ModuleType] | None = None) -> None:
    import cuprous
    from tests.peers.binding import Finder, package

    shared = {n: package(n) for n in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api")}
    shared |= {n: package(n) for n in ("cupy._core", "cupy._core.internal", "cupy._util")} | dict(lent or {})
    vars(shared["cupy._core"]).update(ndarray=cuprous.ndarray, array=cuprous.array)
    vars(shared["cupy._core.internal"])["prod"] = math.prod  # cupy.testing makes its arrays with it
    # CuPy's tests of random numbers take public functions from the private modules that define them.
    public = {n: getattr(cuprous.random, n) for n in cuprous.random.__all__}
    shared |= {f"cupy.random.{n}": package(f"cupy.random.{n}", **public) for n in _RANDOM_MODULES}
    shared["cupy.random._generator"].__class__ = _Generators
    # Used by markers of tests.
    vars(shared["cupy._util"])["PerformanceWarning"] = type("PerformanceWarning", (RuntimeWarning,), {})
    # Tells which decompositions the toolkit has.
    shared["cupyx.cusolver"] = package("cupyx.cusolver", check_availability=lambda name: True)
    aliases = {
        "cupy": "cuprous",
        "cupyx": "cuprous.cupyx",
        "cupyx.scipy": "cuprous.scipy",
        "cupy_backends.cuda.api.runtime": "cuprous.cuda.runtime",
    }
    own = {"cupy.testing": root / "cupy/testing", "cupy_tests": root / "tests/cupy_tests"}
    sys.meta_path.insert(0, Finder(aliases, own | {"cupyx_tests": root / "tests/cupyx_tests"}, shared))
    import cupy.random._generator
    import cupy.testing  # noqa: F401


def _bind_cupyx(root: Path) -> None:
    from tests.peers.binding import package

    # Decides which tests for old and new GPUs are skipped.
    _bind_cupy(root, {"cupy.cuda.device": package("cupy.cuda.device", get_compute_capability=lambda: "90")})
    vars(sys.modules["cupy.cuda"])["device"] = importlib.import_module("cupy.cuda.device")


def _bind_cupy_kernels(root: Path) -> None:
    from tests.peers import cupy_names

    _bind_cupy(root, cupy_names.lent())
    for name in ("compiler", "device", "driver"):
        importlib.import_module(f"cupy.cuda.{name}")
    vars(sys.modules["cupy.cuda"]).update(cupy_names.public())


# --- numba-cuda


def _numba_files(root: Path) -> list[Path]:
    tests = root / "numba_cuda/numba/cuda/tests"
    return [f for folder in ("cudapy", "cudadrv", "doc_examples") for f in sorted((tests / folder).glob("test_*.py"))]


def _bind_numba(root: Path) -> None:
    from tests.peers import numba_names
    from tests.peers.binding import Finder

    aliases = {
        "numba.cuda": "cuprous.cuda",
        "numba.cuda.core.config": "cuprous.cuda.config",
        "numba.cuda.core.errors": "cuprous.cuda.errors",
        "numba.core.errors": "cuprous.cuda.errors",
        "numba.core.types": "cuprous.cuda.types",
    }
    sys.meta_path.insert(0, Finder(aliases, numba_names.own(root), numba_names.lent(), faces=False))
    for name in ("", ".core.config", ".core.errors", ".testing", ".tests.support"):
        importlib.import_module(f"numba.cuda{name}")


# --- PyCUDA


def _pycuda_files(root: Path) -> list[Path]:
    return [root / f"test/test_{name}.py" for name in ("cumath", "driver", "gpuarray")]


def _bind_pycuda(root: Path) -> None:
    from tests.peers.binding import Finder

    sys.meta_path.insert(0, Finder({"pycuda": "cuprous.pycuda"}, {}, {}, faces=False))
    # All tests run, even without a GPU.
    vars(importlib.import_module("pycuda.tools"))["mark_cuda_test"] = lambda test: test


# --- dask.array: its tests of CuPy's blocks are part of its wheel


def _dask_root() -> Path | None:
    spec = importlib.util.find_spec("dask")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _dask_files(root: Path) -> list[Path]:
    return sorted((root / "array/tests").glob("test_cupy_*.py"))


def _bind_dask(root: Path) -> None:
    import cuprous
    from tests.peers.binding import Finder

    aliases = {"cupy": "cuprous", "cupyx": "cuprous.cupyx", "cupyx.scipy": "cuprous.scipy"}
    sys.meta_path.insert(0, Finder(aliases, {}, {}))
    cupy = importlib.import_module("cupy")
    vars(cupy)["__version__"] = "15.0.0"  # the tests of old versions are not skipped
    # dask's comparison of blocks takes CuPy's to the host, which it knows by the name of their class.
    utils = importlib.import_module("dask.array.utils")
    vars(utils)["normalize_to_array"] = lambda x: cuprous.asnumpy(x) if isinstance(x, cuprous.ndarray) else x


# --- Keras: the tests of its layers, operations and training are part of its wheel


_OTHER_BACKENDS = ("jax", "numpy", "openvino", "tensorflow")


def _keras_root() -> Path | None:
    spec = importlib.util.find_spec("keras")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _keras_files(root: Path) -> list[Path]:
    # Without the other backends, and pretrained models, which are downloaded.
    out = {root / "src/applications"} | {root / "src/backend" / name for name in _OTHER_BACKENDS}
    return [file for file in sorted((root / "src").rglob("*_test.py")) if not out & set(file.parents)]


def _bind_keras(root: Path) -> Any:
    import pytest

    from tests.peers.binding import package

    def skip_if_backend(name: str, reason: str) -> pytest.MarkDecorator:
        return pytest.mark.skipif(name == "torch", reason=reason)

    sys.modules["conftest"] = package("conftest", skip_if_backend=skip_if_backend)
    if os.environ.get("PEERS_REFERENCE"):  # with PyTorch, to compare the numbers of tests that pass
        importlib.import_module("keras")
        return builtins.__import__
    from cuprous.runner import _keras

    importlib.import_module("cuprous.keras")
    return _keras.statement


def _fetch(variable: str) -> str:
    return f"`make peers` fetches it, or name a copy: {variable}=/path"


_find_cupy = _from_variable("CUPY", "tests/cupy_tests")

#: Tests that need many GiB of memory.
NOT_HUGE = (
    "-k",
    "not HugeArrays and not 32BitBoundary and not asnumpy_blocking and not BigArray"
    " and not huge_array and not huge_list and not TestLabelOverflow and not TestInt64Toarray",
)

SUITES = {
    suite.name: suite
    for suite in (
        Suite("numpy", _numpy_root, _numpy_files, _bind_numpy, "", ("", "numpy."), NOT_HUGE),
        Suite("cupy", _find_cupy, _cupy_files, _bind_cupy, _fetch("CUPY"), ("tests.", ""), NOT_HUGE),
        Suite("cupyx", _find_cupy, _cupyx_files, _bind_cupyx, _fetch("CUPY"), ("tests.", ""), NOT_HUGE),
        Suite(
            "cupy_kernels", _find_cupy, _cupy_kernel_files, _bind_cupy_kernels, _fetch("CUPY"), ("tests.", ""), NOT_HUGE
        ),
        Suite(
            "numba",
            _from_variable("NUMBA_CUDA", "numba_cuda"),
            _numba_files,
            _bind_numba,
            _fetch("NUMBA_CUDA"),
            ("numba_cuda.", ""),
        ),
        Suite("dask", _dask_root, _dask_files, _bind_dask, "install requirements-clients.txt", ("", "dask.")),
        Suite(
            "keras",
            _keras_root,
            _keras_files,
            _bind_keras,
            "install requirements-clients.txt",
            ("", "keras."),
            ("-k", "not big_chunk"),  # loops over millions of elements
        ),
        Suite("pycuda", _from_variable("PYCUDA", "test"), _pycuda_files, _bind_pycuda, _fetch("PYCUDA"), ("test.", "")),
    )
}
