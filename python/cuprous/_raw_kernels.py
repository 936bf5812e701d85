"""CuPy's `RawKernel` and `RawModule`: CUDA C++ as it is, compiled at its first use, for the default device."""

from __future__ import annotations

import functools
from typing import Any

from cuprous import _core

#: CuPy's header of complex numbers, as far as kernels written for it use it.
_COMPLEX = """
template <class T> struct alignas(2 * sizeof(T)) complex {
    T re, im;
    __host__ __device__ complex(T r = 0, T i = 0) : re(r), im(i) {}
    template <class U> __host__ __device__ complex(const complex<U>& o) : re(o.re), im(o.im) {}
    __host__ __device__ T real() const { return re; }
    __host__ __device__ T imag() const { return im; }
    __host__ __device__ void real(T r) { re = r; }
    __host__ __device__ void imag(T i) { im = i; }
    __host__ __device__ complex& operator+=(complex o) { re += o.re; im += o.im; return *this; }
    __host__ __device__ complex& operator-=(complex o) { re -= o.re; im -= o.im; return *this; }
    __host__ __device__ complex& operator*=(complex o) {
        return *this = complex(re * o.re - im * o.im, re * o.im + im * o.re);
    }
    __host__ __device__ complex& operator/=(complex o) {
        T n = o.re * o.re + o.im * o.im;
        return *this = complex((re * o.re + im * o.im) / n, (im * o.re - re * o.im) / n);
    }
    friend __host__ __device__ complex operator+(complex a, complex b) { return a += b; }
    friend __host__ __device__ complex operator-(complex a, complex b) { return a -= b; }
    friend __host__ __device__ complex operator*(complex a, complex b) { return a *= b; }
    friend __host__ __device__ complex operator/(complex a, complex b) { return a /= b; }
    friend __host__ __device__ complex operator-(complex a) { return complex(-a.re, -a.im); }
    friend __host__ __device__ bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
    friend __host__ __device__ bool operator!=(complex a, complex b) { return !(a == b); }
};
template <class T> __device__ T real(complex<T> a) { return a.re; }
template <class T> __device__ T imag(complex<T> a) { return a.im; }
template <class T> __device__ complex<T> conj(complex<T> a) { return complex<T>(a.re, -a.im); }
template <class T> __device__ T norm(complex<T> a) { return a.re * a.re + a.im * a.im; }
template <class T> __device__ T abs(complex<T> a) { return hypot(a.re, a.im); }
template <class T> __device__ T arg(complex<T> a) { return atan2(a.im, a.re); }
template <class T> __device__ complex<T> polar(T r, T phi) { return complex<T>(r * cos(phi), r * sin(phi)); }
template <class T> __device__ complex<T> exp(complex<T> a) { return polar(exp(a.re), a.im); }
"""

#: CUDA's own complex numbers as CuPy's: types, and functions on them.
_CUDA_COMPLEX = """
typedef complex<float> cuFloatComplex;
typedef complex<float> cuComplex;
typedef complex<double> cuDoubleComplex;
__device__ inline float cuCrealf(cuFloatComplex z) { return z.real(); }
__device__ inline float cuCimagf(cuFloatComplex z) { return z.imag(); }
__device__ inline double cuCreal(cuDoubleComplex z) { return z.real(); }
__device__ inline double cuCimag(cuDoubleComplex z) { return z.imag(); }
__device__ inline cuFloatComplex make_cuFloatComplex(float r, float i) { return cuFloatComplex(r, i); }
__device__ inline cuFloatComplex make_cuComplex(float r, float i) { return cuFloatComplex(r, i); }
__device__ inline cuDoubleComplex make_cuDoubleComplex(double r, double i) { return cuDoubleComplex(r, i); }
__device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return cuDoubleComplex(z); }
__device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return cuFloatComplex(z); }
__device__ inline cuFloatComplex cuConjf(cuFloatComplex z) { return conj(z); }
__device__ inline cuDoubleComplex cuConj(cuDoubleComplex z) { return conj(z); }
__device__ inline cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return a + b; }
__device__ inline cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) { return a + b; }
__device__ inline cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return a - b; }
__device__ inline cuDoubleComplex cuCsub(cuDoubleComplex a, cuDoubleComplex b) { return a - b; }
__device__ inline cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) { return a * b; }
__device__ inline cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) { return a * b; }
__device__ inline cuFloatComplex cuCdivf(cuFloatComplex a, cuFloatComplex b) { return a / b; }
__device__ inline cuDoubleComplex cuCdiv(cuDoubleComplex a, cuDoubleComplex b) { return a / b; }
__device__ inline float cuCabsf(cuFloatComplex z) { return abs(z); }
__device__ inline double cuCabs(cuDoubleComplex z) { return abs(z); }
__device__ inline cuFloatComplex cuCfmaf(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c) { return a * b + c; }
__device__ inline cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) { return a * b + c; }
"""


