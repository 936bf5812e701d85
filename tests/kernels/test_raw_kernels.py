"""Tests raw CUDA C++. GPUs run it; a CPU compiles it with NVRTC if `make test` requests that, and then rejects it."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import cuprous as cp
from cuprous.cuda import _headers, _nvcc, _nvrtc
from cuprous.cuda._headers import stand_in, with_headers_noted
from cuprous.cuda._raw_kernels import RawModule
from tests.support import assert_errors

ON_GPU = os.environ.get("CUPROUS_TEST_DEVICE", "cpu") != "cpu"
COMPILES = ON_GPU or bool(os.environ.get("CUPROUS_CHECK_CUDA"))


EMPTY = 'extern "C" __global__ void empty() {}'


@contextlib.contextmanager
def on_gpu() -> Iterator[None]:
    """Runs the block on a GPU; on a CPU, expects an error that says what runs there."""
    if ON_GPU:
        yield
    else:
        with pytest.raises(NotImplementedError, match=r"runs on a GPU only.*cuda\.jit"):
            yield


def test_raw_kernel() -> None:
    code = r"""
    extern "C" __global__ void my_add(const float* x, const float* y, float* z, float factor, long long n) {
        long long i = blockDim.x * (long long)blockIdx.x + threadIdx.x;
        if (i < n) z[i] = factor * (x[i] + y[i]);
    }"""
    kernel = cp.RawKernel(code, "my_add", options=("--std=c++14",))
    x = cp.arange(100, dtype=cp.float32)
    y = x * 2  # pending
    z = cp.zeros(100, cp.float32)
    with on_gpu():
        kernel((4,), (32,), (x, y, z, np.float32(0.5), 100))
        np.testing.assert_array_equal(z.get(), np.arange(100, dtype=np.float32) * 1.5)
        assert kernel.attributes["max_threads_per_block"] == 1024


def test_raw_module_with_variables_and_complex_numbers() -> None:
    module = cp.RawModule(
        code=r"""
    #include <cupy/complex.cuh>
    __device__ int counter = 7;
    extern "C" __global__ void twice(complex<float>* z, int n) {
        int i = threadIdx.x;
        if (i < n) z[i] = z[i] * complex<float>(0, 2) + complex<float>(counter);
    }
    extern "C" __global__ void nothing() {}
    """
    )
    z = cp.asarray(np.array([1 + 1j, 2], np.complex64))
    with on_gpu():
        module.get_function("twice")((1,), (2,), (z, np.int32(2)))
        module.get_function("nothing")((1,), (1,), ())
        np.testing.assert_array_equal(z.get(), np.array([5 + 2j, 7 + 4j], np.complex64))
        assert module.get_global("counter").size == 4


def test_cudas_complex_numbers() -> None:
    code = r"""
    #include <cuComplex.h>
    extern "C" __global__ void k(cuFloatComplex* z, cuDoubleComplex w) {
        z[0] = cuCmulf(z[0], make_cuFloatComplex(0, cuCabs(w)));
        z[1] = cuCaddf(cuConjf(z[1]), cuComplexDoubleToFloat(cuCdiv(w, make_cuDoubleComplex(2, 0))));
    }"""
    z = cp.asarray(np.array([1 + 1j, 2j], np.complex64))
    with on_gpu():
        cp.RawKernel(code, "k", translate_cucomplex=True)((1,), (1,), (z, np.complex128(3 + 4j)))
        np.testing.assert_array_equal(z.get(), np.array([-5 + 5j, 1.5], np.complex64))


@pytest.mark.skipif(not COMPILES, reason="nothing compiles CUDA C++ here")
def test_compiler_log() -> None:
    log = io.StringIO()
    with on_gpu():
        cp.RawModule(code="__global__ void k() { int unused; }").compile(log_stream=log)
    assert "unused" in log.getvalue()


def test_elementwise_kernel() -> None:
    squared = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")
    x = cp.arange(10, dtype=cp.float32).reshape(2, 5)
    with on_gpu():
        np.testing.assert_array_equal(squared(x, 5).get(), (x.get() - 5) ** 2)
    generic = cp.ElementwiseKernel("T x, raw T y, bool flip", "T z", "z = x + y[_ind.size() - i - 1] * flip", "reverse")
    y = cp.arange(5)
    with on_gpu():
        np.testing.assert_array_equal(generic(y[::1], y, True).get(), [4] * 5)
        np.testing.assert_array_equal(generic(cp.arange(10)[::2], y, False).get(), [0, 2, 4, 6, 8])
    assert_errors(
        (lambda: generic(y, y.astype(cp.float32), True), TypeError, "Type is mismatched"),
        (lambda: squared(x), TypeError, "Wrong number of arguments"),
        (lambda: cp.ElementwiseKernel("T x", "T y", "y = x", "1"), ValueError, "Invalid kernel name"),
        (lambda: squared(x, 5, cp.zeros(5, cp.float32)), ValueError, "Out shape is mismatched"),
        (lambda: squared(x, 5, block_size=0), ValueError, "block_size"),
    )
    assert "x - y" in squared.cached_code
    assert {types for _, types in generic.cached_codes} == {(("T", "int64"),)}
    scaled = cp.ElementwiseKernel("complex64 a, T b", "T c", "c = a.real() * b", "parts")
    with on_gpu():
        out = cp.zeros(2)
        scaled(cp.asarray(np.array([2 + 1j, 3], np.complex64)), cp.ones(2), out)
        np.testing.assert_array_equal(out.get(), [2, 3])


@pytest.mark.parametrize("name", ["norm", "max", "pow", "round", "main"])
def test_a_name_may_be_one_that_cuda_has_taken(name: str) -> None:
    x = cp.asarray([3.0, 4.0], dtype=cp.float32)
    with on_gpu():
        assert cp.ElementwiseKernel("T x", "T y", "y = x * x", name)(x).tolist() == [9, 16]
        assert float(cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", name)(x)) == 5


def test_raw_arrays_keep_their_axes() -> None:
    turned = cp.ElementwiseKernel(
        "raw T x", "T y", "int at[2] = {(int)(i % x.shape()[0]), (int)(i / x.shape()[0])}; y = x[at]", "turned"
    )
    x = cp.arange(6).reshape(2, 3)
    with on_gpu():
        np.testing.assert_array_equal(turned(x, size=6).get(), x.get().T.ravel())
        np.testing.assert_array_equal(turned(x.T, size=6).get(), x.get().ravel())


def test_arguments_of_elementwise_kernels() -> None:
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x", "copied")
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        kernel(cp.ones((2, 3)), cp.ones(3))
    with pytest.raises(NotImplementedError, match="bfloat16"):
        kernel(cp.ones(3, cp.bfloat16))
    with pytest.raises(TypeError, match="Ambiguous type of y"):
        cp.ElementwiseKernel("int32 x", "T y", "y = x", "copied")(cp.ones(3, cp.int32))
    summed = cp.ReductionKernel("int32 x", "T y", "x", "a + b", "y = a", "0", "summed")
    assert_errors(
        (lambda: summed(cp.ones(3, cp.int32)), TypeError, "Ambiguous type of y"),
        (lambda: kernel(cp.ones(3), block_size=0), ValueError, "block_size"),
        (lambda: summed(cp.ones((3, 3), cp.int32), axis=(0, 0)), ValueError, "duplicate"),
        (lambda: summed(cp.ones(3, cp.int32), axis=1), np.exceptions.AxisError, ""),
    )


def test_reduction_kernel() -> None:
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    x = cp.arange(10, dtype=cp.float32).reshape(2, 5)
    with on_gpu():
        np.testing.assert_allclose(norm(x, axis=1).get(), np.linalg.norm(x.get(), axis=1), rtol=1e-6)
        np.testing.assert_allclose(norm(x).get(), np.linalg.norm(x.get()), rtol=1e-6)
        assert norm(x, axis=0, keepdims=True).shape == (1, 5)
    assert "x * x" in norm.cached_code
    with pytest.raises(ValueError, match="Invalid kernel name"):
        cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "1")
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    with on_gpu():
        assert int(largest(cp.arange(-1000, -1))) == -2


@pytest.mark.skipif(not COMPILES, reason="nothing compiles CUDA C++ here")
def test_errors_of_the_compiler_show_the_line() -> None:
    kernel = cp.RawKernel('extern "C" __global__ void broken(int* x) {\n    x[0] = missing;\n}\n', "broken")
    with pytest.raises(RuntimeError, match="missing") as caught:
        kernel((1,), (1,), (cp.zeros(1, cp.int32),))
    assert "x[0] = missing;" in str(caught.value)


def test_arguments_of_modules() -> None:
    assert_errors(
        (lambda: cp.RawModule(), TypeError, "Exactly one"),
        (lambda: cp.RawKernel("", "k", backend="clang"), ValueError, "backend='clang'"),
        (lambda: cp.RawModule(code="", backend="nvcc", name_expressions=["f<int>"]), ValueError, "nvrtc"),
        (lambda: cp.RawModule(path="no_such_file.cubin").compile(), FileNotFoundError, "CUDA_ERROR_FILE_NOT_FOUND"),
    )
    with pytest.warns(DeprecationWarning, match="Avoid passing jitify=False"):
        cp.RawKernel("", "k", jitify=False)
    with pytest.warns(DeprecationWarning, match="jitify=True is deprecated"):
        cp.RawModule(code="", jitify=True)
    with pytest.raises(ValueError, match="jitify"):
        cp.RawModule(code="", jitify=True, backend="nvcc")


def test_kernels_are_pickled() -> None:
    module = cp.RawModule(code=EMPTY, options=("-DX=1",), enable_cooperative_groups=True)
    again = pickle.loads(pickle.dumps(module))
    assert (again.code, again.options, again.enable_cooperative_groups) == (module.code, module.options, True)
    kernel = cp.RawKernel(EMPTY, "empty", ("-DX=1",))
    with on_gpu():
        kernel((1,), (1,), ())
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.name, again.code) == ("empty", EMPTY)
    with on_gpu():
        again((1,), (1,), ())


def test_changed_headers_are_seen(tmp_path: Path) -> None:
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    (tmp_path / "inner.h").write_text("#define NUMBER 1\n")
    source, options = '#include <outer.h>\n#include "absent.h"\n', (f"-I{tmp_path}", "-DX")
    first = with_headers_noted(source, options)
    assert first.startswith(source)
    assert with_headers_noted(source, ("-I", str(tmp_path))) == first
    (tmp_path / "inner.h").write_text("#define NUMBER 2\n")
    assert with_headers_noted(source, (f"--include-path={tmp_path}",)) != first
    assert with_headers_noted(source, ("-DX",)) == source


@pytest.mark.nvrtc
def test_standard_headers_are_those_of_cccl(tmp_path: Path) -> None:
    std = tmp_path / "cuda" / "std"
    std.mkdir(parents=True)
    for name in ("type_traits", "cstdint"):
        (std / name).write_text(
            "namespace cuda { namespace std { template <class T> struct plain { typedef T type; }; } }"
        )
    with mock.patch.object(_headers, "_folders", lambda: (tmp_path,)):
        assert "<cuda/std/cstdint>" in stand_in("stdint.h")[0]
        assert stand_in("stdio.h") == ("", True) and stand_in("mine.h") == ("", False)
        code = "#include <type_traits>\n#include <mine.h>\n"
        code += "template <class T> __global__ void k(typename std::plain<T>::type* x) {}"
        with pytest.warns(DeprecationWarning):
            module = cp.RawModule(code=code, jitify=True, name_expressions=["k<int>"])
            plain = cp.RawModule(code=code, jitify=False, name_expressions=["k<int>"])
        options = [f"--include-path={tmp_path}"]
        with pytest.warns(UserWarning, match=r"mine\.h was not found"):
            made = module._by_nvrtc(code, "k", options, "compute_90")
        assert made.names["k<int>"] in made.code.decode(errors="replace")
        with pytest.raises(RuntimeError, match="cannot open source file"):
            plain._by_nvrtc(code, "k", options, "compute_90")


#: Uses of the C library's headers in kernels.
OF_THE_HOST = r"""
extern "C" __global__ void k(float* x, uint8_t* bytes) {
    static_assert(sizeof(int64_t) == 8 && INT64_MIN < 0 && UINT64_MAX > 0 && INT_MIN < 0 && LLONG_MAX > 0, "");
    static_assert(UINT32_MAX == UINT_MAX && sizeof(uintptr_t) == sizeof(void*) && CHAR_BIT == 8, "");
    x[0] = std::sqrt(x[1]) + std::abs(-3) + std::pow(2.0f, x[1]) + std::isnan(x[1]) + std::floor(2.5) + M_PI;
    x[1] = FLT_MAX * INFINITY + NAN + HUGE_VAL + FLT_EPSILON + DBL_TRUE_MIN;
    std::uint64_t number = UINT8_MAX;
    std::size_t count = SIZE_MAX;
    bytes[0] = number + count;
    assert(x[0] != 0);
    printf("%d", INT_MAX);
    memcpy(x, bytes, 4);
    std::memset(bytes, 0, 3);
    x[2] = clock();
}"""


@pytest.mark.nvrtc
def test_c_headers_need_no_host_compiler() -> None:
    names = sorted(path.name for path in _headers.OURS.iterdir() if path.is_file())
    assert {"stdint.h", "cstdint", "math.h", "cmath", "stdio.h", "cassert"} <= set(names)
    twice = "".join(f'#include <{name}>\n#include "{name}"\n' for name in names)
    made = _nvrtc.compile_source(twice + OF_THE_HOST, "k", "compute_90", _headers.include_options())
    assert made.code
    assert "warning" not in made.log


@pytest.mark.nvrtc
def test_names_of_templates_are_kept() -> None:
    module = cp.RawModule(code="template <class T> __global__ void k(T* x) {}", name_expressions=["k<float>"])
    made = module._compiled(module.code, "k", [], "compute_90")
    with mock.patch.object(RawModule, "_by_nvrtc", side_effect=AssertionError):
        assert module._compiled(module.code, "k", [], "compute_90") == made
    assert made.names["k<float>"] in made.code.decode(errors="replace")


def test_nvcc_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUPROUS_NVIDIA_ROOTS", str(tmp_path))
    program = tmp_path / "bin" / "nvcc"
    program.parent.mkdir()
    if not os.path.exists("/usr/local/cuda/bin/nvcc"):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(RuntimeError, match="pip install"):
            _nvcc.find_nvcc()
    # As nvcc does: a warning, then the code at the requested path.
    program.write_text(
        "#!/bin/sh\n"
        'for f; do case $f in *broken.cu) echo "$f(2): error: no"; exit 2;; esac; done\n'
        'echo "warning #177" >&2\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && printf %s "$0" >"$2"; shift; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert _nvcc.find_nvcc() == [str(program)]
    monkeypatch.setenv("NVCC", f"{program} --threads 2")
    assert _nvcc.find_nvcc() == [str(program), "--threads", "2"]
    source = f"// {tmp_path}\nbroken"
    for options in ((), ("-dc",)):
        made = _nvcc.compile_source(source, "k", "sm_90", options)
        assert made.code == str(program).encode() and made.log == "warning #177"
    with pytest.raises(RuntimeError, match=r"nvcc refuses the source[\s\S]*>    2 \| broken"):
        _nvcc.compile_source(f"{source}\n", "broken", "sm_90")


@pytest.mark.skipif(not ON_GPU, reason="kernels launch kernels on GPUs")
def test_kernels_launch_kernels() -> None:
    try:
        _nvcc.device_runtime()
    except RuntimeError as error:
        pytest.skip(str(error))
    code = r"""
    extern "C" __global__ void inner(float* x) { x[threadIdx.x] = 1; }
    extern "C" __global__ void outer(float* x) { inner<<<1, 16>>>(x + 16 * threadIdx.x); }"""
    x = cp.zeros(64, cp.float32)
    cp.RawKernel(code, "outer", ("-dc",))((1,), (4,), (x,))
    assert float(x.sum()) == 64


def test_memory_by_its_address() -> None:
    memory = cp.cuda.alloc(80)
    memory.copy_from(np.arange(10.0), 80)
    rows = cp.ndarray((2, 5), cp.float64, memory)
    np.testing.assert_array_equal(rows.get(), np.arange(10.0).reshape(2, 5))
    np.testing.assert_array_equal(cp.ndarray((5, 2), "f8", memory, order="F").get(), rows.get().T)
    np.testing.assert_array_equal(cp.ndarray(4, "f8", memory + 16, strides=(16,)).get(), [2, 4, 6, 8])
    other = cp.cuda.memory.alloc(80)
    other.copy_from(rows.data, 80)
    other.memset(0, 40)
    back = np.ones(10)
    other.copy_to_host(back.ctypes.data, 80)
    np.testing.assert_array_equal(back, [0, 0, 0, 0, 0, 5, 6, 7, 8, 9])
    with pytest.raises(ValueError, match="8 bytes at the host"):
        other.copy_from(np.zeros(1), 16)
    with pytest.raises(NotImplementedError, match="strides"):
        cp.ndarray(4, "f8", strides=(16,))
