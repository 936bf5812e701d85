"""Tests every public function with bad and unusual input: shapes, dtypes and objects that do not fit, and memory in
another order. NumPy is the oracle, including for errors.

Dtypes, NaN, infinities, empty arrays, 0-d arrays and axes of one array are in test_every_function.py, bad values of
parameters in tests/test_error_classes.py. A new function needs a row in tests/inputs/rows.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.arrays.test_every_function import ACCIDENTS, BINARY
from tests.conftest import DEVICE
from tests.inputs.rows import CALLS, ELSEWHERE, FFT, LINALG, NOT_IN_NUMPY, NUMBERS, Call, function, public
from tests.support import alike, compare, sample

Array = np.ndarray[Any, Any]


def every(cases: Iterable[tuple[Any, Callable[[], None]]]) -> None:
    """Runs all cases of a row; a failure names its case."""
    failures = []
    for label, case in cases:
        try:
            case()
        except Exception as error:
            failures.append(f"{label}: {str(error).strip() or error!r}")
    assert not failures, "\n".join(failures)


def same(call: Call, a: Any, b: Any = None, tolerance: float = 2e-5) -> Callable[[], None]:
    """Returns a case: the call agrees for a device array and a NumPy array."""
    return lambda: compare(
        lambda: call(np, a), lambda: call(cp, cp.asarray(a) if b is None else b), rtol=tolerance, atol=tolerance
    )


def test_every_function_has_a_row() -> None:
    rows = {name.split()[0] for name in (*CALLS, *NUMBERS, *ELSEWHERE, *NOT_IN_NUMPY)}
    assert set(public()) - rows == set(), "functions without a row in tests/inputs/rows.py"
    assert {row for row in rows if not callable(function(cp, row))} == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_rows_tested_elsewhere_exist(name: str) -> None:
    assert name in (Path(__file__).parents[1] / ELSEWHERE[name]).read_text(encoding="utf-8")


# --- memory in another order


def _views(xp: Any, a: Array) -> Iterator[Any]:
    """Yields the same values in every memory layout that views can have."""
    if a.ndim == 0:
        yield xp.asarray(np.stack([a, a]))[1]
        return
    wide = np.repeat(np.repeat(a, 2, axis=0), 2, axis=-1) if a.ndim > 1 else np.repeat(a, 2)
    inner = (slice(None, None, 2),) * (a.ndim > 1) + (..., slice(1, None, 2))
    yield xp.asarray(wide)[inner]  # strided, from an offset
    yield xp.asarray(a[::-1].copy())[::-1]  # a negative stride
    yield xp.asarray(a[..., ::-1].copy())[..., ::-1]
    if a.ndim > 1:
        yield xp.asarray(a.T.copy()).T  # Fortran's order
        yield xp.asarray(np.swapaxes(a, 0, -1)[..., ::-1, :].copy())[..., ::-1, :].swapaxes(0, -1)
    yield xp.broadcast_to(xp.asarray(a[:1]), a.shape)  # a stride of zero


#: 1-d, square and 3-d arrays with repeats, small because all functions run on them.
ARRAYS = [sample("float64", (4,), 3), sample("float64", (3, 3), 4), sample("int64", (2, 3, 2), 5)]


#: The tested views; on a GPU each one compiles its own kernel.
SOME = {0, 3} if DEVICE != "cpu" else set(range(6))


@pytest.mark.parametrize("name", CALLS)
def test_layouts(name: str) -> None:
    accident = ACCIDENTS.get(name, ACCIDENTS.get(name.split()[0], lambda a: False))
    every(
        ((a.dtype.name, a.shape, i), same(CALLS[name], host, device, 1e-10 if DEVICE == "cpu" else 2e-5))
        for a in (ARRAYS[1:2] if DEVICE != "cpu" else ARRAYS)
        if not accident(a)
        for i, (host, device) in enumerate(zip(_views(np, a), _views(cp, a), strict=True))
        if i in SOME
        if not (name in LINALG and (a.ndim < 2 or np.linalg.matrix_rank(host).min() < host.shape[-1]))
    )


# --- bad arguments

#: Pairs of shapes that do not broadcast, or that few functions of two arrays accept.
SHAPES = [((3,), (4,)), ((2, 3), (2,)), ((2, 3), (3, 2)), ((), (3,)), ((0,), (3,)), ((0, 3), (3, 0)), ((1,), (0,))]
DTYPES = [("int8", "uint8"), ("bool", "int32"), ("float32", "complex64"), ("int64", "float32"), ("uint64", "int64")]
#: Functions that accept only integers, whose shapes are tested with integers.
OF_INTEGERS = {
    "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "lcm", "ldexp",
    "left_shift", "right_shift", "take_along_axis", "repeat",
}  # fmt: skip
TWO = sorted({name.split()[0] for name in BINARY} | {
    "bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift", "power", "pow", "ldexp", "tensordot",
    "matvec", "vecmat", "polydiv", "linalg.cross", "linalg.matmul", "linalg.outer", "linalg.vecdot", "linalg.solve",
    "linalg.lstsq", "linalg.tensorsolve", "linalg.tensordot", "take_along_axis", "searchsorted", "digitize", "compress",
    "extract", "setdiff1d", "broadcast_arrays", "meshgrid", "shares_memory", "repeat",
})  # fmt: skip
#: Cases in which NumPy's result is an accident of its implementation.
TWO_ACCIDENTS: set[tuple[str, Any]] = {("polydiv", ((2, 3), (3, 2)))}  # polynomials are not 2-d


def _pair(name: str, a: Array, b: Array) -> Callable[[], None]:
    return lambda: alike(lambda xp: function(xp, name)(xp.asarray(a), xp.asarray(b)), rtol=2e-5, atol=2e-5)  # fmt: skip


@pytest.mark.parametrize("name", TWO)
def test_shapes_that_do_not_fit(name: str) -> None:
    dtype = "int64" if name in OF_INTEGERS else "float64"
    every(
        (shapes, _pair(name, sample(dtype, shapes[0], 1), sample(dtype, shapes[1], 2, 0, 2)))  # indices are in bounds
        for shapes in SHAPES
        if (name, shapes) not in TWO_ACCIDENTS
    )


@pytest.mark.parametrize("name", TWO)
def test_dtypes_that_differ(name: str) -> None:
    every(
        (dtypes, _pair(name, sample(dtypes[0], (3,), 1, 1, 4), sample(dtypes[1], (3,), 2, 1, 3)))
        for dtypes in DTYPES
        if (name, dtypes) not in TWO_ACCIDENTS
    )


#: Matrices that decompositions must reject or handle.
MATRICES: dict[str, Array] = {
    "scalar": np.array(2.0), "vector": np.array([1.0, 2]), "wide": sample("float64", (2, 3)),
    "tall": sample("float64", (3, 2)),
    "empty": np.zeros((0, 0)), "no rows": np.zeros((0, 3)), "no columns": np.zeros((3, 0)),
    "no matrices": np.zeros((0, 2, 2)),
    "singular": np.ones((2, 2)), "zero": np.zeros((2, 2)), "one": np.array([[4.0]]), "bool": np.eye(2, dtype=bool),
    "integers": np.array([[2, 1], [1, 3]]), "half": np.eye(2, dtype="float16"), "single": np.eye(2, dtype="complex64"),
}  # fmt: skip


MATRIX_ACCIDENTS = {
    ("linalg.tensorinv", "scalar"),  # a shape that reshape() lacks
    ("linalg.cond", "singular"),  # the smallest singular value is rounding error
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_that_do_not_fit(kind: str) -> None:
    every((name, same(call, MATRICES[kind])) for name, call in LINALG.items() if (name, kind) not in MATRIX_ACCIDENTS)


#: Functions that do not read the NaN of a matrix.
BLIND = {"linalg.cross", "linalg.outer", "linalg.matrix_rank", "linalg.matrix_transpose", "linalg.diagonal"}


@pytest.mark.parametrize("name", LINALG)
def test_matrices_that_are_not_finite(name: str) -> None:
    """They terminate with LinAlgError or with values; NaN propagates."""
    for value in (np.nan, np.inf):
        try:
            result = LINALG[name](cp, cp.asarray([[2.0, 1, 0], [1, value, 1], [0, 1, 3]]))
            hosts = [part.get() for part in (result if isinstance(result, tuple) else (result,))]
        except np.linalg.LinAlgError:
            continue
        assert name in BLIND or np.isinf(value) or any(np.isnan(host).any() for host in hosts)


LINES: dict[str, Array] = {
    "scalar": np.array(2.0), "one": np.array([3.0]), "empty": np.zeros(0), "empty matrix": np.zeros((3, 0)),
    "bool": np.eye(3, dtype=bool),
    "not finite": np.array([1.0, np.nan, np.inf, 2]), "integers": np.arange(12).reshape(3, 4),
    "cube": sample("complex64", (2, 2, 3)),
}  # fmt: skip
TRANSFORM_OPTIONS: list[dict[str, Any]] = [
    {"n": 0}, {"n": -1}, {"n": 2.5}, {"n": "x"}, {"axis": 5}, {"axis": -5}, {"axis": 1.5}, {"axis": "x"},
    {"norm": "bogus"}, {"norm": 1},
    {"s": (0,)}, {"s": (-2, 1)}, {"s": (1, 2, 3, 4)}, {"s": 3}, {"axes": (0, 5)}, {"axes": (0, 0)}, {"axes": ()},
    {"out": np.zeros((7, 7), complex)}, {"out": np.zeros((3, 4), "float32")},
]  # fmt: skip


@pytest.mark.parametrize("kind", LINES)
def test_lines_that_do_not_fit(kind: str) -> None:
    calls = {name: call for name, call in FFT.items() if not (kind == "scalar" and "shift" in name)}
    every((name, same(call, LINES[kind])) for name, call in calls.items())  # NumPy unpacks the axes of a scalar


@pytest.mark.parametrize("name", sorted({name.split()[0] for name in FFT}))
def test_options_of_transforms_that_do_not_fit(name: str) -> None:
    known = inspect.signature(function(cp, name)).parameters.keys()

    def call(xp: Any, x: Any, options: dict[str, Any]) -> Any:
        return function(xp, name)(x, **{k: xp.asarray(v) if k == "out" else v for k, v in options.items()})

    a = sample("float64", (3, 4))
    every(
        (options, same(lambda xp, x, options=options: call(xp, x, options), a))
        for options in TRANSFORM_OPTIONS
        if options.keys() <= known
        and not (options.keys() == {"out"} and name in ("fft.hfft", "fft.ifft2", "fft.irfft2"))  # NumPy forgets it
    )


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_do_not_fit(name: str) -> None:
    shown: Callable[[Any], Any] = {  # for results that cannot be compared directly
        "empty": lambda a: a.shape, "iinfo": lambda info: info.max, "ndindex": list, "meshgrid": list,
    }.get(name, lambda result: result)  # fmt: skip
    every(
        (arguments, same(lambda xp, x, arguments=arguments: shown(function(xp, name)(*arguments)), 0, 0, 1e-10))
        for arguments in NUMBERS[name]
    )


@pytest.mark.parametrize("name", NOT_IN_NUMPY)
def test_names_that_numpy_does_not_have(name: str) -> None:
    ours, theirs = NOT_IN_NUMPY[name]
    a = sample("float64", (2, 3), 1, 1, 5)
    compare(lambda: theirs(np, a), lambda: ours(cp, cp.asarray(a)), rtol=1e-10, atol=0)


#: Functions that accept any object.
ANYTHING = {"isscalar", "iterable", "may_share_memory", "shares_memory", "array_equiv", "ndim", "shape", "size"}


@pytest.mark.parametrize("name", [name for name in public() if name not in {*ELSEWHERE, *NUMBERS, *ANYTHING}])
def test_non_array_objects_raise(name: str) -> None:
    """Devices hold only numbers; other objects raise, unlike in NumPy's object arrays."""
    call = function(cp, name)
    count = call.nin if isinstance(call, cp.ufunc) else max(1, len(_required(call)))

    def refused(bad: Any) -> None:
        with pytest.raises((TypeError, ValueError)):
            call(*[bad] * count)

    every((bad, lambda bad=bad: refused(bad)) for bad in ("x", object(), {"a": 1}, [[[1, 2], [3]]]))


def _required(call: Any) -> list[inspect.Parameter]:
    """Returns the positional parameters without a default."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in inspect.signature(call).parameters.values() if p.default is p.empty and p.kind in places]
