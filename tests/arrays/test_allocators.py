"""CuPy's allocators, page-locked memory and settings of errors."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous as cp
from cuprous import cupyx
from tests.support import assert_errors


def test_allocators_are_the_engines() -> None:
    before = cp.cuda.get_allocator()
    pool = cp.cuda.MemoryPool()
    try:
        cp.cuda.set_allocator(pool.malloc)
        assert cp.cuda.get_allocator() == pool.malloc
        used = pool.used_bytes()
        memory = cp.cuda.get_allocator()(1 << 20)
        memory.memset(7, 1 << 20)
        assert pool.used_bytes() >= used + (1 << 20)
        other = cp.cuda.MemoryPool()
        with cp.cuda.using_allocator(other.malloc):
            assert cp.cuda.get_allocator() == other.malloc
            assert_errors((lambda: cp.cuda.set_allocator(None), ValueError))
        assert cp.cuda.get_allocator() == pool.malloc
        cp.cuda.set_allocator(None)
    finally:
        cp.cuda.set_allocator(before)
    assert_errors(
        (lambda: cp.cuda.set_allocator(lambda size: None), NotImplementedError),
        (lambda: cp.cuda.MemoryPool(cp.cuda.malloc_managed), NotImplementedError),
        (lambda: cp.cuda.malloc_managed(8), NotImplementedError),
    )


def test_a_pool_of_pinned_memory_keeps_blocks() -> None:
    pool = cp.cuda.PinnedMemoryPool()
    block = pool.malloc(1000)
    address, size = block.ptr, block.size()
    assert size >= 1000 and pool.n_free_blocks() == 0
    shared: Any = block
    view = np.frombuffer(shared, "f4", 250)
    view[:] = 3
    del block, shared
    assert pool.n_free_blocks() == 0  # the view holds it
    del view
    assert pool.n_free_blocks() == 1
    again = pool.malloc(900)
    assert again.ptr == address and pool.n_free_blocks() == 0
    del again
    pool.free_all_blocks()
    assert pool.n_free_blocks() == 0
    assert_errors((lambda: cp.cuda.PinnedMemoryPool(lambda size: None), NotImplementedError))


def test_the_allocator_of_pinned_memory_can_be_replaced() -> None:
    sizes = []
    pool = cp.cuda.PinnedMemoryPool()

    def counting(size: int) -> cp.cuda.PinnedMemoryPointer:
        sizes.append(size)
        return pool.malloc(size)

    try:
        cp.cuda.set_pinned_memory_allocator(counting)
        a = cupyx.zeros_pinned((2, 3), "f4")
        assert sizes == [24] and a.base.ptr == a.ctypes.data
        cp.cuda.set_pinned_memory_allocator(None)
        assert cp.cuda.alloc_pinned_memory(24).size() == 24 and sizes == [24]
    finally:
        cp.cuda.set_pinned_memory_allocator(cp.get_default_pinned_memory_pool().malloc)
    np.testing.assert_array_equal(cp.asarray(a).get(), np.zeros((2, 3), "f4"))


def test_pinned_arrays_have_the_layout_of_numpys() -> None:
    for of in (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3), "f4")), np.ones((4, 3, 2), "c8").transpose(1, 0, 2)):
        for order in "CFAK":
            cases: list[dict[str, Any]] = [{}, {"dtype": "i2"}, {"shape": (5, 2)}, {"shape": 4}]
            for keywords in cases:
                got = cupyx.zeros_like_pinned(of, order=order, **keywords)
                want = np.zeros_like(of, **{"order": order, **keywords})
                assert (got.shape, got.dtype, got.strides) == (want.shape, want.dtype, want.strides)
                np.testing.assert_array_equal(got, want)
    assert cupyx.empty_like_pinned(cp.ones((2, 3))).shape == (2, 3)
    assert cupyx.empty_pinned(3, order="F").strides == (8,)
    assert_errors((lambda: cupyx.empty_like_pinned(np.ones(2), subok=True), TypeError))


def test_settings_of_errors() -> None:
    assert cupyx.geterr() == cupyx.seterr(linalg="raise")
    with cupyx.errstate(linalg="raise"):
        assert_errors((lambda: cp.linalg.inv(cp.zeros((2, 2))), np.linalg.LinAlgError))
    with cupyx.allow_synchronize(True):
        assert int(cp.ones(3).sum()) == 3
    assert_errors(
        (lambda: cupyx.seterr(linalg="ignore"), NotImplementedError),
        (lambda: cupyx.errstate(divide="raise").__enter__(), NotImplementedError),
        (lambda: cupyx.allow_synchronize(False).__enter__(), NotImplementedError),
    )
