"""Tests zero-copy exchange with JAX; tests/gpu/test_interop.py does the same on a GPU."""

from __future__ import annotations

import pytest

import cuprous as cp
from tests.conftest import DEVICE

jax = pytest.importorskip("jax", reason="jax is not installed (requirements-clients.txt)")
pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="memory of the host")


def test_to_jax_and_back() -> None:
    a = cp.arange(6, dtype="float32").reshape(2, 3)
    shared = jax.dlpack.from_dlpack(a)
    assert shared.unsafe_buffer_pointer() == a.data.ptr
    assert shared.tolist() == a.tolist()
    there = jax.numpy.arange(4.0) + 1
    here = cp.from_dlpack(there)
    assert here.data.ptr == there.unsafe_buffer_pointer()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int32", "bool", "complex64"])
def test_dtypes(dtype: str) -> None:
    back = cp.from_dlpack(jax.numpy.ones((2, 3), dtype))
    assert back.dtype_name == dtype
    assert jax.dlpack.from_dlpack(back.copy()).dtype == jax.numpy.dtype(dtype)
