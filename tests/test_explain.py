"""`explain()` names changes of a step and their line; `show_code()` shows the code, also CUDA C++ without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.robust.helpers import output

X = np.arange(1.0, 6.0)


def last_line() -> str:
    """Returns the explanation of the last program, without the lines about copies that follow it."""
    return next(
        line for line in reversed(cp.explain().splitlines()) if not line.startswith(("copied", "implicitly", "read"))
    )


def step(x: Any, function: Any, scale: float = 1.0) -> float:
    return float(function(cp.exp(x) * scale).sum())


def test_a_repeated_step_is_counted() -> None:
    x = cp.asarray(X)
    for n in range(5):
        step(x, cp.tanh, float(n))
    assert "replayed" in last_line()
    assert int(last_line().split("replayed ")[1][:-1]) >= 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda x: step(x, cp.cosh), "operation 3 of 4 differs from last time: cosh instead of sinh"),
        (lambda x: step(cp.asarray(np.arange(7.0)), cp.sinh), "exp with another shape or dtype"),
        (lambda x: step(cp.asarray(X.astype("float32")), cp.sinh), "exp with another shape or dtype"),
        (lambda x: float(cp.sinh(cp.exp(x) * 2.0).sum() + 1), "5 operations instead of 4"),
    ],
    ids=["function", "shape", "dtype", "length"],
)
def test_what_changed_in_a_repeated_step(changed: Any, words: str) -> None:
    x = cp.asarray(X)
    cp.synchronize()
    for _ in range(4):
        step(x, cp.sinh)
    changed(x)
    planned = [line for line in cp.explain().splitlines() if "planned anew" in line][-1]
    assert words in planned


def test_what_changed_with_alternating_steps() -> None:
    x = cp.asarray(X)
    for _ in range(4):
        step(x, cp.arcsinh)
        step(x, cp.arctan)
    step(x, cp.expm1)  # in place of the first one
    assert "expm1 instead of arcsinh" in [line for line in cp.explain().splitlines() if "planned anew" in line][-1]


def test_the_line_is_named() -> None:
    code = f"""
        import cuprous as cp
        cp.set_device({DEVICE!r})
        x = cp.ones(5)
        for n in range(5):
            y = cp.exp(x) * 2
            y = cp.cos(y) if n == 4 else cp.sin(y)
            float(y.sum())
        print(cp.explain())
    """
    text = output(code, CUPROUS_PLACES="1")
    assert "cos instead of sin" in text
    assert "<string>:7" in next(line for line in text.splitlines() if "cos instead" in line)


def test_code_of_pending_and_finished_programs() -> None:
    x = cp.asarray(X)
    cp.synchronize()
    waiting = cp.show_code(cp.log1p(x) * 3)
    assert "log1p" in waiting
    float(cp.arctan(x).sum())
    after = cp.show_code()
    assert "atan" in after or "arctan" in after
    assert "log1p" not in after


def test_cuda_code_needs_no_gpu() -> None:
    """The CUDA C++ has one kernel with all operations."""
    x = cp.asarray(X)
    cp.synchronize()
    y = cp.sqrt(cp.exp(x) + 1)
    code = cp.show_code(y, device="cuda")
    assert code.count("__global__") == 1
    assert "sqrt" in code
    assert "exp" in code
    assert "threadIdx.x" in code
    np.testing.assert_allclose(cp.asnumpy(y), np.sqrt(np.exp(X) + 1), rtol=1e-14)  # inspection has no side effects
    float((cp.exp(x) / cp.exp(x).sum()).max())
    assert "__global__" in cp.show_code(device="cuda")


def test_unknown_device_raises() -> None:
    with pytest.raises(ValueError, match="tpu"):
        cp.show_code(cp.ones(3), device="tpu")
