"""PyCUDA's `compiler`: `SourceModule`, compiled by NVRTC, so that no CUDA toolkit and no C++ compiler is needed."""

from __future__ import annotations

import re
from typing import Any

from cuprous import _core
from cuprous.cuda._device import Device
from cuprous.cuda._headers import COMPLEX, OURS, include_options
from cuprous.cuda._nvcc import device_runtime
from cuprous.cuda._nvrtc import SEPARATE, compile_source
from cuprous.cuda._raw_kernels import RawModule, target
from cuprous.pycuda.driver import CompileError, Function, LogicError, Module

#: PyCUDA's name: options that all modules get.
DEFAULT_NVCC_FLAGS: list[str] = []
#: CUDA's own headers: the compiler knows by itself what kernels use of them.
_CUDAS_HEADERS = "cuda|cuda_runtime"
_COMPLEX_HEADER = (
    'extern "C++" {'
    + COMPLEX.replace("\n", " ")
    + " namespace pycuda { template <class T> using complex = ::complex<T>; } }"
)


#: What stands before the first declaration, and means the same outside of `extern "C"`.
_HEAD = re.compile(r"\s*(//.*|#\s*(include|define|undef|pragma)\b.*)?(?<!\\)")


def translated(source: str, no_extern_c: bool) -> str:
    """The source as NVRTC takes it; lines keep their numbers."""
    source = re.sub(rf"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]({_CUDAS_HEADERS})(\.h)?[>\"].*$", "", source)
    source = re.sub(
        r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]pycuda-complex.hpp[>\"].*$", lambda _: _COMPLEX_HEADER, source
    )
    if no_extern_c:
        return source
    lines = source.split("\n")
    first = next((k for k, line in enumerate(lines) if not _HEAD.fullmatch(line)), len(lines) - 1)
    # Directives have lines of their own.
    lines[first] = 'extern "C" {' + ("\n" if lines[first].lstrip().startswith("#") else " ") + lines[first]
    return "\n".join(lines) + "\n}\n"


def _options(options: Any, include_dirs: Any) -> list[str]:
    """Options as NVRTC takes them: what only nvcc knows is left out."""
    for_nvcc = ("-Xcompiler", "-Xptxas", "-O", "--compiler-options", "-m64", "-w", "-ccbin", "-l", "-L")
    flags = [str(o) for o in (DEFAULT_NVCC_FLAGS if options is None else options)]
    kept = [o for o in flags if not o.startswith(for_nvcc) or o == "-lineinfo"]
    # With nvcc, constants of <math.h> and <limits.h> are there unasked.
    unasked = [f"--pre-include={OURS / name}" for name in ("math.h", "limits.h")]
    return kept + [f"--include-path={folder}" for folder in include_dirs] + unasked


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
        flags = _options(options, include_dirs)
        super().__init__(RawModule(code=translated(source, no_extern_c), options=tuple(flags)))
        try:
            self._raw.compile()
        except NotImplementedError:
            raise
        except RuntimeError as error:
            raise CompileError(str(error), ("nvrtc", *flags), stderr=str(error)) from None
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
    if target not in ("cubin", "ptx"):
        raise NotImplementedError(f"[compile] target={target!r} is not supported; cubin and ptx are")
    sm = arch or f"sm_{Device().compute_capability}"
    wanted = sm.replace("sm_", "compute_") if target == "ptx" else sm
    flags = _options(options, include_dirs)
    try:
        return compile_source(translated(source, no_extern_c), "source", wanted, [*flags, *include_options()]).code
    except RuntimeError as error:
        raise CompileError(str(error), ("nvrtc", *flags), stderr=str(error)) from None


#: What kinds of device code are called, by the ending of their files.
_INPUTS = {"cubin": "cubin", "ptx": "ptx", "fatbin": "fatbin", "fatbinary": "fatbin", "object": "o", "library": "a"}