@functools.cache
def _include_options() -> tuple[str, ...]:
    """Where NVIDIA's wheels keep headers."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    folders = [folder for root in roots for folder in Path(root).glob("*/include")]
    return tuple(f"--include-path={folder}" for folder in sorted(folders))


def _translated(code: str, cuda_complex: bool = False) -> str:
    """The source with CuPy's headers written out, and where it is asked for CUDA's header of complex numbers too."""
    if cuda_complex:
        for line in ("#include <cuComplex.h>", '#include "cuComplex.h"'):
            both = "#include <cupy/complex.cuh>\n" + _CUDA_COMPLEX
            code = code.replace(line, both, 1).replace(line, "")
    for name in ("cupy/complex.cuh", "cuComplex_bridge.h"):
        for line in (f"#include <{name}>", f'#include "{name}"'):
            code = code.replace(line, _COMPLEX, 1).replace(line, "")
    return code


def _check(what: str, backend: str, **unsupported: Any) -> None:
    if backend not in ("nvrtc", "auto"):
        raise NotImplementedError(f"[{what}] backend={backend!r} is not supported; NVRTC compiles here")
    for name, given in unsupported.items():
        if given:
            raise NotImplementedError(f"[{what}] {name}= is not supported; leave it out")


class RawModule:
    """A module of CUDA C++ (`code`), or a file of source or device code (`path`).

    Args:
        code: the source.
        path: a file with source (`.cu`) or device code (`.cubin`, `.fatbin`).
        options: options for the compiler.
        name_expressions: names such as `sum<float>` that `get_function` and `get_global` will be asked for; templates
            are instantiated for them.
        enable_cooperative_groups: all blocks of a launch run at once, so that they may wait for one another.

    Raises:
        NotImplementedError: for `jitify`, other backends, and where the device is a CPU.
        RuntimeError: if the source does not compile, with the compiler's log and the lines around the first error.
    """

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Any = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if name_expressions and path is not None:
            raise TypeError("name_expressions= needs code=: a file's names are what they are")
        _check("RawModule", backend, jitify=jitify)
        self.enable_cooperative_groups = enable_cooperative_groups
        self.code = code
        self.file_path = path
        self.options = tuple(options)
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.name_expressions = tuple(name_expressions or ())
        self._lowered: dict[str, str] = {}
        self._module: _core.NativeModule | None = None

    def _native(self, name: str = "RawModule") -> _core.NativeModule:
        if self._module is None:
            binary, code = False, b""
            if self.file_path is not None:
                with open(self.file_path, "rb") as file:
                    code = file.read()
                binary = not self.file_path.endswith((".cu", ".cuh", ".cpp"))
            else:
                code = (self.code or "").encode()
            if not binary:
                code = _translated(code.decode(), self.translate_cucomplex).encode()
            options = [*self.options, *_include_options()]
            if self.name_expressions and _core.get_device() != "cpu":
                code, binary = self._named(code.decode(), name, options), True
            self._module = _core.NativeModule(code, binary, name, options)
        return self._module

    def _named(self, code: str, name: str, options: list[str], target: str | None = None) -> bytes:
        """Device code, with the names asked for noted as the linker knows them."""
        from cuprous import _nvrtc
        from cuprous.cuda import Device

        if target is None:
            own = int(Device().compute_capability)
            # A GPU newer than the compiler runs code for the newest of its family that the compiler knows.
            target = f"sm_{max(a for a in _nvrtc.architectures() if a <= own and a // 10 == own // 10)}"
        compiled = _nvrtc.compile_source(code, name, target, options, self.name_expressions)
        self._lowered = compiled.names
        return compiled.code

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now instead of at the first use; what the compiler says goes to `log_stream` if it is given."""
        if log_stream is not None and self.code is not None:
            log_stream.write(self._log())
        self._native()

    def _log(self) -> str:
        """What the compiler says of the source."""
        from cuprous import _nvrtc
        from cuprous.cuda import Device, is_available

        own = int(Device().compute_capability) if is_available() else 90
        code = _translated(self.code or "", self.translate_cucomplex)
        return _nvrtc.compile_source(
            code, "RawModule", f"compute_{own}", [*self.options, *_include_options()], self.name_expressions
        ).log

    def get_function(self, name: str) -> RawKernel:
        """A kernel of the module."""
        kernel = RawKernel.__new__(RawKernel)
        kernel._set(self, name)
        return kernel

    def get_global(self, name: str) -> Any:
        """Where a variable of the module is: `.ptr`, and `.size` in bytes."""
        module = self._native()
        address, size = module.variable(self._lowered.get(name, name))
        return Variable(address, size)


