"""Tests every public function of `cuprous.scipy` with bad and unusual input: unsupported shapes and dtypes, empty
arrays, 0-d arrays, NaN and infinity, memory in another order. SciPy is the
oracle.

A new function needs a row in tests/inputs/scipy_rows.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.inputs.scipy_exemptions import ACCIDENTS
from tests.inputs.scipy_rows import CALLS, ELSEWHERE, NUMBERS, OURS, THEIRS, Call, public
from tests.inputs.test_bad_input import every
from tests.support import assert_same, materialized, outcome, sample, to_host

Array = np.ndarray[Any, Any]

#: Inputs of every function.
INPUTS: dict[str, Array] = {
    "vector": sample("float64", (6,), 3), "square": sample("float64", (4, 4), 4), "wide": sample("float64", (3, 5), 5),
    "cube": sample("float64", (2, 3, 4), 6), "scalar": np.array(2.0), "empty": np.zeros(0),
    "no rows": np.zeros((0, 3)), "one": np.array([1.5]), "one by one": np.array([[2.0]]),
    "nan": np.array([1, np.nan, 2, 0.5, 3, 4.0]), "inf": np.array([1, np.inf, 2, 0.5, -np.inf, 4.0]),
    "integers": sample("int64", (6,), 7), "int32": sample("int32", (4, 4), 8, 0, 4),
    "uint8": sample("uint8", (4, 4), 2), "bool": sample("bool", (6,), 2),
    "complex": sample("complex128", (6,), 1), "complex64": sample("complex64", (4, 4), 1),
    "float32": sample("float32", (4, 4), 1), "shares": np.array([0.1, 0.2, 0.35, 0.5, 0.75, 0.95]),
}  # fmt: skip
if DEVICE != "cpu":  # each call compiles its own kernels
    INPUTS = {kind: INPUTS[kind] for kind in ("square", "scalar", "empty", "nan")}
#: Computed here in float64. SciPy's precision depends on its version: half, single or unsupported.
NARROW = {"uint8", "bool"}
TOLERANCE = {"complex64": 3e-5, "float32": 3e-5, "bool": 3e-5, "uint8": 3e-3}


def test_every_function_has_a_row() -> None:
    rows = {name.split()[0] for name in (*CALLS, *NUMBERS, *ELSEWHERE)}
    assert set(public()) - rows == set(), "functions without a row in tests/inputs/scipy_rows.py"
    assert rows - set(public()) == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_rows_tested_elsewhere_exist(name: str) -> None:
    path = Path(__file__).parents[1] / "scipy" / ELSEWHERE[name]
    assert name.rsplit(".", 1)[1] in path.read_text(encoding="utf-8")


def _not_finite(x: Any) -> bool:
    """Returns true if a result has NaN or infinity."""
    if isinstance(x, (tuple, list)):
        return any(map(_not_finite, x))
    host = np.asarray(to_host(x))
    return host.dtype.kind in "fc" and not np.isfinite(host).all()


def check(kind: str, theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    """Asserts equal results or related errors. If SciPy raises depending on values, ours may return NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = outcome(theirs), outcome(lambda: materialized(ours()))
    if isinstance(actual, NotImplementedError):
        return
    if isinstance(expected, Exception):
        if kind in NARROW and not isinstance(actual, Exception):
            return
        if kind in ("nan", "inf") and isinstance(expected, ValueError) and not isinstance(actual, Exception):
            assert _not_finite(actual), f"SciPy raises {expected!r}, ours gives {actual!r}"
            return
        if kind in ("complex", "complex64") and isinstance(actual, (TypeError, ValueError)):
            return
        assert isinstance(actual, Exception), f"SciPy raises {expected!r}, ours gives {actual!r}"
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        assert related, f"SciPy raises {expected!r}, ours {actual!r}"
        return
    if isinstance(actual, TypeError) and kind in ("complex", "complex64"):
        return
    if isinstance(actual, Exception):
        raise actual
    tolerance = TOLERANCE.get(kind, 1e-8)
    assert_same(actual, expected, rtol=tolerance, atol=tolerance, dtype=kind not in NARROW)


def _call(call: Call, host: Array, device: Any, kind: str) -> None:
    check(kind, lambda: call(THEIRS, host), lambda: call(OURS, device))


@pytest.mark.parametrize("name", CALLS)
def test_odd_input(name: str) -> None:
    accidents = ACCIDENTS.get(name, ACCIDENTS.get(name.split()[0], ""))
    every(
        (kind, partial(_call, CALLS[name], a, cp.asarray(a), kind))
        for kind, a in INPUTS.items()
        if kind not in accidents
    )


