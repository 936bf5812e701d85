"""Tests every ufunc: values, dtypes, keywords and methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous._unsupported import Unsupported
from tests.support import (
    DTYPES,
    INTEGERS,
    SOME_DTYPES,
    alike,
    assert_same,
    compare,
    hypot,
    layouts,
    outcome,
    sample,
)

#: What functions that NumPy lacks compute, and the one that is right on every processor.
OTHERS: dict[str, Any] = {"rsqrt": lambda x: np.reciprocal(np.sqrt(np.copysign(x, x))), "hypot": hypot}
#: Every public ufunc of one output, without aliases. `ldexp` has operands of two dtypes.
UFUNCS = [
    name
    for name in cp.__all__
    if getattr(getattr(cp, name), "__name__", "") == name and type(getattr(cp, name)) is cp.ufunc
]
UNARY = [name for name in UFUNCS if getattr(cp, name).nin == 1]
BINARY = [name for name in UFUNCS if getattr(cp, name).nin == 2 and name != "ldexp"]
#: Relative tolerances by dtype, beyond the default ones.
LOOSE = {"float16": 4e-3, "float32": 1e-5, "complex64": 1e-4, "float64": 1e-12, "complex128": 1e-11}


def _check(name: str, *host: np.ndarray) -> None:
    theirs, ours = OTHERS.get(name) or getattr(np, name), getattr(cp, name)
    expected = outcome(lambda: theirs(*host))
    kind = "" if isinstance(expected, Exception) else expected.dtype.name
    compare(
        lambda: theirs(*host),
        lambda: ours(*map(cp.asarray, host)),
        rtol=LOOSE.get(kind),
        atol=1e-6,
        message=f"{name}{[h.dtype.name for h in host]}",
    )


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for dtype in DTYPES:
        for shape in [(17,), (), (0,), (2, 3)]:
            a = sample(dtype, shape)
            if name == "reciprocal" and a.dtype.kind in "iu":
                a = np.where(a == 0, 1, a).astype(dtype)  # 1 / 0 of integers is undefined
            _check(name, a)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    for dtype in DTYPES:
        a, b = sample(dtype, (4, 5)), sample(dtype, (5,), seed=1)
        if name in ("left_shift", "right_shift", "power") and a.dtype.kind in "iu":
            b = np.abs(b) % 5
            b = b.astype(dtype)
        if name in ("floor_divide", "remainder", "fmod") and a.dtype.kind in "iu":
            b = np.where(b == 0, 3, b).astype(dtype)
        _check(name, a, b)


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "power", "maximum", "less", "arctan2"])
def test_mixed_dtypes(name: str) -> None:
    for first in SOME_DTYPES:
        for second in SOME_DTYPES:
            a, b = sample(first, (7,)), np.abs(sample(second, (7,), seed=3))
            if name == "power" and a.dtype.kind in "biu":
                b = (b.real % 4).astype(second)
            if name in ("maximum", "less") and "complex128" in (first, second):
                continue
            _check(name, a, b)


@pytest.mark.parametrize("scalar", [True, 3, 2.5, 1 + 2j, np.float32(1.5), np.int8(3), np.uint64(7)])
def test_scalars_promote_weakly(scalar: object) -> None:
    for dtype in DTYPES:
        a = sample(dtype, (6,))
        for name in ("add", "multiply", "divide"):
            alike(lambda xp, a=a, name=name: getattr(xp, name)(xp.asarray(a), scalar), rtol=2e-3)


def test_special_values() -> None:
    a = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e300, 5e-324])
    for name in [
        "absolute", "sign", "sqrt", "exp", "log", "floor", "signbit", "isnan", "isinf", "isfinite", "tanh",
        "reciprocal",
    ]:  # fmt: skip
        _check(name, a)
    for name in ["maximum", "minimum", "fmax", "fmin", "copysign", "remainder", "floor_divide", "hypot", "arctan2"]:
        _check(name, a[:, None], a[None, :])


@pytest.mark.parametrize("name", ["divmod", "frexp", "modf"])
def test_two_outputs(name: str) -> None:
    for dtype in ["int32", "float32", "float64", "int8"]:
        a = sample(dtype, (9,))
        if name == "divmod":
            b = np.where(sample(dtype, (9,), seed=2) == 0, 2, sample(dtype, (9,), seed=2)).astype(dtype)
            alike(lambda xp, a=a, b=b: xp.divmod(xp.asarray(a), xp.asarray(b)))
            alike(lambda xp, a=a: divmod(xp.asarray(a), 3))
        else:
            alike(lambda xp, a=a: getattr(xp, name)(xp.asarray(a)))


def test_two_outputs_with_out() -> None:
    a = cp.asarray([1.5, -2.25])
    first, second = cp.empty(2), cp.empty(2)
    result = cp.modf(a, out=(first, second))
    assert result[0] is first
    assert result[1] is second
    assert_same(first, np.modf([1.5, -2.25])[0])


def test_out_where_dtype() -> None:
    a, b = sample("float64", (3, 4)), sample("float64", (4,), 1)
    da, db = cp.asarray(a), cp.asarray(b)
    out = cp.zeros((3, 4))
    assert cp.add(da, db, out=out) is out
    assert_same(out, a + b)
    assert cp.add(da, db, out) is out
    mask = a > 0
    expected = np.full((3, 4), 7.0)
    target = cp.full((3, 4), 7.0)
    np.multiply(a, b, out=expected, where=mask)
    cp.multiply(da, db, out=target, where=cp.asarray(mask))
    assert_same(target, expected)
    assert_same(cp.add(da, db, dtype="float32"), np.add(a, b, dtype="float32"))
    assert_same(cp.sqrt(cp.arange(4), dtype="float32"), np.sqrt(np.arange(4), dtype="float32"))
    wide = cp.zeros((2, 3, 4))
    cp.add(da, db, out=wide)
    assert_same(wide, np.broadcast_to(a + b, (2, 3, 4)))


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda a: cp.add(a, np.array(["a", "b", "c"])), TypeError, "Unsupported"),
    (lambda a: cp.add(a, ["a", "b", "c"]), TypeError, ""),
    (lambda a: cp.add(a, a, bogus=1), TypeError, "unexpected keyword"),
    (lambda a: cp.add(a, 1.5, out=cp.zeros(3, int)), TypeError, "same_kind"),
    (lambda a: cp.add(a, 1.5, dtype="int32"), TypeError, ""),
    (lambda a: cp.add(cp.ones((2, 3)), cp.ones(4)), ValueError, "could not be broadcast together with shapes"),
    (lambda a: cp.add(cp.ones((2, 3)), 1, out=cp.ones(3)), ValueError, "non-broadcastable output"),
    (lambda a: cp.add(a), TypeError, ""), (lambda a: cp.invert(cp.ones(3)), TypeError, ""),
])  # fmt: skip
def test_errors(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words or None):
        call(cp.arange(3))


@pytest.mark.parametrize("name", [
    "add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "bitwise_or",
    "bitwise_and", "bitwise_xor", "subtract", "divide", "fmax", "hypot", "logaddexp", "gcd",
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "uint8"])
def test_reduce_and_accumulate(name: str, dtype: str) -> None:
    a = sample(dtype, (3, 5, 2))
    for axis in (0, 1, -1):
        alike(lambda xp, axis=axis: getattr(xp, name).reduce(xp.asarray(a), axis=axis), rtol=1e-3)
        alike(lambda xp, axis=axis: getattr(xp, name).accumulate(xp.asarray(a), axis=axis), rtol=1e-3)
    alike(lambda xp: getattr(xp, name).reduce(xp.asarray(a), axis=(0, 2), keepdims=True), rtol=1e-3)
    alike(lambda xp: getattr(xp, name).reduce(xp.asarray(a)[:0]), rtol=1e-3)


def test_reduce_where_initial() -> None:
    a = sample("float64", (4, 5))
    mask = a > 0
    assert_same(
        cp.add.reduce(cp.asarray(a), axis=1, where=cp.asarray(mask), initial=10.0),
        np.add.reduce(a, axis=1, where=mask, initial=10.0),
    )
    assert_same(cp.maximum.reduce(cp.asarray(a), initial=3.5), np.maximum.reduce(a, initial=3.5))


@pytest.mark.parametrize(
    "name", ["add", "multiply", "minimum", "logical_and", "bitwise_or", "logaddexp", "gcd", "fmax"]
)
def test_reduce_with_masks_of_all_shapes(name: str) -> None:
    a = sample("int64" if name in ("bitwise_or", "gcd") else "float64", (2, 3, 4))
    full = sample("float64", (2, 2, 3, 4)) > 0
    masks = [True, False, full[0], full[0, 0, 0], full[0, :1], full[0, :1, :1, :1], full[0, 0, :, :1], full]
    for axis in (None, 1, -1, (), (0, 2), (-1, 0), (0, 1, 2)):
        for mask in masks:
            for options in ({}, {"initial": 3}, {"initial": None}):
                alike(lambda xp, m=mask, options=options, axis=axis: getattr(xp, name).reduce(
                    xp.asarray(a), axis, keepdims=True, where=m if isinstance(m, bool) else xp.asarray(m), **options
                ), rtol=1e-12)  # fmt: skip


def test_without_initial_a_reduction_has_no_identity() -> None:
    for name in ("sum", "prod", "nansum", "nanprod"):
        for shape in ((0,), (0, 2), (3,)):
            for where in (True, [True]):
                alike(lambda xp, n=name, s=shape, w=where: getattr(xp, n)(xp.ones(s), initial=None, where=w))
    for name in ("add", "logical_or", "logaddexp", "gcd"):
        alike(lambda xp, n=name: getattr(xp, n).reduce(xp.zeros(0, "int64"), initial=None))
        alike(lambda xp, n=name: getattr(xp, n).reduce(xp.asarray([-6]), initial=None))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_at(name: str) -> None:
    for dtype in ["int32", "float64"]:
        a = sample(dtype, (6,))
        d = cp.asarray(a)
        index, values = [0, 2, 2, -1, 0], np.asarray([1, 2, 3, 4, 5], dtype)
        getattr(np, name).at(a, index, values)
        getattr(cp, name).at(d, index, cp.asarray(values))
        assert_same(d, a)


AT_DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "complex64"]
AT_VALUES = [3, 200, 1, 0, 2]
AT = ["add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "logical_or", "bitwise_xor", "fmax"]


@pytest.mark.parametrize("dtype", AT_DTYPES)
@pytest.mark.parametrize("name", AT)
def test_at_computes_in_the_common_dtype(name: str, dtype: str) -> None:
    """The ufunc has loops for both dtypes, and NumPy casts their results unsafely."""
    values = [np.asarray(AT_VALUES).astype(other) for other in AT_DTYPES]
    for b in [*values, np.array([3, 300, -5, 1, 7]), 3, 2.5, True]:
        index = [0, 2, 2, 4, 2]

        def run(xp: Any, b: Any = b, index: Any = index) -> Any:
            a = xp.asarray(np.array([1, 1, 2, 0, 1]).astype(dtype))
            getattr(xp, name).at(a, index, b if xp is np or np.isscalar(b) else cp.asarray(b))
            return a

        # float16 products round many times; out-of-range casts are undefined in C
        fits = dtype not in ("bool", "int8", "uint8", "uint64") or np.asarray(b).dtype.kind in "biu"
        if fits or name not in ("subtract", "multiply", "divide", "remainder"):
            alike(run, rtol=2e-3 if dtype == "float16" else 1e-6)


def test_at_takes_effect_for_every_occurrence() -> None:
    once, twice = [1, 2], np.array([1, 1])
    for index in (once, twice, [1, 2, 1, 1], slice(1, 3), ([0, 0], [1, 1]), (slice(None), [0, 0]), 1, []):
        for name in ("negative", "square", "sqrt"):
            a = np.arange(1.0, 10).reshape(3, 3)
            d = cp.asarray(a)
            getattr(np, name).at(a, index)
            getattr(cp, name).at(d, index)
            assert_same(d, a)
        a = np.arange(1.0, 10).reshape(3, 3)
        d = cp.asarray(a).T.copy().T
        np.divide.at(a, index, 2.0)
        cp.divide.at(d, index, 2.0)
        assert_same(d, a)


def test_at_errors() -> None:
    for call in (
        lambda xp: xp.add.at([1, 2], [0], 1),
        lambda xp: xp.add.at(xp.arange(3), [0]),
        lambda xp: xp.negative.at(xp.arange(3), [0], 1),
        lambda xp: xp.add.at(xp.arange(3), [5], 1),
        lambda xp: xp.divide.at(xp.arange(3.0), [0, 1], xp.ones(3)),
        lambda xp: xp.add.at(xp.arange(3.0), [0, 1], xp.ones(3)),
        lambda xp: xp.bitwise_or.at(xp.arange(3.0), [0, 1], 1),
    ):
        alike(call)


def test_outer_and_reduceat() -> None:
    a, b = sample("float64", (3, 2)), sample("float64", (4,))
    assert_same(cp.multiply.outer(cp.asarray(a), cp.asarray(b)), np.multiply.outer(a, b))
    assert_same(cp.add.reduceat(cp.asarray(b), [0, 2, 1]), np.add.reduceat(b, [0, 2, 1]))
    q = np.divmod.outer(a, 3.0 + np.abs(b))
    assert_same(cp.divmod.outer(cp.asarray(a), 3.0 + cp.absolute(cp.asarray(b))), list(q))


def test_layouts() -> None:
    for host, device in layouts(sample("float64", (3, 4))):
        assert_same(cp.exp(device), np.exp(host))
        assert_same(cp.add(device, device.T.T), host + host)


def test_attributes() -> None:
    assert cp.add.nin == 2
    assert cp.add.nout == 1
    assert cp.add.nargs == 3
    assert cp.add.__name__ == "add"
    assert repr(cp.add) == "<ufunc 'add'>"
    assert cp.add.identity == 0
    for function in (cp.add, cp.sin, cp.isnan, cp.divmod, cp.frexp, cp.left_shift):
        theirs = getattr(np, function.__name__).types
        assert function.types == list(dict.fromkeys(t for t in theirs if not {*"gGmMO"} & {*t}))
        assert function.ntypes == len(function.types)
        for loop in function.types:
            operands, results = loop.split("->")
            found = function(*(cp.ones(2, dtype) for dtype in operands))
            assert [r.dtype for r in (found if isinstance(found, tuple) else (found,))] == [
                np.dtype(c) for c in results
            ]
    assert isinstance(cp.add, cp.ufunc)
    assert cp.abs is cp.absolute
    assert cp.pow is cp.power
    assert "sum of two arrays" in cp.add.__doc__.lower()


def test_every_ufunc_of_numpy_is_there() -> None:
    ufuncs = [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)]
    assert [n for n in ufuncs if isinstance(getattr(cp, n), Unsupported)] == ["isnat"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_overflow_wraps(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 1], dtype)
    for name in ["add", "multiply", "subtract"]:
        _check(name, a, a)
    _check("negative", a)
