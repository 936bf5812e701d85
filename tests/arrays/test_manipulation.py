"""Tests reshaping, joining, splitting, repeating and padding; views share memory, copies do not."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from tests.support import DTYPES, alike, assert_same, check, sample

CALLS: dict[str, Any] = {
    "reshape": lambda xp, x: xp.reshape(x, (4, -1)), "reshape F": lambda xp, x: xp.reshape(x, (4, 6), order="F"),
    "reshape bad": lambda xp, x: xp.reshape(x, (5, 5)), "ravel": lambda xp, x: xp.ravel(x),
    "ravel F": lambda xp, x: xp.ravel(x, "F"), "ravel A": lambda xp, x: xp.ravel(x, "A"),
    "flatten": lambda xp, x: x.flatten(), "flatten F": lambda xp, x: x.flatten("F"),
    "transpose": lambda xp, x: xp.transpose(x), "transpose axes": lambda xp, x: xp.transpose(x, (2, 0, 1)),
    "method transpose": lambda xp, x: x.transpose(1, 0, 2), "transpose bad": lambda xp, x: xp.transpose(x, (0, 0, 1)),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1), "moveaxis": lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    "moveaxis bad": lambda xp, x: xp.moveaxis(x, 0, 5), "rollaxis": lambda xp, x: xp.rollaxis(x, 2, 1),
    "rollaxis 0": lambda xp, x: xp.rollaxis(x, 0, 3), "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 2, 0)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x), "mT": lambda xp, x: x.mT, "T": lambda xp, x: x.T,
    "expand_dims": lambda xp, x: xp.expand_dims(x, (0, -1)), "expand_dims bad": lambda xp, x: xp.expand_dims(x, 9),
    "squeeze": lambda xp, x: xp.squeeze(x[:1, :, :1]), "squeeze axis": lambda xp, x: xp.squeeze(x[:1, :, :1], 0),
    "squeeze bad": lambda xp, x: xp.squeeze(x, 1), "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)),
    "broadcast_to bad": lambda xp, x: xp.broadcast_to(x, (7, 7)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1], x[..., :1])[1],
    "atleast": lambda xp, x: [xp.atleast_1d(x), xp.atleast_2d(x), xp.atleast_3d(x)], "flip": lambda xp, x: xp.flip(x),
    "flip axes": lambda xp, x: xp.flip(x, (0, 2)), "flipud": lambda xp, x: xp.flipud(x),
    "fliplr": lambda xp, x: xp.fliplr(x), "rot90": lambda xp, x: [xp.rot90(x, k, (0, 2)) for k in range(-1, 5)],
    "rot90 bad": lambda xp, x: xp.rot90(x, 1, (0, 0)), "roll": lambda xp, x: xp.roll(x, 3),
    "roll axis": lambda xp, x: xp.roll(x, -2, 1), "roll axes": lambda xp, x: xp.roll(x, (1, 2), (0, 1)),
    "roll both": lambda xp, x: xp.roll(x, 5, (0, 1)), "concatenate": lambda xp, x: xp.concatenate([x, x[:1]], 0),
    "concatenate none": lambda xp, x: xp.concatenate([x, x[:1]], None),
    "concatenate dtypes": lambda xp, x: xp.concatenate([x, x.astype("complex64")], -1),
    "concatenate bad": lambda xp, x: xp.concatenate([x, x[:, :1]], 0),
    "concatenate dtype": lambda xp, x: xp.concatenate([x, x], dtype="complex128"),
    "stack": lambda xp, x: [xp.stack([x, x], i) for i in range(-4, 4)], "stack bad": lambda xp, x: xp.stack([x, x[:1]]),
    "unstack": lambda xp, x: xp.unstack(x, axis=1), "vstack": lambda xp, x: xp.vstack([x, x]),
    "hstack": lambda xp, x: xp.hstack([x, x]), "dstack": lambda xp, x: xp.dstack([x[0], x[0]]),
    "column_stack": lambda xp, x: xp.column_stack([x[0], x[0, :, 0]]),
    "block": lambda xp, x: xp.block([[x[0], x[0]], [x[0], x[0] * 0]]), "split": lambda xp, x: xp.split(x, [1, 2], -1),
    "split n": lambda xp, x: xp.split(x, 2, 0), "split bad": lambda xp, x: xp.split(x, 5, 0),
    "array_split": lambda xp, x: xp.array_split(x, 3, 1), "vsplit": lambda xp, x: xp.vsplit(x, 1),
    "hsplit": lambda xp, x: xp.hsplit(x, 1), "dsplit": lambda xp, x: xp.dsplit(x, 1),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 3)), "tile more": lambda xp, x: xp.tile(x, (2, 1, 1, 2)),
    "tile n": lambda xp, x: xp.tile(x, 2), "repeat": lambda xp, x: xp.repeat(x, 2),
    "repeat axis": lambda xp, x: xp.repeat(x, 3, 1),
    "repeat counts": lambda xp, x: xp.repeat(x, list(range(x.shape[1])), 1),
    "repeat bad": lambda xp, x: xp.repeat(x, [1, 2, 3, 4, 5, 6, 7, 8, 9], 1),
    "append": lambda xp, x: xp.append(x, x[:1]), "append axis": lambda xp, x: xp.append(x, x[:1], 0),
    "delete": lambda xp, x: xp.delete(x, 1, 1), "delete many": lambda xp, x: xp.delete(x, [0, -1], 1),
    "delete slice": lambda xp, x: xp.delete(x, slice(None, None, 2)),
    "delete mask": lambda xp, x: xp.delete(x, [True, False, True, False], 1),
    "delete bad": lambda xp, x: xp.delete(x, [9], 1), "delete float": lambda xp, x: xp.delete(x, xp.asarray([1.0]), 1),
    "insert": lambda xp, x: xp.insert(x, 1, 9, 1), "insert many": lambda xp, x: xp.insert(x, [0, 2], 7, 1),
    "insert row": lambda xp, x: xp.insert(x, 1, x[:, 0], 1), "resize": lambda xp, x: xp.resize(x, (5, 7)),
    "shape": lambda xp, x: [list(xp.shape(x)), xp.ndim(x), xp.size(x), xp.size(x, 1)], "copy": lambda xp, x: xp.copy(x),
    "trim_zeros": lambda xp, x: xp.trim_zeros(x.ravel()),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    check(CALLS[name], sample("int32", (2, 4, 3)))


@pytest.mark.parametrize(
    "name", ["reshape", "flip", "concatenate", "tile", "repeat", "roll", "ravel F", "stack", "squeeze"]
)
def test_all_dtypes_and_empties(name: str) -> None:
    for dtype in DTYPES:
        check(CALLS[name], sample(dtype, (2, 4, 3)))
    check(CALLS[name], np.zeros((2, 0, 3)))


def test_small_shapes() -> None:
    for shape in [(), (1,), (3,)]:
        for name in ["ravel", "flatten", "T", "expand_dims", "atleast", "flip", "tile n", "repeat", "copy", "append"]:
            check(CALLS[name], sample("float32", shape))


PAD_MODES = [
    "constant", "edge", "symmetric", "reflect", "wrap", "linear_ramp", "maximum", "minimum", "mean", "median", "empty",
]  # fmt: skip


@pytest.mark.parametrize("mode", PAD_MODES)
def test_pad(mode: str) -> None:
    for dtype in ["int32", "float64"]:
        a = sample(dtype, (4, 5))
        for width in [1, (1, 2), ((1, 2), (0, 3)), ((0, 0), (2, 2)), 0]:
            if mode == "empty":
                assert cp.pad(cp.asarray(a), width, mode).shape == np.pad(a, width, mode).shape
                continue
            check(lambda xp, x, w=width: xp.pad(x, w, mode), a, atol=1e-12)
    if mode in ("edge", "symmetric", "reflect", "wrap"):
        check(lambda xp, x: xp.pad(x, 9, mode), sample("float32", (3, 4)))
    if mode in ("maximum", "minimum", "mean"):
        check(lambda xp, x: xp.pad(x, 2, mode, stat_length=2), sample("float64", (4, 5)))


def test_pad_arguments() -> None:
    a = sample("float64", (3, 4))
    check(lambda xp, x: xp.pad(x, 2, constant_values=3), a)
    check(lambda xp, x: xp.pad(x, 1, constant_values=((1, 2), (3, 4))), a)
    check(lambda xp, x: xp.pad(x, 2, "linear_ramp", end_values=(5, -4)), a, atol=1e-12)
    check(lambda xp, x: xp.pad(x, -1), a)
    check(lambda xp, x: xp.pad(x, 1, "nonsense"), a)
    check(lambda xp, x: xp.pad(x, 1, "edge", constant_values=1), a)


def test_views_alias() -> None:
    a, d = np.arange(24).reshape(2, 3, 4), cp.arange(24).reshape(2, 3, 4)
    for x in (a, d):
        v = x.transpose(2, 0, 1)[1:, ::-1]
        w = v.reshape(3, 2, 3)[..., 1]
        w[:] = -1
        x.T[0] += 100
        v[0, 0, 0] = 77
    assert_same(d, a)
    assert cp.shares_memory(d, d[0])
    assert not cp.shares_memory(d[:, ::2], d[:, 1::2])
    assert cp.may_share_memory(d[:, ::2], d[:, 1::2])
    assert not cp.may_share_memory(d, d.copy())

    assert d.reshape(-1).shares_storage(d)
    assert not d.flatten().shares_storage(d)


def test_memory_that_numpy_shares() -> None:
    """Libraries such as scikit-learn check this before they write into their arguments."""
    a = cp.arange(12.0).reshape(3, 4)
    host, other = np.asarray(a), np.ones(3)
    here = cp.get_device() == "cpu"
    for pair in ((host, a), (a, host), (host[0], a), (a.T, host)):
        assert np.may_share_memory(*pair) and cp.may_share_memory(*pair)
        assert np.shares_memory(*pair) == cp.shares_memory(*pair) == here
    assert not np.may_share_memory(other, a) and not cp.shares_memory(a, other)
    assert cp.shares_memory(host[1], a[:2]) == here and not cp.shares_memory(host[0], a[1:])
    assert not cp.may_share_memory(np.array(a), a)


def test_strides_and_flags() -> None:
    a = np.arange(24, dtype="int32").reshape(2, 3, 4)
    views = [lambda x: x.T, lambda x: x[:, ::2], lambda x: x[..., ::-1], lambda x: x[:, :1], lambda x: x[0, 0]]
    for call in [lambda x: x, *views]:
        h, d = call(a), call(cp.asarray(a))
        assert d.strides == h.strides
        assert d.flags.c_contiguous == h.flags.c_contiguous
        assert d.flags["F_CONTIGUOUS"] == h.flags.f_contiguous
        assert (d.size, d.nbytes, d.itemsize, d.ndim, d.shape) == (h.size, h.nbytes, h.itemsize, h.ndim, h.shape)


def test_stride_tricks() -> None:
    a = np.arange(20.0).reshape(4, 5)
    d = cp.asarray(a)
    for shape, axis in [((2, 3), None), (2, 0), ((2, 2), (1, 1)), ((9, 9), None), (2, None)]:
        alike(lambda xp, s=shape, ax=axis: xp.lib.stride_tricks.sliding_window_view(xp.asarray(a), s, ax))
    alike(lambda xp: xp.lib.stride_tricks.as_strided(xp.asarray(a), (3, 2), (40, 8)))
    with pytest.raises(ValueError):
        cp.lib.stride_tricks.as_strided(d, (100,), (8,)).get()


def test_copyto() -> None:
    h, d = np.zeros((2, 3)), cp.zeros((2, 3))
    for xp, x in ((np, h), (cp, d)):
        xp.copyto(x, xp.asarray([1, 2, 3]))
        xp.copyto(x, 9, where=x > 2)
        with pytest.raises(TypeError):
            xp.copyto(x, xp.asarray([1j, 2, 3]))
    assert_same(d, h)


shapes = st.lists(st.integers(0, 3), min_size=0, max_size=4).map(tuple)


@settings(max_examples=150)
@given(shapes, st.randoms(use_true_random=False))
def test_random_views(shape: tuple[int, ...], random: Any) -> None:
    a = np.arange(int(np.prod(shape))).reshape(shape)
    h, d = a.copy(), cp.asarray(a)
    vh, vd = h, d
    for _ in range(random.randint(1, 4)):
        kind = random.choice(["T", "slice", "reshape", "new", "flip"])
        if kind == "T":
            order = list(range(vh.ndim))
            random.shuffle(order)
            vh, vd = vh.transpose(order), vd.transpose(order)
        elif kind == "slice" and vh.ndim:
            key = tuple(slice(random.choice([None, 0, 1]), None, random.choice([1, 2, -1])) for _ in range(vh.ndim))
            vh, vd = vh[key], vd[key]
        elif kind == "reshape":
            vh, vd = vh.reshape(-1), vd.reshape(-1)
        elif kind == "new":
            vh, vd = vh[None], vd[None]
        else:
            vh, vd = np.flip(vh), cp.flip(vd)
        assert_same(vd, vh)
    if np.shares_memory(vh, h) and vh.size:
        vh[...] = vh * 2 + 1
        vd[...] = vd * 2 + 1
        assert_same(d, h)


@settings(max_examples=100)
@given(shapes, shapes)
def test_random_broadcasting(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    a, b = np.ones(first), np.ones(second)
    alike(lambda xp: xp.broadcast_shapes(first, second))
    alike(lambda xp: xp.asarray(a) + xp.asarray(b))
    alike(lambda xp: xp.broadcast_arrays(xp.asarray(a), xp.asarray(b)))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(128, 128), (200, 131), (67, 1000), (3, 130, 70), (70, 5, 130)])
def test_transposed_operands_of_large_arrays(shape: tuple[int, ...], dtype: str) -> None:
    """Blocks of two axes and the remaining strips: copies, maps of several operands, transposed destinations."""
    host = (np.arange(math.prod(shape)) % 97).astype(dtype).reshape(shape)
    other = (np.arange(math.prod(shape)) % 13).astype(dtype).reshape(host.T.shape)
    a, b = cp.asarray(host), cp.asarray(other)
    np.testing.assert_array_equal(cp.asnumpy(cp.ascontiguousarray(a.T)), host.T)
    np.testing.assert_array_equal(cp.asnumpy(a.T + b), host.T + other)
    np.testing.assert_array_equal(cp.asnumpy(a[..., ::-1].T * b[::-1]), host[..., ::-1].T * other[::-1])
    target = cp.zeros(shape, dtype)
    target.T[...] = b
    np.testing.assert_array_equal(cp.asnumpy(target), other.T)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_odd_reflections(mode: str) -> None:
    for dtype in DTYPES:
        for shape in ((5,), (1,), (2, 3), (4, 1, 3)):
            for width in (1, 4, (0, 3), (9, 0), (2, 13)):
                check(
                    lambda xp, x, w=width: xp.pad(x, w, mode=mode, reflect_type="odd"),
                    sample(dtype, shape),
                    rtol=1e-2 if dtype == "float16" else None,
                )
    check(lambda xp, x: xp.pad(x, 1, mode=mode, reflect_type="odd"), np.zeros(0))


def test_trim_zeros_of_any_axes() -> None:
    for shape, places in (((4, 5), [(1, 2), (2, 3)]), ((3, 4, 5), [(1, 0, 4), (1, 2, 2)]), ((2, 3), []), ((0, 2), [])):
        a = np.zeros(shape)
        for place in places:
            a[place] = -1.5
        for trim in ("fb", "B", "f", "bf", "x"):
            for axis in (None, 0, -1, (0, 1), (), 9):
                check(lambda xp, x, trim=trim, axis=axis: xp.trim_zeros(x, trim, axis), a)


def test_promotion_considers_floats_first() -> None:
    """Three dtypes promote to NumPy's result in any order; pairwise promotion from the left would give float64 for
    some."""
    for names in (("uint16", "int8", "float32"), ("int8", "uint8", "float16"), ("uint32", "int32", "complex64")):
        for order in itertools.permutations(names):
            arrays = [np.ones(2, name) for name in order]
            assert cp.concatenate(list(map(cp.asarray, arrays))).dtype == np.concatenate(arrays).dtype


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_reshape_with_copy(order: str) -> None:
    for a in (np.arange(6), np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).T, np.arange(12)[::2], np.ones(())):
        for shape in ((3, 2), (6,), (-1,), (1, 1)):
            for copy in (None, True, False):
                for method in (False, True):

                    def reshaped(xp: Any, x: Any, *, s: Any = shape, c: Any = copy, m: bool = method) -> Any:
                        return x.reshape(s, order=order, copy=c) if m else xp.reshape(x, s, order, copy=c)

                    x = (
                        cp.asarray(a)
                        if a.flags.c_contiguous
                        else cp.lib.stride_tricks.as_strided(cp.arange(12), a.shape, a.strides)
                    )
                    try:
                        want = reshaped(np, a)
                    except ValueError:
                        with pytest.raises(ValueError):
                            reshaped(cp, x)
                        continue
                    got = reshaped(cp, x)
                    assert got.shape == want.shape and (a.size == 1 or got.strides == want.strides)
                    assert got.shares_storage(x) == np.shares_memory(want, a)


@pytest.mark.parametrize(
    "blocks", [[1, [2]], [1, []], [[1], 2], [[], 2], [[[1], [2]], [[3, 4]], [5]], [], [[]], [[1], []], [[], [1]]]
)
def test_blocks_that_do_not_fit(blocks: list[Any]) -> None:
    """The text of the error is NumPy's: it names where the depths differ, or which list is empty."""
    with pytest.raises(ValueError) as expected:
        np.block(blocks)
    with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
        cp.block(blocks)
