"""PyCUDA's `compiler`: `SourceModule`, compiled by NVRTC, so that neither a CUDA toolkit nor a C++ compiler is
needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from cuprous import _core
from cuprous.cuda._headers import COMPLEX, OURS, include_options
from cuprous.cuda._nvcc import device_runtime
from cuprous.cuda._nvrtc import SEPARATE, compile_source
from cuprous.cuda._raw_kernels import RawModule
from cuprous.cuda._raw_kernels import target as own_target
from cuprous.pycuda._errors import CompileError, LogicError
from cuprous.pycuda._modules import Function, Module

#: PyCUDA's name for the default options of all modules.
DEFAULT_NVCC_FLAGS: list[str] = []
#: Headers of CUDA itself, whose contents NVRTC defines without an include.
_CUDAS_HEADERS = "cuda|cuda_runtime"
_COMPLEX_HEADER = (
    'extern "C++" {'
    + COMPLEX.replace("\n", " ")
    + " namespace pycuda { template <class T> using complex = ::complex<T>; } }"
)


#: Lines before the first declaration, whose meaning does not depend on `extern "C"`.
_HEAD = re.compile(r"\s*(//.*|#\s*(include|define|undef|pragma)\b.*)?(?<!\\)")


def translated(source: str, no_extern_c: bool) -> str:
    """Returns the source in the form that NVRTC accepts; line numbers are preserved."""
    source = re.sub(rf"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]({_CUDAS_HEADERS})(\.h)?[>\"].*$", "", source)
    source = re.sub(
        r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]pycuda-complex.hpp[>\"].*$", lambda _: _COMPLEX_HEADER, source
    )
    if no_extern_c:
        return source
    lines = source.split("\n")
    first = next((k for k, line in enumerate(lines) if not _HEAD.fullmatch(line)), len(lines) - 1)
    # Preprocessor directives need lines of their own.
    lines[first] = 'extern "C" {' + ("\n" if lines[first].lstrip().startswith("#") else " ") + lines[first]
    return "\n".join(lines) + "\n}\n"


def _options(options: Any, include_dirs: Any) -> list[str]:
    """Returns the options that NVRTC accepts; options that only nvcc knows are dropped."""
    for_nvcc = ("-Xcompiler", "-Xptxas", "-O", "--compiler-options", "-m64", "-w", "-ccbin", "-l", "-L")
    flags = [str(o) for o in (DEFAULT_NVCC_FLAGS if options is None else options)]
    kept = [o for o in flags if not o.startswith(for_nvcc) or o == "-lineinfo"]
    # nvcc defines the constants of <math.h> and <limits.h> without an include.
    default_includes = [f"--pre-include={OURS / name}" for name in ("math.h", "limits.h")]
    return kept + [f"--include-path={folder}" for folder in include_dirs] + default_includes


@contextlib.contextmanager
def _compiling(*command: str) -> Iterator[None]:
    """Raises the errors of a compilation as `CompileError`."""
    try:
        yield
    except NotImplementedError:
        raise
    except RuntimeError as error:
        raise CompileError(str(error), command, stderr=str(error)) from None


class SourceModule(Module):
    """A module of CUDA C++ source.

    Parameters
    ----------
    source : str
        The source; its functions have C linkage unless `no_extern_c`.
    nvcc : str, default "nvcc"
        Ignored; nvcc is not used, and compiled code is always cached on disk.
    keep : bool, default False
        Ignored; nvcc is not used, and compiled code is always cached on disk.
    cache_dir : str, optional
        Ignored; nvcc is not used, and compiled code is always cached on disk.
    options : sequence of str, optional
        Compiler options; those that only nvcc knows (`-Xcompiler`, `-O3`) are dropped.
    arch, code : str, optional
        Ignored; code is compiled for the current GPU.
    include_dirs : sequence of str, optional
        Folders to search for headers.

    Raises
    ------
    CompileError
        If compilation fails, with the compiler's log and the lines around the first error.
    NotImplementedError
        If the device is a CPU.

    See Also
    --------
    pycuda.compiler.compile, pycuda.compiler.DynamicSourceModule, pycuda.driver.Module

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = gpuarray.ones(2, np.float32)
    >>> module.get_function("twice")(x, block=(2, 1, 1))
    >>> x
    array([2., 2.], dtype=float32)
    """

    def __init__(
        self, source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
        arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
    ) -> None:  # fmt: skip
        flags = _options(options, include_dirs)
        super().__init__(RawModule(code=translated(source, no_extern_c), options=tuple(flags)))
        with _compiling("nvrtc", *flags):
            self._raw.compile()
        self.module = self


def compile(
    source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
    arch: str | None = None, code: str | None = None, cache_dir: Any = None, include_dirs: Any = (),
    target: str = "cubin",
) -> bytes:  # fmt: skip
    """Compiles a source to device code (`target="cubin"`) or PTX, for `arch` such as "sm_90" or else the current GPU.

    Raises
    ------
    CompileError
        If compilation fails.
    NotImplementedError
        For another target.

    See Also
    --------
    pycuda.compiler.SourceModule, pycuda.driver.module_from_buffer
    """
    if target not in ("cubin", "ptx"):
        raise NotImplementedError(f"[compile] target={target!r} is not supported; use cubin or ptx")
    sm = arch or own_target()
    if target == "ptx" and sm.startswith("gfx"):
        raise NotImplementedError("[compile] target='ptx' is not supported: GPUs of AMD have no PTX; use cubin")
    wanted = sm.replace("sm_", "compute_") if target == "ptx" else sm
    flags = _options(options, include_dirs)
    with _compiling("nvrtc", *flags):
        return compile_source(translated(source, no_extern_c), "source", wanted, [*flags, *include_options()]).code


#: The kinds of device code, and the matching file extensions.
_INPUTS = {"cubin": "cubin", "ptx": "ptx", "fatbin": "fatbin", "fatbinary": "fatbin", "object": "o", "library": "a"}


class DynamicModule(Module):
    """A module linked from several sources and binaries of device code, whose kernels may launch kernels.

    Parameters
    ----------
    nvcc : str, default "nvcc"
        Ignored; the driver links.
    keep : bool, default False
        Ignored; the driver links.
    log_size : int, optional
        Ignored; the driver links.
    log_verbose : bool, default False
        Ignored; the driver links.
    cuda_libdir : str, optional
        Ignored; the driver links.
    no_extern_c : bool, default False
        As for `SourceModule`.
    arch, code : str, optional
        As for `SourceModule`.
    include_dirs : sequence of str, optional
        As for `SourceModule`.

    Raises
    ------
    CompileError
        If compilation or linking fails.
    NotImplementedError
        If the device is a CPU; for `link_options` and `message_handler`.

    See Also
    --------
    pycuda.compiler.DynamicSourceModule, pycuda.compiler.SourceModule
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
        """Compiles a source and adds it to the link."""
        flags = [o for o in _options(nvcc_options, self._include_dirs) if o not in SEPARATE]
        target_arch = self._arch or own_target()
        text = translated(source, self._no_extern_c)
        options = [*flags, *include_options(), "--relocatable-device-code=true"]
        with _compiling("nvrtc", *flags):
            compiled = compile_source(text, name, target_arch, options)
        self._inputs.append(("cubin", name, compiled.code))
        return self

    def add_data(self, data: bytes, input_type: Any, name: str = "unknown") -> DynamicModule:
        """Adds device code to the link; `input_type` is its kind, such as "cubin" or "ptx"."""
        kind = _INPUTS.get(str(getattr(input_type, "name", input_type)).lower())
        if kind is None:
            raise NotImplementedError(f"[DynamicModule] input_type={input_type!r} must be one of {', '.join(_INPUTS)}")
        self._inputs.append((kind, name, bytes(data)))
        return self

    def add_file(self, filename: str, input_type: Any) -> DynamicModule:
        """Adds a file of device code to the link."""
        with open(filename, "rb") as file:
            return self.add_data(file.read(), input_type, filename)

    def add_stdlib(self, libname: str) -> DynamicModule:
        """Adds a CUDA library to the link; only "cudadevrt" is supported."""
        if libname != "cudadevrt":
            raise NotImplementedError(f"[DynamicModule] the library {libname!r} is not supported; use cudadevrt")
        path = device_runtime()
        self._inputs.append(("a", path.name, path.read_bytes()))
        return self

    def link(self) -> DynamicModule:
        """Links everything that was added and loads the result."""
        if not self._inputs:
            raise LogicError("link: nothing was added")
        # The first input may be of any kind, but one of them must be relocatable device code.
        (_, name, first), *others = sorted(self._inputs, key=lambda piece: piece[0] != "cubin")
        with _compiling("cuLink"):
            self._raw._binary = _core.link_code(first, others, name)
        self._raw.compile()
        self.module = self
        return self


class DynamicSourceModule(DynamicModule):
    """A module whose kernels may launch kernels: compiled separately and linked with the device runtime.

    See Also
    --------
    pycuda.compiler.SourceModule, pycuda.compiler.DynamicModule
    """

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
    "DEFAULT_NVCC_FLAGS", "CompileError", "DynamicModule", "DynamicSourceModule", "Function", "SourceModule", "compile",
]  # fmt: skip
