"""Tests zero-copy exchange in both directions with the installed GPU libraries."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import cuprous as cp


def need(name: str) -> Any:
    """Returns a module, or skips if it is missing or its import fails."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        pytest.skip(f"{name}: {error!r:.100}")


@pytest.fixture
def torch() -> Any:
    module = need("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return module


def test_to_torch_and_back(torch: Any) -> None:
    a = cp.arange(12.0).reshape(3, 4)
    t = torch.from_dlpack(a)
    assert t.data_ptr() == a.address()
    t += 1
    torch.cuda.synchronize()
    assert float(a.sum()) == 78
    a *= 2
    cp._core.synchronize()
    assert float(t.sum()) == 156
    b = cp.from_dlpack(t)
    assert b.address() == a.address()


def test_from_torch_without_a_wait_in_between(torch: Any) -> None:
    """The device waits for work that PyTorch has queued."""
    for _ in range(5):
        t = torch.ones(1 << 24, device="cuda")
        for _ in range(20):
            t = t * 1.01
        a = cp.from_dlpack(t)
        assert float(a[-1]) == pytest.approx(1.01**20, rel=1e-4)


def test_to_torch_without_a_wait_in_between(torch: Any) -> None:
    for n in range(5):
        a = cp.full(1 << 24, float(n))
        for _ in range(20):
            a = a + 1
        assert float(torch.from_dlpack(a)[-1]) == n + 20


def test_torch_views_and_strides(torch: Any) -> None:
    t = torch.arange(24, device="cuda").reshape(4, 6)
    a = cp.from_dlpack(t.T[1::2])
    assert a.shape == (3, 4)
    np.testing.assert_array_equal(cp.asnumpy(a), t.T[1::2].cpu().numpy())
    a += 100
    cp._core.synchronize()
    assert int(t[0, 1]) == 101


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "uint8", "bool", "complex64", "bfloat16"])
def test_dtypes_through_torch(torch: Any, dtype: str) -> None:
    t = torch.ones(5, device="cuda").to(getattr(torch, dtype))
    a = cp.from_dlpack(t)
    assert a.dtype_name == dtype
    assert torch.from_dlpack(a).dtype == t.dtype


def test_from_torch_on_another_stream(torch: Any) -> None:
    """The device waits for work on PyTorch's current stream, whichever it is."""
    with torch.cuda.stream(torch.cuda.Stream()):
        t = torch.ones(1 << 24, device="cuda")
        for _ in range(20):
            t = t * 1.01
        a = cp.from_dlpack(t)
        assert float(a[-1]) == pytest.approx(1.01**20, rel=1e-4)


def test_torch_to_the_other_device(torch: Any) -> None:
    t = torch.arange(4.0, device="cuda")
    host = cp.from_dlpack(t, device="cpu")
    assert host.device == "cpu"
    np.testing.assert_array_equal(host.get(), np.arange(4.0))
    with pytest.raises(BufferError, match="copy"):
        cp.from_dlpack(t, device="cpu", copy=False)
    up = cp.from_dlpack(torch.arange(4.0), device="cuda")
    assert up.device_name.startswith("cuda")
    assert float(up.sum()) == 6
    own = cp.from_dlpack(t, copy=True)
    own += 1
    cp._core.synchronize()
    assert float(t.sum()) == 6


def test_torch_by_the_array_interface(torch: Any) -> None:
    a = cp.arange(6.0)
    t = torch.as_tensor(a, device="cuda")
    assert t.data_ptr() == a.address()
    assert cp.asarray(t).address() == a.address()


def test_tensors_with_gradients_are_refused(torch: Any) -> None:
    with pytest.raises((BufferError, RuntimeError)):
        cp.from_dlpack(torch.ones(3, device="cuda", requires_grad=True))


def test_numpy_by_dlpack_is_a_copy() -> None:
    a = cp.arange(6.0).reshape(2, 3)
    host = np.from_dlpack(a.T, device="cpu")
    np.testing.assert_array_equal(host, np.arange(6.0).reshape(2, 3).T)
    with pytest.raises((BufferError, ValueError)):
        np.from_dlpack(a, device="cpu", copy=False)


def test_memory_outlives_its_maker(torch: Any) -> None:
    t = torch.from_dlpack(cp.arange(1000.0) * 2)
    kept = [cp.ones(1000) * n for n in range(20)]
    cp._core.synchronize()
    assert float(t.sum()) == 999_000
    a = cp.from_dlpack(torch.arange(1000.0, device="cuda") * 2)
    others = [torch.ones(1000, device="cuda") * n for n in range(20)]
    assert float(a.sum()) == 999_000
    assert len(kept) == len(others)