def _views(a: Array) -> Iterator[tuple[str, Any]]:
    """Yields the same values in other memory orders."""
    wide = np.repeat(a, 2, axis=-1)
    yield "strided", cp.asarray(wide)[..., 1::2]
    yield "negative stride", cp.asarray(a[::-1].copy())[::-1]
    if a.ndim > 1:
        yield "negative strides", cp.asarray(a[..., ::-1, ::-1].copy())[..., ::-1, ::-1]
        yield "Fortran's order", cp.asarray(np.asfortranarray(a).T.copy()).T


@pytest.mark.skipif(DEVICE != "cpu", reason="each view is a kernel of its own; layouts are the engine's")
@pytest.mark.parametrize("name", CALLS)
def test_layouts(name: str) -> None:
    """Our result for a view equals that for a copy, and the operand is unchanged."""
    for a in (INPUTS["shares"], INPUTS["square"]):
        expected = outcome(lambda a=a: materialized(CALLS[name](OURS, cp.asarray(a))))
        for label, view in _views(a):
            actual = outcome(lambda view=view: materialized(CALLS[name](OURS, view)))
            if isinstance(expected, Exception):
                assert type(actual) is type(expected), f"{label}: {actual!r} instead of {expected!r}"
            elif isinstance(actual, Exception):
                raise actual
            else:
                assert_same(actual, to_host(expected), rtol=1e-7, atol=1e-9, message=label)
            np.testing.assert_array_equal(view.get(), a, err_msg=f"{label}: the operand changed")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_do_not_fit(name: str) -> None:
    module, function = name.rsplit(".", 1)

    def call(sp: Any, arguments: Any) -> Any:
        result = getattr(getattr(sp, module.replace(".", "_")), function)(*arguments)
        return result.toarray() if module == "sparse" else result

    every(
        (arguments, partial(check, "", partial(call, THEIRS, arguments), partial(call, OURS, arguments)))
        for arguments in NUMBERS[name]
        if arguments not in ACCIDENTS.get(name, ())
    )


#: Filters with an `output`, with their arguments after the array.
_SIGMA = (
    "gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace", "fourier_ellipsoid",
    "fourier_gaussian", "fourier_shift", "fourier_uniform", "shift",
)  # fmt: skip
_SIZE = (
    "uniform_filter", "uniform_filter1d", "maximum_filter1d", "minimum_filter1d", "maximum_filter", "minimum_filter",
    "median_filter", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "black_tophat", "white_tophat",
    "morphological_gradient", "morphological_laplace",
)  # fmt: skip


def _doubled(line: Any, result: Any) -> None:
    result[:] = 2 * line


def _moved(place: tuple[int, ...]) -> tuple[float, ...]:
    return tuple(0.9 * i for i in place)


FILTERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(_SIGMA, (1.5,)), **dict.fromkeys(_SIZE, (3,)), "percentile_filter": (30, 3),
    "rank_filter": (1, 3), "convolve1d": ([0.5, 1, 0.25],),
    "correlate1d": ([0.5, 1, 0.25],), "convolve": (np.ones((3, 3)),), "correlate": (np.ones((3, 3)),),
    "affine_transform": (np.eye(2) * 0.9,),
    "generic_filter": (np.ptp, 3), "generic_filter1d": (_doubled, 1), "geometric_transform": (_moved,),
    **dict.fromkeys(("laplace", "prewitt", "sobel", "spline_filter", "spline_filter1d", "binary_closing",
                     "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss", "binary_opening",
                     "binary_propagation"), ()),
}  # fmt: skip
#: Views of one array: operand and output.
OVERLAPS = {
    "itself": (np.s_[:], np.s_[:]), "backwards": (np.s_[:], np.s_[::-1]), "ahead": (np.s_[1:], np.s_[:-1]),
    "behind": (np.s_[:-1], np.s_[1:]), "columns backwards": (np.s_[:, ::-1], np.s_[:]),
}  # fmt: skip


@pytest.mark.skipif(DEVICE != "cpu", reason="each view is a kernel of its own; what overlaps is the engine's business")
@pytest.mark.parametrize("name", FILTERS)
def test_output_may_overlap(name: str) -> None:
    function = getattr(OURS.ndimage, name)
    arguments = [cp.asarray(v) if isinstance(v, np.ndarray) else v for v in FILTERS[name]]
    start = np.abs(sample("float64", (8, 6), 3))
    start = start > 2 if name.startswith("binary") else start.astype("complex128" if "fourier" in name else "float64")
    for label, (source, target) in OVERLAPS.items():
        expected = function(cp.asarray(start[source]), *arguments).get()
        both = cp.asarray(start)
        function(both[source], *arguments, output=both[target])
        np.testing.assert_allclose(both[target].get(), expected, rtol=1e-12, atol=1e-12, err_msg=label)
