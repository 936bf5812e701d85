"""Functions of arrays on a device that is not the default one, and what threads set for themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _core, torch
from cuprous.scipy import special
from tests.arrays.test_every_function import TABLE
from tests.conftest import DEVICE
from tests.support import to_host

#: Where a GPU is the default device, the CPU; elsewhere a second CPU.
OTHER = _core.stand_in_device() if DEVICE == "cpu" else "cpu"
#: Functions that create arrays, which a program calls with the device.
_CREATION = {
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "empty",
    "eye",
    "full",
    "identity",
    "linspace",
    "ones",
    "zeros",
}


class There:
    """`cuprous`, but arrays are created on the other device."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(cp, name)
        return (lambda *args, **more: function(*args, **{"device": OTHER, **more})) if name in _CREATION else function


def _arrays(result: Any) -> Iterator[Any]:
    for part in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(part, cp.ndarray):
            yield part


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLE)
def test_functions_of_arrays(name: str) -> None:
    call, there = TABLE[name], There()
    for dtype in ("float32", "int32"):
        a = np.arange(12).reshape(3, 4).astype(dtype)
        try:
            expected = call(np, a)
        except Exception:
            continue
        result = call(there, cp.asarray(a, device=OTHER))
        assert [part.device_name for part in _arrays(result)] == [OTHER] * len([*_arrays(result)])
        if isinstance(result, cp.ndarray) and isinstance(expected, (np.ndarray, np.generic)):
            expected = np.sort(expected) if name == "unique_values" else expected  # in no particular order
            np.testing.assert_allclose(to_host(result), expected, rtol=1e-4, atol=1e-5)


def test_indices_on_another_device_are_an_error() -> None:
    """Also indices that are not computed yet, of which few are read at once."""
    a = cp.arange(5.0, device=OTHER)
    for index in (cp.arange(2), cp.asarray([1, 0]), cp.arange(3) + 1):
        for call in (lambda: a[index], lambda: a.take(index), lambda: a.__setitem__(index, 0)):  # noqa: B023
            with pytest.raises(RuntimeError, match="to be on the same device"):
                call()
    np.testing.assert_array_equal(a.get(), np.arange(5.0))


def _in_turns(first: list[Callable[[], Any]], second: list[Callable[[], Any]]) -> list[BaseException]:
    """Runs the steps of two threads: all of the first, each followed by one of the second."""
    turns, failed = threading.Barrier(2, timeout=30), []

    def run(steps: list[Callable[[], Any]], is_second: bool) -> None:
        try:
            for step in steps:
                if is_second:
                    turns.wait()
                step()
                if not is_second:
                    turns.wait()
                turns.wait()
        except BaseException as error:
            failed.append(error)
            turns.abort()

    threads = [threading.Thread(target=run, args=each) for each in ((first, False), (second, True))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def _expect(found: Callable[[], Any], expected: Any) -> Callable[[], None]:
    def check() -> None:
        assert found() == expected, (found(), expected)

    return check


def test_a_function_of_an_array_there_concerns_only_its_thread() -> None:
    """Both threads run functions of arrays on another device at once, and end in the order in which they began."""
    a, default = cp.arange(3.0, device=OTHER), cp.get_device()
    before: list[int | None] = []
    enter = lambda: before.append(_core.enter_device_of((a,)))  # noqa: E731
    own, other = _expect(cp.get_device, default), _expect(cp.get_device, OTHER)
    leave = lambda: _core.leave_device(before.pop())  # type: ignore[arg-type]  # noqa: E731
    assert not _in_turns([enter, other, leave, own], [enter, other, other, leave])
    assert not _in_turns([enter, leave, own], [own, enter, leave])
    assert cp.get_device() == default and cp.ones(2).device_name == default


def test_tensors_of_a_thread() -> None:
    """As in PyTorch a default device belongs to the thread that sets it, whether for good or in a `with` block."""
    there, found = torch.device(OTHER), lambda: torch.ones(2).device
    is_cpu, is_there = _expect(found, torch.device("cpu")), _expect(found, there)
    steps = [is_cpu, there.__enter__, is_there, lambda: there.__exit__(None, None, None), is_cpu]
    assert not _in_turns(steps, [lambda: None, *steps[:-1]])
    assert not _in_turns([lambda: torch.set_default_device(OTHER), is_there], [is_cpu, is_cpu])
    is_cpu()
    if torch.cuda.device_count() > 1:
        current = torch.cuda.current_device
        assert not _in_turns([lambda: torch.cuda.set_device(1), _expect(current, 1)], [_expect(current, 0)] * 2)


UFUNCS = {name: f for name in dir(special) if isinstance(f := getattr(special, name), special.SpecialFunction)}
assert len(UFUNCS) > 50
#: Functions that are no ufuncs: what stands before and after the array.
OTHERS: dict[str, tuple[list[int], list[float]]] = {
    "polygamma": ([1], []), "jn": ([2], []), "softmax": ([], []), "log_softmax": ([], []), "logsumexp": ([], []),
    "multigammaln": ([], [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
def test_special_functions(name: str) -> None:
    rows = np.array([[0.3, 0.6, 0.9], [0.5, 0.7, 0.2], [0.4, 0.1, 0.8], [0.2, 0.3, 0.6]])[: UFUNCS[name].nin]
    results = UFUNCS[name](*(cp.asarray(row, device=OTHER) for row in rows))
    for result in results if isinstance(results, tuple) else (results,):
        assert result.device_name == OTHER
        result.get()


@pytest.mark.parametrize("name", OTHERS)
def test_other_special_functions(name: str) -> None:
    first, last = OTHERS[name]
    result = getattr(special, name)(*first, cp.asarray([1.25, 1.5], device=OTHER), *last)
    assert result.device_name == OTHER
    result.get()
