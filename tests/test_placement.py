"""Tests `set_device("auto")` with a second CPU as a stand-in for a GPU: placement, and equal values on any device."""

from __future__ import annotations

import os

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.robust.helpers import output

#: The stand-in is rated twenty times as fast, with cheap copies and launches, so that work often moves.
STAND_IN = """
import numpy as np
import cuprous as cp
cp._core.stand_in_auto(20.0, {copies}, 1e-6)
cp.set_device("auto")
assert cp.get_device() == "auto"
"""


def run(code: str, copies: str = "1e10") -> str:
    import textwrap

    return output(STAND_IN.format(copies=copies) + textwrap.dedent(code))


@pytest.mark.skipif(DEVICE != "cpu", reason="for machines without a GPU")
def test_without_a_gpu_work_stays_on_the_cpu() -> None:
    code = """
    import cuprous as cp, cuprous.torch as torch
    cp.set_device("auto")
    torch.set_default_device("auto")
    print(cp.get_device(), torch.ones(2).device, float(cp.ones(3).sum()))
    print(cp.explain().splitlines()[-1])
    """
    lines = output(code).splitlines()
    assert lines[0] == "cpu cpu 3.0"
    assert lines[1] == "auto: everything runs on the CPU: no GPU was found"


def test_placement_moves_once_and_explains() -> None:
    got = run(
        """
        y = cp.asarray(np.random.default_rng(0).random(1_000_000))
        for _ in range(60):
            z = float((cp.exp(y) * 2).sum())
        np.testing.assert_allclose(z, (np.exp(y.get()) * 2).sum(), rtol=1e-12)
        lines = [line for line in cp.explain().splitlines() if line.startswith("auto")]
        moves = [line for line in lines if "copied there first" in line]
        print(len(moves), "ran on stand-in" in moves[0], lines[-1].count("stand-in"))
        """
    )
    assert got == "1 True 2"


def test_values_are_the_same_wherever_it_runs() -> None:
    """Random programs of writes, views and reads, with arrays on one device or on both."""
    got = run(
        """
        rng = np.random.default_rng(1)
        mine = [rng.random((50, 400)) for _ in range(4)]
        theirs = [cp.asarray(a) for a in mine]
        places = set()
        for step in range(600):
            i, j = rng.integers(0, 4, 2)
            kind = rng.integers(0, 8)
            if kind == 0:
                mine[i] = mine[i] * 0.5 + mine[j]; theirs[i] = theirs[i] * 0.5 + theirs[j]
            elif kind == 1:
                mine[i][5:9] = mine[j][6:10] * 0.25; theirs[i][5:9] = theirs[j][6:10] * 0.25
            elif kind == 2:
                mine[i] /= 1 + abs(mine[i]).max(); theirs[i] /= 1 + abs(theirs[i]).max()
            elif kind == 3:
                np.testing.assert_allclose(float(theirs[i].sum()), mine[i].sum(), rtol=1e-9)
            elif kind == 4:
                mine[i] = np.sort(mine[i], axis=1); theirs[i] = cp.sort(theirs[i], axis=1)
            elif kind == 5:
                mine[i] = mine[i] @ mine[j].T @ mine[i] * 1e-4; theirs[i] = theirs[i] @ theirs[j].T @ theirs[i] * 1e-4
            elif kind == 6:
                mine[i] = mine[i][::-1].copy(); theirs[i] = theirs[i][::-1]
            else:
                mine[i] = np.exp(-abs(mine[i])); theirs[i] = cp.exp(-abs(theirs[i]))
            if step % 50 == 49:
                for a, b in zip(mine, theirs):
                    np.testing.assert_allclose(b.get(), a, rtol=1e-7, atol=1e-12)
                lines = cp.explain()
                places |= {word for word in ("on cpu:", "on stand-in:") if word in lines}
        print(sorted(places))
        """
    )
    assert got == "['on cpu:', 'on stand-in:']"


def test_training_with_tensors() -> None:
    got = run(
        """
        import cuprous.torch as torch
        torch.set_default_device("auto")
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x = torch.randn(500, 20)
        y = x.sum(1, keepdim=True)
        losses = []
        for _ in range(60):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            losses.append(loss.item())
        print(x.device, losses[-1] < losses[0] / 5)
        """
    )
    assert got == "auto True"


def test_address_requests_raise_with_advice() -> None:
    got = run(
        """
        x = cp.ones(5)
        asks = lambda: x.__cuda_array_interface__, lambda: np.from_dlpack(x), lambda: x.data.ptr
        for ask in asks:
            try:
                ask()
            except NotImplementedError as e:
                print("to_device" in str(e))
        try:
            x + x.to_device("cpu")
        except ValueError as e:
            print("same device" in str(e))
        print(float((x.to_device("cpu") + 1).sum()), x.device)
        """
    )
    assert got.split() == ["True"] * 4 + ["10.0", "auto"]


def test_unknown_devices_are_named() -> None:
    with pytest.raises(ValueError, match="auto"):
        cp.set_device("automatic")
    np.testing.assert_array_equal((cp.ones(2) + 1).get(), [2, 2])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has run the program before the signal comes")
def test_interrupted_program_resumes_on_its_device() -> None:
    got = run(
        """
        import math, os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        x = cp.ones(20_000_000)
        p = cp.zeros(20_000_000)
        cp.synchronize()
        y, want = x, 1.0
        for _ in range(16):
            y = cp.sin(y) + cp.cos(y) * cp.exp(y * 1e-3)
            p += 1
            want = math.sin(want) + math.cos(want) * math.exp(want * 1e-3)
        threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            print(float(y[0]))
        except KeyboardInterrupt:
            print("interrupted")
        x[:] = 5  # what is left of the program reads it as it was
        print(abs(float(y[0]) - want) < 1e-9, abs(float(y[-1]) - want) < 1e-9, float(p.min()), float(p.max()))
        """
    )
    assert got.splitlines() == ["interrupted", "True True 16.0 16.0"]
