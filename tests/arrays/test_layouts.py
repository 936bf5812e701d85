"""Tests the memory layout of results: NumPy's strides for inputs in any order, and bases, ownership and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.lib.array_utils import byte_bounds, normalize_axis_index, normalize_axis_tuple

Call = Callable[[Any, Any], Any]

_BASES = [np.arange(1.0, 31).reshape(5, 6), np.arange(1.0, 121).reshape(4, 5, 6) % 17]

#: Memory layouts of an array. Strides of axes of length one are not compared.
_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda a: a, "F": lambda a: a.T, "swapped": lambda a: a.swapaxes(0, 1),
    "last swapped": lambda a: a.swapaxes(-2, -1), "rolled": lambda a: a.transpose((*range(1, a.ndim), 0)),
    "every other": lambda a: a[::2, ::2], "every other, F": lambda a: a.T[::2, ::2], "reversed": lambda a: a[::-1],
    "reversed, F": lambda a: a.T[:, ::-1],
}  # fmt: skip


def _mask(xp: Any, n: int) -> Any:
    return xp.asarray(np.arange(n) % 3 > 0)


ELEMENTWISE: dict[str, Call] = {
    "negative": lambda xp, x: -x, "add row": lambda xp, x: x + xp.arange(x.shape[-1]),
    "add C": lambda xp, x: x + xp.ones(x.shape), "add F": lambda xp, x: x + xp.asfortranarray(xp.ones(x.shape)),
    "mixed dtypes": lambda xp, x: x.astype("int32") + x, "where": lambda xp, x: xp.where(x > 3, x, 0),
    "clip": lambda xp, x: xp.clip(x, 2, 5), "clip nothing": lambda xp, x: xp.clip(x, None, None),
    "round": lambda xp, x: xp.round(x), "isclose": lambda xp, x: xp.isclose(x, x),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x), "nan_to_num complex": lambda xp, x: xp.nan_to_num(x * 1j),
    "modf": lambda xp, x: xp.modf(x)[1], "order C": lambda xp, x: xp.add(x, 1, order="C"),
    "order F": lambda xp, x: xp.add(x, 1, order="F"), "order A": lambda xp, x: xp.add(x, 1, order="A"),
    "piecewise": lambda xp, x: xp.piecewise(x, [x > 3], [1, 2]),
    "choose": lambda xp, x: xp.choose((x > 3).astype("int64"), [x, x]),
    "select": lambda xp, x: xp.select([x > 3], [x], 0), "gradient": lambda xp, x: xp.gradient(x, axis=0),
    "diff": lambda xp, x: xp.diff(x, axis=0), "unwrap": lambda xp, x: xp.unwrap(x, axis=0),
}  # fmt: skip
FOLDS: dict[str, Call] = {
    "sum 0": lambda xp, x: x.sum(0), "sum 1": lambda xp, x: x.sum(1), "sum last": lambda xp, x: x.sum(-1),
    "sum nothing": lambda xp, x: x.sum(()), "sum kept": lambda xp, x: x.sum(1, keepdims=True),
    "sum int": lambda xp, x: x.astype("int32").sum(1), "sum as float": lambda xp, x: x.sum(1, dtype="float32"),
    "max": lambda xp, x: x.max(1), "mean": lambda xp, x: x.mean(1), "var": lambda xp, x: x.var(1),
    "any": lambda xp, x: (x > 3).any(1), "any of floats": lambda xp, x: x.any(1), "ptp": lambda xp, x: xp.ptp(x, 1),
    "argmax": lambda xp, x: x.argmax(1), "argmin kept": lambda xp, x: xp.argmin(x, 0, keepdims=True),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, 1), "nansum": lambda xp, x: xp.nansum(x, 1),
    "nanmean": lambda xp, x: xp.nanmean(x, 1),
    "average": lambda xp, x: xp.average(x, 1, weights=xp.arange(1.0, x.shape[1] + 1)),
    "percentile": lambda xp, x: xp.percentile(x, 30, 1), "trapezoid": lambda xp, x: xp.trapezoid(x, axis=0),
    "logical_or.reduce": lambda xp, x: xp.logical_or.reduce(x, 1), "hypot.reduce": lambda xp, x: xp.hypot.reduce(x, 1),
    "add.reduceat": lambda xp, x: xp.add.reduceat(x, [0, 1], 0), "cumsum": lambda xp, x: x.cumsum(0),
    "cumprod": lambda xp, x: x.cumprod(-1), "cumsum int": lambda xp, x: x.astype("int32").cumsum(0),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
    "maximum.accumulate": lambda xp, x: xp.maximum.accumulate(x, 1),
    "hypot.accumulate": lambda xp, x: xp.hypot.accumulate(x, 0),
}  # fmt: skip
JOINED: dict[str, Call] = {
    "concatenate 0": lambda xp, x: xp.concatenate((x, x)), "concatenate last": lambda xp, x: xp.concatenate((x, x), -1),
    "concatenate mixed": lambda xp, x: xp.concatenate((x, xp.ones(x.shape))),
    "concatenate flat": lambda xp, x: xp.concatenate((x, x), None), "stack": lambda xp, x: xp.stack((x, x)),
    "stack last": lambda xp, x: xp.stack((x, x), -1), "hstack": lambda xp, x: xp.hstack((x, x)),
    "dstack": lambda xp, x: xp.dstack((x, x)), "append": lambda xp, x: xp.append(x, x, 0),
    "block": lambda xp, x: xp.block([[x, x], [x, x]]), "list of arrays": lambda xp, x: xp.array([x, x]),
    "tile": lambda xp, x: xp.tile(x, (2, 1)), "tile once": lambda xp, x: xp.tile(x, 1),
    "repeat": lambda xp, x: xp.repeat(x, 2, 0), "roll": lambda xp, x: xp.roll(x, 1, 0),
    "roll by nothing": lambda xp, x: xp.roll(x, 0, 0), "delete one": lambda xp, x: xp.delete(x, 1, 0),
    "delete slice": lambda xp, x: xp.delete(x, slice(0, 2), 0), "delete several": lambda xp, x: xp.delete(x, [0, 1], 1),
    "insert one": lambda xp, x: xp.insert(x, 1, 9, 0), "insert several": lambda xp, x: xp.insert(x, [0, 1], 9, 1),
    "pad": lambda xp, x: xp.pad(x, 1), "pad edge": lambda xp, x: xp.pad(x, ((1, 2),) * x.ndim, mode="edge"),
    "pad mean": lambda xp, x: xp.pad(x, 1, mode="mean"),
    "unpackbits": lambda xp, x: xp.unpackbits(x.astype("uint8"), axis=0),
    "packbits": lambda xp, x: xp.packbits(x > 3, axis=0),
}  # fmt: skip
COPIED: dict[str, Call] = {
    **{f"copy {o}": lambda xp, x, o=o: x.copy(o) for o in "CFAK"},
    **{f"cp.copy {o}": lambda xp, x, o=o: xp.copy(x, o) for o in "CFAK"},
    **{f"astype {o}": lambda xp, x, o=o: x.astype("float32", order=o) for o in "CFAK"},
    **{f"astype itself {o}": lambda xp, x, o=o: x.astype("float64", order=o) for o in "CFAK"},
    **{f"array {o}": lambda xp, x, o=o: xp.array(x, order=o) for o in "CFAK"},
    **{f"asarray {o}": lambda xp, x, o=o: xp.asarray(x, order=o) for o in "CFAK"},
    **{f"asarray float32 {o}": lambda xp, x, o=o: xp.asarray(x, dtype="float32", order=o) for o in "CFAK"},
    **{f"zeros_like {o}": lambda xp, x, o=o: xp.zeros_like(x, order=o) for o in "CFAK"},
    **{f"reshape {o}": lambda xp, x, o=o: x.reshape(x.shape[::-1], order=o) for o in "CFA"},
    "cp.astype": lambda xp, x: xp.astype(x, "float32"),
    "full_like, other shape": lambda xp, x: xp.full_like(x, 3, shape=(2,) * x.ndim),
    "full_like, more axes": lambda xp, x: xp.full_like(x, 3, shape=(2, 3, 4, 5)),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "asfortranarray": lambda xp, x: xp.asfortranarray(x),
    "byteswap": lambda xp, x: x.byteswap(),
    "view": lambda xp, x: x.copy("K").view("int64"),
}
PICKED: dict[str, Call] = {
    "sort": lambda xp, x: xp.sort(x, 0),
    "argsort": lambda xp, x: xp.argsort(x, 0),
    "partition": lambda xp, x: xp.partition(x, 1, 0),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.arange(5.0), x),
    "take": lambda xp, x: xp.take(x, xp.asarray([0, 1]), 1),
    "take 2-d": lambda xp, x: xp.take(x, xp.asarray([[0, 1], [1, 0], [1, 1]]).T, 0),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, 0), 0),
    "index": lambda xp, x: x[:, xp.asarray([0, 1])],
    "index 2-d": lambda xp, x: x[xp.asarray([[0, 1], [1, 0], [1, 1]]).T],
    "mask": lambda xp, x: x[_mask(xp, x.shape[0])],
    "compress": lambda xp, x: xp.compress([True, True], x, 0),
    "argwhere": lambda xp, x: xp.argwhere(x),
    "tril": lambda xp, x: xp.tril(x),
    "unique": lambda xp, x: xp.unique(x, axis=0),
    "cross": lambda xp, x: xp.cross(x[..., :3], x[..., :3]),
    "matmul F": lambda xp, x: xp.matmul(x, x.swapaxes(-1, -2), order="F"),
    "tensordot": lambda xp, x: xp.tensordot(x, x, ((0,), (0,))),
}
CALLS = {**ELEMENTWISE, **FOLDS, **JOINED, **COPIED, **PICKED}


def _inputs() -> Iterator[tuple[str, Any, Any]]:
    for base in _BASES:
        for name, lay in _LAYOUTS.items():
            yield f"{base.ndim}-d {name}", lay(base), lay(cp.asarray(base))


def _significant(a: Any) -> list[int]:
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


@pytest.mark.parametrize("name", CALLS)
def test_result_strides_match_numpy(name: str) -> None:
    call = CALLS[name]
    for what, host, device in _inputs():
        expected, actual = np.asarray(call(np, host)), call(cp, device)
        np.testing.assert_allclose(actual.get(), expected, rtol=1e-6, err_msg=what)
        if expected.size:
            assert _significant(actual) == _significant(expected), what
            assert actual.flags.c_contiguous == expected.flags.c_contiguous, what
            assert actual.flags.f_contiguous == expected.flags.f_contiguous, what


def test_reduction_in_memory_order_keeps_indices() -> None:
    a = np.arange(24.0).reshape(2, 3, 4) % 7
    for axes in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)):
        host, device = a.transpose(axes), cp.asarray(a).transpose(axes)
        assert int(device.argmax()) == host.argmax()
        for axis in (None, 0, 1, 2, (0, 2), (1, 2)):
            np.testing.assert_array_equal(device.sum(axis).get(), host.sum(axis))
            np.testing.assert_array_equal(device.sum(axis, keepdims=True).get(), host.sum(axis, keepdims=True))


# --- memory ownership

VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda a: a[1:], "ellipsis": lambda a: a[...], "new axis": lambda a: a[None], "transposed": lambda a: a.T,
    "permuted": lambda a: a.transpose(1, 0), "reshaped": lambda a: a.reshape(3, 2), "flat": lambda a: a.reshape(-1),
    "view of a view": lambda a: a.T[1:][..., ::-1], "another dtype": lambda a: a.view("int64"),
    "squeezed": lambda a: a[None].squeeze(), "diagonal": lambda a: a.diagonal(),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_their_owner_as_base(name: str) -> None:
    for a in (cp.ones((2, 3)), np.ones((2, 3))):
        view = VIEWS[name](a)
        assert view.base is a
        assert not view.flags.owndata
        assert not view.flags["OWNDATA"]


FRESH: dict[str, Call] = {
    "itself": lambda xp, a: a, "asarray": lambda xp, a: xp.asarray(a), "sum": lambda xp, a: a + 1,
    "sum, F": lambda xp, a: a.T + 1, "reduction": lambda xp, a: xp.ones((2, 3, 4)).T.sum(1),
    "copy": lambda xp, a: a.T.copy(), "copy, K": lambda xp, a: a.T.copy("K"),
    "astype": lambda xp, a: a.T.astype("int32"), "empty, F": lambda xp, a: xp.empty((2, 3), order="F"),
    "zeros, F": lambda xp, a: xp.zeros((2, 3), order="F"), "full, F": lambda xp, a: xp.full((2, 3), 2, order="F"),
    "zeros_like": lambda xp, a: xp.zeros_like(a.T), "concatenate": lambda xp, a: xp.concatenate((a.T, a.T)),
    "index": lambda xp, a: a.T[xp.asarray([0, 1])], "reshaped copy": lambda xp, a: a[:, ::2].T.reshape(4).copy(),
    "array": lambda xp, a: xp.array(a.T),
}  # fmt: skip


@pytest.mark.parametrize("name", FRESH)
def test_fresh_results_own_their_memory(name: str) -> None:
    for xp in (np, cp):
        result = FRESH[name](xp, xp.ones((2, 3)))
        assert result.base is None
        assert result.flags.owndata


def test_a_base_outlives_its_name() -> None:
    view = cp.arange(6)[2:]
    assert view.base.tolist() == [0, 1, 2, 3, 4, 5]
    view[:] = 9
    assert view.base.tolist() == [0, 1, 9, 9, 9, 9]


@pytest.mark.parametrize("name", _LAYOUTS)
def test_flags(name: str) -> None:
    lay = _LAYOUTS[name]
    host, device = lay(_BASES[0].copy()).copy("K"), lay(cp.asarray(_BASES[0])).copy("K")
    for h, d in ((host, device), (host[1:], device[1:]), (host[:, 1:], device[:, 1:]), (host[:1, :1], device[:1, :1])):
        for word in ("c_contiguous", "f_contiguous", "contiguous", "fortran", "owndata", "writeable", "aligned",
                     "behaved", "carray", "farray", "fnc", "forc", "writebackifcopy", "num"):  # fmt: skip
            assert getattr(d.flags, word) == getattr(h.flags, word), word
        for key in ("C", "F", "O", "W", "A", "X", "B", "CA", "FA", "C_CONTIGUOUS", "F_CONTIGUOUS", "CONTIGUOUS",
                    "FORTRAN", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY", "BEHAVED", "CARRAY", "FARRAY",
                    "FNC", "FORC"):  # fmt: skip
            assert d.flags[key] == h.flags[key], key
        assert repr(d.flags) == repr(h.flags)
    assert device.flags == device.flags
    assert device.flags != device[1:].flags
    with pytest.raises(KeyError):
        device.flags["NO SUCH"]
    with pytest.raises(AttributeError):
        device.flags.writeable = False


def test_byte_bounds() -> None:
    whole = cp.zeros((6, 5), "float32")
    start = whole.data.ptr
    for view, low, high in ((whole, 0, 120), (whole[::-1], 0, 120), (whole[1:3, 1:3], 24, 52)):
        assert byte_bounds(view) == (start + low, start + high)
    low, high = byte_bounds(whole[:0])
    assert low == high
    with pytest.raises(TypeError, match="list"):
        byte_bounds([1])


def test_axes_counted_from_the_front() -> None:
    assert [normalize_axis_index(axis, 3) for axis in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    assert normalize_axis_tuple([-1, 0], 3) == (2, 0)
    assert normalize_axis_tuple(np.int64(1), 3) == (1,)
    assert normalize_axis_tuple((0, -2), 2, allow_duplicate=True) == (0, 0)
    with pytest.raises(ValueError, match="repeated axis in `axes` argument"):
        normalize_axis_tuple((0, -2), 2, "axes")
    with pytest.raises(cp.exceptions.AxisError, match="source: axis 3 is out of bounds for array of dimension 3"):
        normalize_axis_index(3, 3, "source")


def test_exceptions_are_a_module() -> None:
    from cuprous.exceptions import AxisError

    assert AxisError is np.exceptions.AxisError is cp.exceptions.AxisError
