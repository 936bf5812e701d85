"""Axes of sparse matrices, and the dtypes of their indices, against SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from tests.support import outcome

theirs = pytest.importorskip("scipy.sparse")

VALUES = np.random.default_rng(29).integers(0, 3, (4, 5)).astype(float)
CLASSES = [f"{kind}_{of}" for kind in ("coo", "csr", "csc", "dia") for of in ("array", "matrix")]


def both(name: str, call: Callable[[Any, Any], Any]) -> None:
    """Compares the format and the elements of results, or the text of errors. SciPy writes into matrices in COO."""
    expected = outcome(lambda: call(theirs, getattr(theirs, name)(VALUES)))
    found = outcome(lambda: call(sparse, getattr(sparse, name)(cp.asarray(VALUES))))
    if isinstance(expected, Exception):
        assert (type(found), str(found)) == (type(expected), str(expected))
    else:
        assert (found.format, found.shape) == (expected.format, expected.shape)
        assert found.toarray().tolist() == expected.toarray().tolist()


@pytest.mark.parametrize("name", CLASSES)
def test_axes(name: str) -> None:
    orders: tuple[Any, ...] = (None, (0, 1), (1, 0), (-1, 0), (0, 0), (0, 2), (0,), (0, 1.5))
    for order in orders:
        for copy in (False, True):
            both(name, lambda module, a, order=order, copy=copy: module.permute_dims(a, order, copy))
    for axes in ((0, 1), (0, 0), (-1, 0), (0, 2), (-3, 1)):
        both(name, lambda module, a, axes=axes: module.swapaxes(a, *axes))
    a = getattr(sparse, name)(cp.asarray(VALUES))
    assert sparse.permute_dims(a, (0, 1)) is a and sparse.permute_dims(a, (0, 1), copy=True) is not a
    assert sparse.matrix_transpose(a).toarray().tolist() == VALUES.T.tolist()
    with pytest.raises(TypeError, match="expected a sparse object"):
        sparse.matrix_transpose(VALUES)


@pytest.mark.parametrize("name", CLASSES)
def test_index_arrays(name: str) -> None:
    for dtype in ("int8", "int32", "int64"):
        expected = theirs.safely_cast_index_arrays(getattr(theirs, name)(VALUES), np.dtype(dtype).type)
        found = sparse.safely_cast_index_arrays(getattr(sparse, name)(cp.asarray(VALUES)), dtype)
        pairs = [(found, expected)] if name.startswith("dia") else zip(found, expected, strict=True)
        for ours, other in pairs:
            assert (ours.dtype, ours.tolist()) == (other.dtype, other.tolist())


def test_index_arrays_that_do_not_fit() -> None:
    a = sparse.coo_array((cp.asarray([1.0]), (cp.asarray([0]), cp.asarray([200]))), shape=(1, 300))
    with pytest.raises(ValueError, match="coords values too large for dtype int8"):
        sparse.safely_cast_index_arrays(a, "int8")
    with pytest.raises(ValueError, match="indices values too large for a library"):
        sparse.safely_cast_index_arrays(a.tocsr(), "int8", "a library")


@pytest.mark.parametrize("arguments", [
    (), (np.array([1]),), ((np.array([1]), np.array([2], "int32")),), ((), 2**31), ((), 2**31 - 1),
    (np.array([1]), None, True), (np.array([2**40]), None, True), (np.zeros(0, int), None, True),
    (np.array([1.0]), None, True), (np.array([1], "uint32"),), (np.array([1], "uint32"), None, True),
    (np.array([1], "int16"), 5.0),
])  # fmt: skip
def test_dtypes_of_indices(arguments: tuple[Any, ...]) -> None:
    def moved(x: Any) -> Any:
        return tuple(map(moved, x)) if isinstance(x, tuple) else cp.asarray(x) if isinstance(x, np.ndarray) else x

    assert sparse.get_index_dtype(*map(moved, arguments)) is theirs.get_index_dtype(*arguments)