class Variable:
    """A variable of a module."""

    def __init__(self, ptr: int, size: int) -> None:
        self.ptr = ptr
        self.size = size

    def __int__(self) -> int:
        return self.ptr


class RawKernel:
    """A kernel of CUDA C++: `RawKernel(code, name)((blocks,), (threads,), (x, y, np.float32(2)))`.

    Args:
        code: the source; it declares the kernel `extern "C" __global__`.
        name: its name.
        options: options for the compiler.
        enable_cooperative_groups: all blocks of a launch run at once, so that they may wait for one another.

    Raises:
        NotImplementedError: for other backends and `jitify`, and where the device is a CPU.
        RuntimeError: if the source does not compile.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        module = RawModule(
            code, options=options, backend=backend, translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups, jitify=jitify,
        )  # fmt: skip
        self._set(module, name)

    def _set(self, module: RawModule, name: str) -> None:
        self._module = module
        self.name = name
        self.code = module.code
        self.options = module.options
        self.file_path = module.file_path
        self.enable_cooperative_groups = module.enable_cooperative_groups
        self._kernel: _core.NativeKernel | None = None
        #: Accepted: a launch asks for as much as it was given.
        self.max_dynamic_shared_size_bytes = 48 << 10
        #: Accepted: the driver divides memory between cache and blocks.
        self.preferred_shared_memory_carveout = -1

    @property
    def kernel(self) -> _core.NativeKernel:
        """The compiled kernel."""
        if self._kernel is None:
            module = self._module._native(self.name)
            self._kernel = module.kernel(self._module._lowered.get(self.name, self.name))
        return self._kernel

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now instead of at the first launch; what the compiler says goes to `log_stream` if it is given."""
        self._module.compile(log_stream)
        self.kernel  # noqa: B018

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches it, in order with all other work.

        Args:
            grid: blocks, up to three numbers.
            block: threads of a block, up to three numbers.
            args: arrays, and numbers as what they are in C: an int is a `long long`, a float a `double`, a number of
                NumPy's what it says.
            shared_mem: bytes of dynamic shared memory.
            stream: accepted; all work runs in order on one stream.
        """
        self.kernel(grid, block, args, shared_mem, self.enable_cooperative_groups)

    @property
    def attributes(self) -> dict[str, int]:
        """What the driver says of it."""
        from cuprous.cuda import Device

        facts = self.kernel.facts()
        own = int(Device().compute_capability)
        return {
            "binary_version": own,
            "ptx_version": own,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes,
            "preferred_shared_memory_carveout": self.preferred_shared_memory_carveout,
            "max_threads_per_block": facts["max_threads"],
            "shared_size_bytes": facts["static_shared"],
            "const_size_bytes": facts["constant"],
            "local_size_bytes": facts["local"],
            "num_regs": facts["registers"],
        }

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block may have."""
        return self.attributes["max_threads_per_block"]

    @property
    def num_regs(self) -> int:
        """Registers of a thread."""
        return self.attributes["num_regs"]

    @property
    def shared_size_bytes(self) -> int:
        """Bytes of static shared memory."""
        return self.attributes["shared_size_bytes"]

    @property
    def local_size_bytes(self) -> int:
        """Bytes of a thread's own memory."""
        return self.attributes["local_size_bytes"]

    @property
    def const_size_bytes(self) -> int:
        """Bytes of constant memory."""
        return self.attributes["const_size_bytes"]


__all__ = ["RawKernel", "RawModule"]
