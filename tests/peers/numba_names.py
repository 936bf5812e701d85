"""Names outside Numba's public API that numba-cuda's tests import, bound to public objects of Cuprous.

Internals without a counterpart are not provided, so that a test of Numba's internals fails with the missing name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from cuprous.cuda import _nvrtc
from cuprous.cuda._headers import include_options
from tests.peers.binding import package

#: Settings of `numba.cuda.config` without effect here, with Numba's defaults, because tests set them.
SETTINGS = {
    "ALWAYS_WARN_UNINIT_VAR": 0, "CUDA_ARRAY_INTERFACE_SYNC": True, "CUDA_DEBUGINFO_DEFAULT": 0,
    "CUDA_DEBUG_POLY": False, "CUDA_DEBUG_POLY_USE_TYPED_CONST": False, "_OptLevel": int,
    "CUDA_DEALLOCS_COUNT": 10, "CUDA_DEALLOCS_RATIO": 0.2,
    "CUDA_ENABLE_NRT": False, "CUDA_MEMORY_MANAGER": "default", "DEBUGINFO_DEFAULT": 0,
    "DISABLE_PERFORMANCE_WARNINGS": 0, "DUMP_ASSEMBLY": 0, "DUMP_BYTECODE": 0, "DUMP_CFG": 0, "DUMP_IR": 0,
    "DUMP_LLVM": 0, "FORCE_CUDA_CC": None, "OPT": 3,
}  # fmt: skip
#: Public names of `cuprous.cuda` (or its modules) that tests import from other modules.
ALIASES = {
    "numba": ("cuda", "types errors typeof vectorize guvectorize"),
    "numba.core": ("cuda", "types errors config"),
    "numba.cuda.compiler": ("cuda", "compile compile_all compile_ptx compile_ptx_for_current_device"),
    "numba.cuda.cudadrv.driver": ("cuda.errors", "LinkerError"),
    "numba.cuda.cudadrv.error": ("cuda.errors", "CudaSupportError"),
    "numba.cuda.cudadrv.linkable_code": (
        "cuda",
        "Archive CUSource Cubin Fatbin LTOIR LinkableCode Object PTXSource",
    ),
    "numba.cuda.typing.typeof": ("cuda.types", "typeof"),
}
PACKAGES = (
    "numba", "numba.core", "numba.cuda.core", "numba.cuda.cudadrv", "numba.cuda.memory_management",
    "numba.cuda.misc", "numba.cuda.np",
    "numba.cuda.typing",
)  # fmt: skip


def lent() -> Mapping[str, ModuleType]:
    """Returns the modules under their names in Numba."""
    cuda = importlib.import_module("cuprous.cuda")
    types = cuda.types
    prepare(cuda)
    modules = {name: package(name) for name in (*PACKAGES, *ALIASES)}
    for name, (ours, names) in ALIASES.items():
        source = importlib.import_module(f"cuprous.{ours}")
        for public in names.split():
            vars(modules[name])[public] = getattr(types if public == "typeof" else source, public)

    def signature(result: Any, *args: Any) -> Any:
        return types.Signature(result, args)

    vars(modules["numba.cuda.typing"])["signature"] = signature
    # Numba's own transpose reads the threads per block; the others are read by markers that skip tests.
    vars(modules["numba.cuda.cudadrv.driver"]).update(_have_nvjitlink=lambda: True, driver=_Driver())
    context = SimpleNamespace(device=cuda.get_current_device())
    modules |= {
        m.__name__: m
        for m in (
            package("numba.cuda.utils", PYVERSION=sys.version_info[:2]),
            package(
                "numba.cuda.np.numpy_support",
                from_dtype=types.as_type,
                as_dtype=lambda t: np.dtype(t.name),
                numpy_version=tuple(map(int, np.__version__.split(".")[:2])),
            ),
            package("numba.cuda.typing.cffi_utils", SUPPORTED=False),
            package("numba.cuda.typing.templates", signature=signature),
            package("numba.cuda.cudadrv.devices", get_context=lambda: context),
            package(
                "numba.cuda.cudadrv.libs",
                get_cuda_include_dir=_include_dir,
                get_cudalib=lambda *_, **__: "",  # grid synchronization needs no library
                check_static_lib=lambda _: None,
            ),
            package("numba.cuda.cudadrv.nvrtc", find_closest_arch=lambda cc: cc, _get_nvrtc_version=_nvrtc.version),
            package("numba.cuda.misc.special", literal_unroll=_literal_unroll),
            package("numba.cuda.memory_management.nrt", rtsys=_NoAllocations()),
            package("numba.cuda.vector_types", vector_types=_vectors(cuda)),
        )
    }
    for name in sorted(modules):
        parent, _, child = name.rpartition(".")
        if parent in modules:
            vars(modules[parent])[child] = modules[name]
    return modules


def own(root: Path) -> Mapping[str, Path]:
    """Returns Numba's files with data and helpers of its tests."""
    theirs = root / "numba_cuda/numba/cuda"
    return {f"numba.cuda.{name}": theirs / name for name in ("testing", "tests", "libdevicefuncs", "kernels")}


def prepare(cuda: ModuleType) -> None:
    """Adds the attributes that tests check to decide whether they can run."""
    for name, value in SETTINGS.items():
        vars(cuda.config).setdefault(name, value)
    vars(cuda)["HAS_NUMBA"] = False
    if not cuda.is_available():
        # On the CPU no test is skipped for lack of a device; tests that need one fail.
        device = SimpleNamespace(compute_capability=(9, 0), supports_float16=True, id=0)
        vars(cuda)["get_current_device"] = lambda: device


def _include_dir() -> str:
    for option in include_options():
        folder = option.removeprefix("--include-path=")
        if (Path(folder) / "cuda.h").exists():
            return folder
    raise FileNotFoundError("cuda.h")


def _literal_unroll(container: Any) -> Any:
    return container


class _Driver:
    """A part of Numba's driver that has no counterpart."""

    __slots__ = ()

    def get_device(self) -> SimpleNamespace:
        return SimpleNamespace(MAX_THREADS_PER_BLOCK=1024)


class _NoAllocations:
    """Numba's counters of memory allocated by kernels, which is always zero here."""

    def memsys_enable_stats(self) -> None: ...

    def memsys_disable_stats(self) -> None: ...

    def get_allocation_stats(self) -> SimpleNamespace:
        return SimpleNamespace(alloc=0, free=0, mi_alloc=0, mi_free=0)


def _vectors(cuda: ModuleType) -> dict[str, SimpleNamespace]:
    found = {}
    for base in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
        for count in range(1, 5):
            name = f"{base}x{count}"
            found[name] = SimpleNamespace(
                name=name, num_elements=count, base_type=getattr(cuda, base), user_facing_object=getattr(cuda, name)
            )
    return found
