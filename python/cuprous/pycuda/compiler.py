"""PyCUDA's `compiler`: `SourceModule`, compiled by NVRTC, so that no CUDA toolkit and no C++ compiler is needed."""

from __future__ import annotations

import re
from typing import Any

from cuprous._cuda_headers import COMPLEX
from cuprous._raw_kernels import RawModule
from cuprous.pycuda.driver import CompileError, Function, Module

#: PyCUDA's name: options that all modules get.
DEFAULT_NVCC_FLAGS: list[str] = []
#: Headers of the host: what kernels use of them the compiler knows by itself.
_HOST_HEADERS = "assert|cstdio|cstdlib|cmath|cuda|cuda_runtime|float|limits|math|stdio|stdlib|string"
_COMPLEX_HEADER = (
    'extern "C++" {'
    + COMPLEX.replace("\n", " ")
    + " namespace pycuda { template <class T> using complex = ::complex<T>; } }"
)


def translated(source: str, no_extern_c: bool) -> str:
    """The source as NVRTC takes it; lines keep their numbers."""
    source = re.sub(rf"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]({_HOST_HEADERS})(\.h)?[>\"].*$", "", source)
    source = re.sub(
        r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]pycuda-complex.hpp[>\"].*$", lambda _: _COMPLEX_HEADER, source
    )
    return source if no_extern_c else f'extern "C" {{ {source}\n}}\n'


class SourceModule(Module):
    """A module of CUDA C++ source.

    Args:
        source: the source; its functions have C's names unless `no_extern_c`.
        nvcc, keep, cache_dir: accepted; nvcc is not used, and compiled code is always kept on disk.
        options: options for the compiler; what only nvcc knows (`-Xcompiler`, `-O3`) is left out.
        arch, code: accepted; code is for the GPU that is here.
        include_dirs: where headers are looked for.

    Raises:
        CompileError: if it does not compile, with the compiler's log and the lines around the first error.
        NotImplementedError: where the device is a CPU.
    """

    def __init__(
        self, source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
        arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
    ) -> None:  # fmt: skip
        for_nvcc = ("-Xcompiler", "-Xptxas", "-O", "--compiler-options", "-m64", "-w", "-ccbin")
        given = [
            str(o) for o in (DEFAULT_NVCC_FLAGS if options is None else options) if not str(o).startswith(for_nvcc)
        ]
        given += [f"--include-path={folder}" for folder in include_dirs]
        super().__init__(RawModule(code=translated(source, no_extern_c), options=tuple(given)))
        try:
            self._raw.compile()
        except NotImplementedError:
            raise
        except RuntimeError as error:
            raise CompileError(str(error), ("nvrtc", *given), stderr=str(error)) from None
        self.module = self


def compile(
    source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
    arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
    target: str = "cubin",
) -> bytes:  # fmt: skip
    """Device code (`target="cubin"`) or PTX of a source, for `arch`: "sm_90"; without it for the GPU that is here.

    Raises:
        CompileError: if it does not compile.
        NotImplementedError: for another target.
    """
    from cuprous._nvrtc import compile_source
    from cuprous.cuda import Device

    if target not in ("cubin", "ptx"):
        raise NotImplementedError(f"[compile] target={target!r} is not supported; cubin and ptx are")
    sm = arch or f"sm_{Device().compute_capability}"
    wanted = sm.replace("sm_", "compute_") if target == "ptx" else sm
    given = [str(o) for o in (DEFAULT_NVCC_FLAGS if options is None else options)] + [
        f"--include-path={folder}" for folder in include_dirs
    ]
    try:
        return compile_source(translated(source, no_extern_c), "source", wanted, given).code
    except RuntimeError as error:
        raise CompileError(str(error), ("nvrtc", *given), stderr=str(error)) from None


__all__ = ["DEFAULT_NVCC_FLAGS", "CompileError", "Function", "SourceModule", "compile"]