class DynamicModule(Module):
    """A module that is linked from several sources and pieces of device code, whose kernels may launch kernels.

    Args:
        nvcc, keep, log_size, log_verbose, cuda_libdir: accepted; the driver links.
        no_extern_c, arch, code, include_dirs: as for `SourceModule`.

    Raises:
        CompileError: if a source does not compile, or the pieces do not fit together.
        NotImplementedError: where the device is a CPU; for `link_options` and `message_handler`.
    """

    def __init__(
        self, nvcc: str = "nvcc", link_options: Any = None, keep: bool = False, no_extern_c: bool = False,
        arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
        message_handler: Any = None, log_size: int | None = None, log_verbose: bool = False,
        cuda_libdir: str | None = None,
    ) -> None:  # fmt: skip
        if link_options or message_handler is not None:
            raise NotImplementedError("[DynamicModule] link_options= and message_handler= are not supported")
        super().__init__(RawModule(code=""))
        self._no_extern_c, self._arch, self._include_dirs = no_extern_c, arch, include_dirs
        self._inputs: list[tuple[str, str, bytes]] = []
        self.module: DynamicModule | None = None

    def add_source(self, source: str, nvcc_options: Any = None, name: str = "kernel.ptx") -> DynamicModule:
        """Compiles a source, to be linked."""
        flags = [o for o in _options(nvcc_options, self._include_dirs) if o not in SEPARATE]
        aimed = self._arch or target()
        text = translated(source, self._no_extern_c)
        try:
            compiled = compile_source(text, name, aimed, [*flags, *include_options(), "--relocatable-device-code=true"])
        except RuntimeError as error:
            raise CompileError(str(error), ("nvrtc", *flags), stderr=str(error)) from None
        self._inputs.append(("cubin", name, compiled.code))
        return self

    def add_data(self, data: bytes, input_type: Any, name: str = "unknown") -> DynamicModule:
        """Adds device code: `input_type` is its kind, such as "cubin" or "ptx"."""
        kind = _INPUTS.get(str(getattr(input_type, "name", input_type)).lower())
        if kind is None:
            raise NotImplementedError(f"[DynamicModule] input_type={input_type!r} is none of {', '.join(_INPUTS)}")
        self._inputs.append((kind, name, bytes(data)))
        return self

    def add_file(self, filename: str, input_type: Any) -> DynamicModule:
        """Adds a file of device code."""
        with open(filename, "rb") as file:
            return self.add_data(file.read(), input_type, filename)

    def add_stdlib(self, libname: str) -> DynamicModule:
        """Adds a library of CUDA's: "cudadevrt"."""
        if libname != "cudadevrt":
            raise NotImplementedError(f"[DynamicModule] the library {libname!r} is not supported; cudadevrt is")
        path = device_runtime()
        self._inputs.append(("a", path.name, path.read_bytes()))
        return self

    def link(self) -> DynamicModule:
        """Links what was added, and loads it."""
        if not self._inputs:
            raise LogicError("link: nothing was added")
        # What comes first is the driver's too: any kind will do, but one must be relocatable.
        (_, name, first), *others = sorted(self._inputs, key=lambda piece: piece[0] != "cubin")
        try:
            self._raw._binary = _core.link_code(first, others, name)
        except NotImplementedError:
            raise
        except RuntimeError as error:
            raise CompileError(str(error), ("cuLink",), stderr=str(error)) from None
        self._raw.compile()
        self.module = self
        return self


class DynamicSourceModule(DynamicModule):
    """A source whose kernels may launch kernels: compiled separately, and linked with the device's runtime."""

    def __init__(
        self, source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
        arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
        cuda_libdir: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(no_extern_c=no_extern_c, arch=arch, include_dirs=include_dirs)
        self.add_source(source, options)
        self.add_stdlib("cudadevrt")
        self.link()


__all__ = [
    "DEFAULT_NVCC_FLAGS",
    "CompileError",
    "DynamicModule",
    "DynamicSourceModule",
    "Function",
    "SourceModule",
    "compile",
]
