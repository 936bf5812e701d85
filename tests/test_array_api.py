"""Tests the array API standard: cases found by its public test suite, and the requirements on a namespace."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from cuprous._array import array_api
from tests.support import DTYPES, FLOATS, INTEGERS, REAL_DTYPES, alike, assert_same, np_dtype, sample

INFO = cp.__array_namespace_info__()
EVERY = [*DTYPES, "bfloat16"]


# --- inspection


def test_namespace_of_an_array() -> None:
    x: Any = cp.ones(3)
    assert x.__array_namespace__() is cp
    for version in array_api.VERSIONS:
        assert x.__array_namespace__(api_version=version) is cp
    with pytest.raises(ValueError, match=r"1999\.12"):
        x.__array_namespace__(api_version="1999.12")
    assert cp.__array_api_version__ == array_api.VERSIONS[-1]


def test_devices() -> None:
    assert INFO.devices()[0] == "cpu"
    assert isinstance(INFO.devices(), list)
    assert INFO.default_device() in INFO.devices()
    assert cp.ones(3).device == INFO.default_device()
    for device in INFO.devices():
        x = cp.arange(4, device=device)
        assert x.device == device
        assert x.to_device("cpu").device == "cpu"
        assert x.astype("float32", device="cpu").device == "cpu"


def test_dtypes_by_kind() -> None:
    theirs = np.__array_namespace_info__()
    for kind in (None, "bool", "signed integer", "unsigned integer", "integral", "real floating",
                 "complex floating", "numeric", ("bool", "integral"), ()):  # fmt: skip
        assert INFO.dtypes(kind=kind) == theirs.dtypes(kind=kind), kind
    assert INFO.default_dtypes() == theirs.default_dtypes()
    assert INFO.default_dtypes(device="cpu") == theirs.default_dtypes()
    with pytest.raises(ValueError, match="kind"):
        INFO.dtypes(kind="decimal")
    with pytest.raises(ValueError, match="device"):
        INFO.dtypes(device="tape")
    INFO.dtypes().clear()
    assert INFO.dtypes()


def test_capabilities() -> None:
    capabilities = INFO.capabilities()
    assert capabilities["boolean indexing"] is capabilities["data-dependent shapes"] is True
    most = cp.full((1,) * capabilities["max dimensions"], 2.0)
    assert float((most + 1).sum()) == 3.0


# --- dtypes


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128", "bfloat16"])
def test_finfo(dtype: str) -> None:
    theirs: Any = ml_dtypes.finfo(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.finfo(dtype)
    for source in (np_dtype(dtype), np_dtype(dtype).type, cp.ones((2, 2), dtype)):
        ours = cp.finfo(source)
        assert ours.dtype == theirs.dtype
        assert type(ours.bits) is int
        for name in ("eps", "max", "min", "smallest_normal", "tiny", "resolution", "smallest_subnormal", "epsneg"):
            assert type(getattr(ours, name)) is float
            assert getattr(ours, name) == float(getattr(theirs, name)), name
        for name in ("bits", "nmant", "maxexp", "minexp", "precision"):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert cp.finfo(dtype) == cp.finfo(dtype)
    assert cp.finfo(dtype) != np.finfo("float64")


def test_finfo_refuses() -> None:
    with pytest.raises(ValueError):
        cp.finfo(cp.int32)
    with pytest.raises(AttributeError):
        _ = cp.finfo("float32").nonsense


@pytest.mark.parametrize("dtype", INTEGERS)
def test_iinfo(dtype: str) -> None:
    for source in (dtype, np.dtype(dtype), np.dtype(dtype).type, cp.ones(1, dtype), np.ones(1, dtype)):
        ours, theirs = cp.iinfo(source), np.iinfo(dtype)
        assert (ours.min, ours.max, ours.bits, ours.dtype) == (theirs.min, theirs.max, theirs.bits, theirs.dtype)
    with pytest.raises(ValueError, match="integer"):
        cp.iinfo(cp.ones(1))


KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


@given(st.sampled_from(DTYPES), st.lists(st.sampled_from([*KINDS, *map(np.dtype, DTYPES)]), min_size=1, max_size=3))
def test_isdtype(dtype: str, kinds: list[Any]) -> None:
    assert cp.isdtype(np.dtype(dtype), tuple(kinds)) == np.isdtype(np.dtype(dtype), tuple(kinds))
    assert cp.isdtype(np.dtype(dtype).type, kinds[0]) == np.isdtype(np.dtype(dtype).type, kinds[0])


def test_isdtype_accepts_bfloat16_and_rejects_unknown_kinds() -> None:
    assert cp.isdtype(np_dtype("bfloat16"), "real floating")
    assert not cp.isdtype(np_dtype("bfloat16"), ("integral", "bool"))
    for dtype, kind in (("float32", "bool"), (np.dtype("float32"), "decimal"), (np.dtype("float32"), 3)):
        alike(lambda xp, d=dtype, k=kind: xp.isdtype(d, k))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_can_cast(casting: str) -> None:
    for source in DTYPES:
        for target in DTYPES:
            expected = np.can_cast(source, target, casting)  # type: ignore[arg-type]
            assert cp.can_cast(np.dtype(source), target, casting) == expected, (source, target)
            assert cp.can_cast(cp.ones(2, source), np.dtype(target), casting) == expected, (source, target)
    with pytest.raises(TypeError, match="Python"):
        cp.can_cast(1, "int8")
    assert cp.can_cast("S4", "S8")


@given(st.lists(st.sampled_from([*DTYPES, True, 1, 1.0, 1j]), min_size=1, max_size=4))
def test_result_type(things: list[Any]) -> None:
    theirs = np.result_type(*(np.dtype(x) if isinstance(x, str) else x for x in things))
    assert cp.result_type(*(np.dtype(x) if isinstance(x, str) else x for x in things)) == theirs
    assert cp.result_type(*(cp.ones(2, x) if isinstance(x, str) else x for x in things)) == theirs


@given(st.lists(st.sampled_from([*EVERY, True, 1, 1.0, 1j]), min_size=1, max_size=3))
def test_result_type_of_bfloat16_is_the_engines(things: list[Any]) -> None:
    arrays = [cp.ones(2, x) if isinstance(x, str) else x for x in ["bfloat16", *things]]
    total = arrays[0]
    for x in sorted(arrays[1:], key=lambda x: not isinstance(x, cp.ndarray)):  # scalars last: they are weak
        total = total * x
    assert cp.result_type(*arrays) == total.dtype


def test_promote_types() -> None:
    for first in DTYPES:
        for second in DTYPES:
            assert cp.promote_types(first, second) == np.promote_types(first, second)
    assert cp.promote_types("bfloat16", "float16") == np.float32
    assert cp.promote_types("S3", "S5") == np.dtype("S5")


def test_min_scalar_type() -> None:
    for value in (3, 300, -1, 2.5, 1e300, True):
        assert cp.min_scalar_type(value) == np.min_scalar_type(value)
        assert cp.min_scalar_type(cp.asarray(value)) == np.min_scalar_type(np.asarray(value))
    assert cp.min_scalar_type(cp.ones(3, "int64")) == np.int64


# --- functions with the standard's names or arguments


def test_clip_takes_either_name_of_its_bounds() -> None:
    a = sample("float64", (7,))
    d: Any = cp.asarray(a)
    expected = np.clip(a, -1, 2)
    for ours in (cp.clip(d, -1, 2), cp.clip(d, min=-1, max=2), cp.clip(d, a_min=-1, a_max=2), d.clip(-1, max=2)):
        assert_same(ours, expected)
    assert_same(cp.clip(a=d, min=0), np.clip(a, 0, None))
    with pytest.raises(ValueError, match="forbidden"):
        cp.clip(d, a_min=0, max=1)


@settings(max_examples=60)
@given(
    st.sampled_from([*REAL_DTYPES, "complex128"]),
    st.sampled_from([(0,), (1,), (9,), (3, 4), (2, 0), (2, 3, 4)]),
    st.integers(-3, 2) | st.none(),
    st.integers(0, 5),
)
def test_descending_sorts(dtype: str, shape: tuple[int, ...], axis: int | None, seed: int) -> None:
    if axis is not None and not -len(shape) <= axis < len(shape):
        axis = -1
    a = sample(dtype, shape, seed, -2, 3)  # few distinct values, so that many are equal
    d = cp.asarray(a)
    rising = np.argsort(a if axis is None else np.flip(a, axis), axis=axis, stable=True)
    if axis is None:
        expected = a.size - 1 - np.argsort(a.reshape(-1)[::-1], stable=True)[::-1]
    else:
        expected = a.shape[axis] - 1 - np.flip(rising, axis)
    order = cp.argsort(d, axis=axis, descending=True)
    assert_same(order, expected)
    falling = cp.sort(d, axis=axis, descending=True)
    flat = a.reshape(-1) if axis is None else a
    assert_same(falling, np.take_along_axis(flat, expected, 0 if axis is None else axis))


def test_descending_sorts_of_scalars_and_nan() -> None:
    assert_same(cp.argsort(cp.asarray(3.0), descending=True), np.argsort(np.asarray(3.0)))
    assert_same(cp.sort(cp.asarray([1.0, np.nan, 2.0]), descending=True), np.asarray([np.nan, 2.0, 1.0]))


@pytest.mark.parametrize(
    ("shape", "mask"),
    [((0, 1), (0, 0)), ((2, 0), (0, 0)), ((0, 3), (0,)), ((2, 3), (0, 3)), ((2, 3), (0, 0)), ((2, 3), (0,)),
     ((2, 3), (2, 0)), ((0, 3), (0, 2)), ((3, 0), (2, 0)), ((0, 3), (2, 3)), ((0,), (3,)), ((2, 3), ())],
)  # fmt: skip
def test_masks_with_empty_axes(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    def written(xp: Any) -> Any:
        x = xp.zeros(shape)
        x[xp.zeros(mask, bool)] = 1
        return x

    alike(lambda xp: xp.zeros(shape)[xp.zeros(mask, bool)])
    alike(lambda xp: xp.ones(shape)[..., xp.zeros(mask, bool)])
    alike(written)


def test_dlpack_to_numpy_and_back() -> None:
    x = cp.arange(6.0).reshape(2, 3)
    for copy in (None, True):
        host = np.from_dlpack(x.to_device("cpu"), copy=copy)
        assert_same(cp.from_dlpack(host, copy=copy), x.get())
        assert cp.from_dlpack(host, device="cpu").device == "cpu"
    if x.device == "cpu":
        shared = cp.from_dlpack(x, copy=False)
        shared[0, 0] = 7.0
        assert float(x[0, 0]) == 7.0
        own = cp.from_dlpack(x, copy=True)
        own[0, 0] = 8.0
        assert float(x[0, 0]) == 7.0
