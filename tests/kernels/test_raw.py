"""CUDA C++ as it is. On a CPU it is compiled by NVRTC where `make test` asks for that, then refused; GPUs run it."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

import numpy as np
import pytest

import cuprous as cp

ON_GPU = os.environ.get("CUPROUS_TEST_DEVICE", "cpu") != "cpu"
COMPILES = ON_GPU or bool(os.environ.get("CUPROUS_CHECK_CUDA"))


@contextlib.contextmanager
def on_gpu() -> Iterator[None]:
    """What is inside runs on a GPU; a CPU refuses it and says what runs there."""
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
def test_log_of_the_compiler() -> None:
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
    with pytest.raises(TypeError, match="Type is mismatched"):
        generic(y, y.astype(cp.float32), True)
    with pytest.raises(TypeError, match="Wrong number of arguments"):
        squared(x)
    with pytest.raises(ValueError, match="Invalid kernel name"):
        cp.ElementwiseKernel("T x", "T y", "y = x", "1")
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        squared(x, 5, cp.zeros(5, cp.float32))
    with pytest.raises(ValueError, match="block_size"):
        squared(x, 5, block_size=0)
    assert "x - y" in squared.cached_code
    assert {types for _, types in generic.cached_codes} == {(("T", "int64"),)}
    halves = cp.ElementwiseKernel("complex64 a, T b", "T c", "c = a.real() * b", "parts")
    with on_gpu():
        out = cp.zeros(2)
        halves(cp.asarray(np.array([2 + 1j, 3], np.complex64)), cp.ones(2), out)
        np.testing.assert_array_equal(out.get(), [2, 3])


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
    with pytest.raises(TypeError, match="Ambiguous type of y"):
        summed(cp.ones(3, cp.int32))
    with pytest.raises(ValueError, match="block_size"):
        kernel(cp.ones(3), block_size=0)
    with pytest.raises(ValueError, match="duplicate"):
        summed(cp.ones((3, 3), cp.int32), axis=(0, 0))
    with pytest.raises(np.exceptions.AxisError):
        summed(cp.ones(3, cp.int32), axis=1)


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


def test_what_is_not_supported_is_refused() -> None:
    for arguments in ({"jitify": True}, {"backend": "nvcc"}):
        with pytest.raises(NotImplementedError, match=next(iter(arguments))):
            cp.RawKernel("", "k", **arguments)
    with pytest.raises(TypeError, match="Exactly one"):
        cp.RawModule()
