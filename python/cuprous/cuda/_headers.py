"""Headers for CUDA C++: CuPy's, those of NVIDIA's wheels, and replacements for the host's."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from cuprous.cuda._nvrtc import toolkits, wheel_roots

#: The part of CuPy's complex header that kernels use. It must be valid on a single line. Division is Smith's, with the
#: same rounding as that of arrays.
COMPLEX = """
template <class T> struct alignas(2 * sizeof(T)) complex {
    T re, im;
    static __device__ float rounded(float a, float b) { return __fmul_rn(a, b); }
    static __device__ double rounded(double a, double b) { return __dmul_rn(a, b); }
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
    __device__ complex& operator/=(complex o) {
        T x = o.re < 0 ? -o.re : o.re, y = o.im < 0 ? -o.im : o.im;
        if (x >= y) {
            if (x == 0 && y == 0) return *this = complex(re / x, im / x);
            T q = o.im / o.re, n = 1 / (o.re + rounded(o.im, q));
            return *this = complex((re + rounded(im, q)) * n, (im - rounded(re, q)) * n);
        }
        T q = o.re / o.im, n = 1 / (o.im + rounded(o.re, q));
        return *this = complex((rounded(re, q) + im) * n, (rounded(im, q) - re) * n);
    }
    friend __host__ __device__ complex operator+(complex a, complex b) { return a += b; }
    friend __host__ __device__ complex operator-(complex a, complex b) { return a -= b; }
    friend __host__ __device__ complex operator*(complex a, complex b) { return a *= b; }
    friend __device__ complex operator/(complex a, complex b) { return a /= b; }
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

#: CUDA's own complex types and functions, defined by CuPy's.
CUDA_COMPLEX = """
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


#: Headers of ours: the C library's, as far as kernels use them, and CCCL's that NVRTC refuses.
OURS = Path(__file__).parent / "_include"


@functools.cache
def _folders() -> tuple[Path, ...]:
    """Where NVIDIA's wheels keep headers, and for those that no wheel has a toolkit; CCCL's (`<cub/…>`, `<thrust/…>`,
    `<cuda/std/…>`) lie in a folder of their own.
    """
    wheels = [folder for root in wheel_roots() for folder in sorted(root.glob("*/include"))]
    found = [one for folder in wheels for one in (folder, folder / "cccl") if one.is_dir()]
    others = [one for home in toolkits() for one in (home / "include", home / "include" / "cccl")]
    for header in ("cuda_fp16.h", "crt/host_defines.h", "cuda/std/version"):
        if not any((folder / header).is_file() for folder in found):
            found += [folder for folder in others if (folder / header).is_file()][:1]
    return tuple(found)


def include_options() -> tuple[str, ...]:
    """Returns the include options for these directories, preceded by those for the replacement headers."""
    return tuple(f"--include-path={folder}" for folder in (OURS, *_folders()))


def translated(code: str, cuda_complex: bool = False) -> str:
    """Returns the source with CuPy's headers inlined, and CUDA's complex header too if `cuda_complex`."""
    if cuda_complex:
        for line in ("#include <cuComplex.h>", '#include "cuComplex.h"'):
            both = "#include <cupy/complex.cuh>\n" + CUDA_COMPLEX
            code = code.replace(line, both, 1).replace(line, "")
    for name in ("cupy/complex.cuh", "cuComplex_bridge.h"):
        for line in (f"#include <{name}>", f'#include "{name}"'):
            code = code.replace(line, COMPLEX, 1).replace(line, "")
    return code


_INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]')


def named_folders(options: Sequence[str]) -> list[Path]:
    """Returns the directories of the include options: `-I…` and `--include-path=…`, as one argument or two."""
    found = []
    words = iter(options)
    for word in words:
        for start in ("--include-path", "-include-path", "-I"):
            if word.startswith(start):
                rest = word[len(start) :].lstrip("=")
                found.append(Path(rest or next(words, ".")))
                break
    return found


def with_headers_noted(code: str, options: Sequence[str]) -> str:
    """The source, with a comment that changes when a header in one of the user's folders does: compiled code is kept by
    its source and options.
    """
    folders = named_folders(options)
    if not folders:
        return code
    seen: dict[Path, bytes] = {}

    def look(text: str, near: list[Path]) -> None:
        for name in _INCLUDE.findall(text):
            for folder in (*near, *folders):
                path = folder / name
                if path in seen or not path.is_file():
                    continue
                seen[path] = path.read_bytes()
                look(seen[path].decode(errors="replace"), [path.parent])
                break

    look(code, [])
    if not seen:
        return code
    import hashlib  # loads OpenSSL

    noted = hashlib.sha256(b"".join(str(p).encode() + b"\0" + data for p, data in seen.items()))
    return f"{code}\n// headers {noted.hexdigest()}\n"


def has_standard() -> bool:
    """Returns true if the device headers of the standard library, `<cuda/std/…>`, are installed."""
    return any((folder / "cuda" / "std").is_dir() for folder in _folders())


#: C headers whose contents are available in kernels without them.
_HOSTS_ONLY = frozenset(("assert", "float", "limits", "math", "stdio", "stdlib", "string", "time"))


def stand_in(name: str) -> tuple[str, bool]:
    """Returns the replacement for a header that NVRTC did not find, and true if it suffices: `cuda::std` as `std` for
    the standard library's, nothing for others.
    """
    plain = name.removesuffix(".h")
    for candidate in (plain, f"c{plain}"):
        if any((folder / "cuda" / "std" / candidate).is_file() for folder in _folders()):
            return f"#include <cuda/std/{candidate}>\nnamespace std {{ using namespace cuda::std; }}\n", True
    return "", plain in _HOSTS_ONLY or plain.removeprefix("c") in _HOSTS_ONLY
