"""Zero copies both ways with the GPU libraries that are installed here."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import cuprous as cp


def need(name: str) -> Any:
    """A module, or a skip where it is missing or fails at import."""
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
    """Work that PyTorch has queued is waited for on the device."""
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


def test_numba_kernels_take_arrays() -> None:
    np.row_stack = getattr(np, "row_stack", np.vstack)  # some Numba releases ask for it, new NumPys lack it
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


def test_jax_by_dlpack() -> None:
    jax = need("jax")
    if jax.default_backend() not in ("gpu", "cuda"):
        pytest.skip("this JAX sees no GPU")
    j = jax.dlpack.from_dlpack(cp.arange(5, dtype=cp.float32) + 1)
    assert float(j.sum()) == 15
    assert float(cp.from_dlpack(j * 2).sum()) == 30


def test_a_cpu_array_is_refused_where_a_gpu_array_is_meant(torch: Any) -> None:
    a = cp._core.to_device(cp.arange(3), "cpu")
    with pytest.raises((AttributeError, TypeError, BufferError, RuntimeError)):
        _ = a.__cuda_array_interface__


def test_the_context_is_the_primary_one(torch: Any) -> None:
    """Both libraries use one context, so that a pointer of one is valid in the other."""
    a = cp.ones(4)
    t = torch.ones(4, device="cuda")
    assert float((cp.from_dlpack(t) + a).sum()) == 8
