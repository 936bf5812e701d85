"""Linear systems and their responses against SciPy's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal as _signal
from tests.support import assert_errors

signal: Any = _signal  # whose systems get operators and attributes from tables
theirs = pytest.importorskip("scipy.signal")

FORMS: dict[str, tuple[Any, ...]] = {
    "TransferFunction": (np.asarray([1.0, 0.5]), np.asarray([1.0, 0.4, 0.3])),
    "ZerosPolesGain": (np.asarray([-0.5]), np.asarray([-0.2, 0.3]), 2.0),
    "StateSpace": (np.asarray([[-0.5, 0.1], [0.2, -0.3]]), np.asarray([[1.0], [0.5]]), np.asarray([[1.0, 2.0]]),
                   np.asarray([[0.1]])),
}  # fmt: skip


def device(args: Any) -> tuple[Any, ...]:
    return tuple(cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args)


def same(ours: Any, other: Any) -> None:
    if isinstance(other, tuple):
        for mine, one in zip(ours, other, strict=True):
            same(mine, one)
        return
    assert isinstance(ours, cp.ndarray) == isinstance(other, np.ndarray)
    np.testing.assert_allclose(cp.asnumpy(ours), other, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_systems(form: str) -> None:
    for discrete in (False, True):
        keywords: dict[str, Any] = {"dt": 0.1} if discrete else {}
        mine = getattr(signal, form)(*device(FORMS[form]), **keywords)
        other = getattr(theirs, form)(*FORMS[form], **keywords)
        assert isinstance(mine, getattr(signal, form))
        assert isinstance(mine, signal.dlti) == discrete and isinstance(mine, signal.lti) != discrete
        assert repr(mine) == repr(other).replace("scipy.signal", "scipy.signal") and mine.dt == other.dt
        for name in {"TransferFunction": "num den", "ZerosPolesGain": "zeros poles", "StateSpace": "A B C D"}[
            form
        ].split():
            same(getattr(mine, name), getattr(other, name))
        same(mine.poles, other.poles)
        for conversion in ("to_tf", "to_zpk", "to_ss"):
            converted, expected = getattr(mine, conversion)(), getattr(other, conversion)()
            assert type(converted).__name__ == type(expected).__name__
            same(converted.poles, expected.poles)
        for again in (pickle.loads(pickle.dumps(mine)), type(mine).__mro__[1](mine)):
            assert again is not mine and type(again) is type(mine)
            same(again.poles, other.poles)
        n = {"n": 20} if discrete else {"N": 20}
        for method, options in (("bode", {"n": 9}), ("freqresp", {"n": 9}), ("impulse", n), ("step", n)):
            same(getattr(mine, method)(**options), getattr(other, method)(**options))
    generic = getattr(signal, "dlti" if discrete else "lti")(*device(FORMS[form]))
    assert isinstance(generic, getattr(signal, form))


def test_responses() -> None:
    times, u = np.linspace(0, 3, 30), np.sin(np.arange(30.0))
    for system in FORMS.values():
        here = device(system)
        same(signal.lsim(here, cp.asarray(u), cp.asarray(times)), theirs.lsim(system, u, times))
        for name in ("impulse", "step"):
            same(getattr(signal, name)(here, T=cp.asarray(times)), getattr(theirs, name)(system, T=times))
        for name in ("bode", "freqresp"):
            same(getattr(signal, name)(here, w=cp.asarray(times[1:])), getattr(theirs, name)(system, w=times[1:]))
        sampled, own = (*system, 0.1), (*here, 0.1)
        same(signal.dlsim(own, cp.asarray(u)), theirs.dlsim(sampled, u))
        for name in ("dimpulse", "dstep", "dbode", "dfreqresp"):
            same(getattr(signal, name)(own, n=12), getattr(theirs, name)(sampled, n=12))


def test_arithmetic_and_sampling() -> None:
    a, x = signal.StateSpace(*device(FORMS["StateSpace"])), theirs.StateSpace(*FORMS["StateSpace"])
    for mine, other in (
        (a + a, x + x), (a - a, x - x), (a * a, x * x), (2 * a, 2 * x), (a / 2, x / 2), (-a, -x),
        (np.float64(3) * a, np.float64(3) * x), (a.to_discrete(0.1), x.to_discrete(0.1)),
        (signal.cont2discrete(a, 0.1), theirs.cont2discrete(x, 0.1)),
    ):  # fmt: skip
        assert type(mine).__name__ == type(other).__name__
        for name in "ABCD":
            same(getattr(mine, name), getattr(other, name))
    a.B = cp.asarray([[2.0], [3.0]])
    same(a.B, np.asarray([[2.0], [3.0]]))


def test_bad_input() -> None:
    continuous, discrete = signal.lti([1.0], [1.0, 1.0]), signal.dlti([1.0], [1.0, 0.5])
    assert_errors(
        (lambda: signal.lti(1.0), ValueError), (lambda: signal.dlti(1, 1, 1, 1, 1), ValueError),
        (lambda: signal.dimpulse(continuous), AttributeError), (lambda: signal.dfreqresp(continuous), AttributeError),
        (lambda: signal.freqresp(discrete), AttributeError),
        (lambda: signal.lsim(discrete, [1.0], [0.0]), AttributeError),
        (lambda: continuous.num + discrete.A, AttributeError),
    )  # fmt: skip