def test_cupy_by_the_array_interface() -> None:
    cupy = need("cupy")
    c = cupy.arange(10, dtype=cupy.float32)
    a = cp.asarray(c)
    a += 5
    cp._core.synchronize()
    assert float(c.sum()) == 95
    back = cupy.asarray(a)
    assert back.data.ptr == a.address()
    interface = a.__cuda_array_interface__
    assert interface["version"] == 3
    assert interface["shape"] == (10,)
    assert interface["typestr"] == "<f4"


def test_cupy_by_dlpack() -> None:
    cupy = need("cupy")
    a = cp.arange(6.0).reshape(2, 3).T
    c = cupy.from_dlpack(a)
    c[0, 1] = 50
    cupy.cuda.runtime.deviceSynchronize()
    assert float(a[0, 1]) == 50


def test_from_cupy_by_dlpack() -> None:
    cupy = need("cupy")
    c = cupy.arange(24, dtype=cupy.float32).reshape(4, 6)
    a = cp.from_dlpack(c.T[1::2])
    assert a.shape == (3, 4)
    assert a.address() == c.data.ptr + 4
    a += 100
    cp._core.synchronize()
    assert float(c[0, 1]) == 101
    assert float(c[0, 0]) == 0


def test_from_cupy_on_another_stream() -> None:
    cupy = need("cupy")
    with cupy.cuda.Stream(non_blocking=True):
        c = cupy.ones(1 << 24, dtype=cupy.float32)
        for _ in range(20):
            c = c * cupy.float32(1.01)
        a = cp.from_dlpack(c)
        assert float(a[-1]) == pytest.approx(1.01**20, rel=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint32", "bool", "complex128"])
def test_dtypes_through_cupy(dtype: str) -> None:
    cupy = need("cupy")
    a = cp.from_dlpack(cupy.ones(5, dtype=dtype))
    assert a.dtype_name == dtype
    assert cupy.from_dlpack(a).dtype == np.dtype(dtype)
    assert cupy.asnumpy(cupy.asarray(a)).tolist() == np.ones(5, dtype).tolist()


def test_numba_kernels_take_arrays() -> None:
    cuda = need("numba.cuda")

    @cuda.jit  # type: ignore[untyped-decorator]
    def double(x: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    a = cp.arange(100.0)
    double[1, 128](cuda.as_cuda_array(a))
    cuda.synchronize()
    assert float(a.sum()) == 9900
    b = cp.asarray(cuda.to_device(np.arange(5.0)))
    assert float(b.sum()) == 10


@pytest.fixture
def jax() -> Any:
    module = need("jax")
    if module.default_backend() not in ("gpu", "cuda"):
        pytest.skip("this JAX sees no GPU")
    return module


def test_jax_by_dlpack(jax: Any) -> None:
    j = jax.dlpack.from_dlpack(cp.arange(5, dtype=cp.float32) + 1)
    assert float(j.sum()) == 15
    assert float(cp.from_dlpack(j * 2).sum()) == 30


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "uint8", "complex64"])
def test_dtypes_through_jax(jax: Any, dtype: str) -> None:
    a = cp.from_dlpack(jax.numpy.ones((2, 3), dtype))
    assert a.dtype_name == dtype
    assert a.shape == (2, 3)
    assert jax.dlpack.from_dlpack(a).dtype == jax.numpy.dtype(dtype)


def test_jax_without_a_wait_in_between(jax: Any) -> None:
    """JAX uses its own streams before and after."""
    j = jax.numpy.ones(1 << 24)
    for _ in range(20):
        j = j * 1.01
    a = cp.from_dlpack(j)
    assert float(a[-1]) == pytest.approx(1.01**20, rel=1e-4)
    b = cp.full(1 << 24, 3.0, dtype=cp.float32)
    for _ in range(20):
        b = b + 1
    assert float(jax.dlpack.from_dlpack(b)[-1]) == 23


def test_a_cpu_array_is_refused_where_a_gpu_array_is_meant(torch: Any) -> None:
    a = cp._core.to_device(cp.arange(3), "cpu")
    with pytest.raises((AttributeError, TypeError, BufferError, RuntimeError)):
        _ = a.__cuda_array_interface__


def test_the_context_is_the_primary_one(torch: Any) -> None:
    """Both libraries use one context, so that a pointer of one is valid in the other."""
    a = cp.ones(4)
    t = torch.ones(4, device="cuda")
    assert float((cp.from_dlpack(t) + a).sum()) == 8
