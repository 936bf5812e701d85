"""Tests `cp.estimate_scaling`: the simulated schedule of data-parallel training."""

from __future__ import annotations

from typing import Any

import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous._tools.scaling import FABRICS, NETWORKS, Link, all_reduce_seconds, buckets, main, simulate

NVLINK, NDR = FABRICS["nvlink4"], NETWORKS["ndr"]
EXACT = Link(100e9, 0.0, "a test")


@pytest.mark.parametrize(("gpus", "milliseconds"), [(2, 1.34), (4, 2.01), (8, 2.35)])
def test_an_all_reduce_takes_what_its_bandwidth_says(gpus: int, milliseconds: float) -> None:
    """497 MB at a bus bandwidth of 370 GB/s, and latency on top."""
    seconds = all_reduce_seconds(497e6, gpus, 1, NVLINK, NDR)
    assert seconds == pytest.approx(milliseconds * 1e-3, rel=0.01)
    assert all_reduce_seconds(4, gpus, 1, NVLINK, NDR) < 20e-6


def test_hosts_exchange_parts() -> None:
    """Each GPU of a host has its part of the bytes on the network, unless the host's GPUs share one link."""
    assert all_reduce_seconds(8e9, 16, 2, Link(1e30, 0, ""), EXACT) == pytest.approx(0.01)
    assert all_reduce_seconds(8e9, 16, 2, Link(1e30, 0, ""), Link(100e9, 0, "", of_host=True)) == pytest.approx(0.08)
    assert all_reduce_seconds(8e9, 2, 2, EXACT, EXACT) == pytest.approx(0.08)


def test_gradients_are_sent_as_they_become_complete() -> None:
    sent = buckets([1 << 20] * 60)
    assert [size >> 20 for size, _ in ((int(s), r) for s, r in sent)] == [1, 25, 25, 9]
    assert [ready for _, ready in sent] == pytest.approx([1 / 60, 26 / 60, 51 / 60, 1])
    assert buckets([1e9], last=5.0) == [(1e9, 1.0), (5.0, 1.0)]


def test_the_schedule() -> None:
    """A transfer waits for its bucket and for the one before; the optimizer waits for all."""
    parts = (1.0, 2.0, 0.5)
    link = Link(1.0, 0.0, "")  # 2 GPUs: as many seconds as bytes

    def run(*sent: tuple[float, float]) -> tuple[float, ...]:
        return simulate(parts, sent, 2, 1, link, link)

    # Transfers beside the backward pass slow it down by 15 % of their time.
    assert run((0.5, 0.5), (0.1, 1.0)) == pytest.approx((3.6 + 0.075, 0.6, 0.1))
    assert run((1.5, 0.5), (0.1, 1.0)) == pytest.approx((1 + (2 + 0.225) / 2 + 1.6 + 0.5, 1.6, 0.6 - 0.225 / 2))
    assert run((0.3, 1.0)) == pytest.approx((3.8, 0.3, 0.3))
    assert simulate(parts, [(1.0, 1.0)], 1, 1, link, link) == (3.5, 0.0, 0.0)


def test_a_gpt_on_8_gpus_and_64_hosts() -> None:
    """The figures of docs/guides/multi-gpu.md: what is complete last limits them."""
    got = cp.estimate_scaling("27.3 ms", "343 MB", last="154 MB", gpus=[8], hosts=[1, 64])
    one, all_ = got.rows
    assert (one.gpus, all_.gpus, all_.hosts) == (8, 512, 64) and got.gradients == pytest.approx(497e6)
    assert 0.95 < one.efficiency < 0.98 and 0.90 < all_.efficiency < one.efficiency
    assert "MB, which are complete at its end" in one.limit
    assert 0 < one.exposed < one.transfer and one.seconds > 27.3e-3 + one.exposed
    text = repr(got)
    assert text.count("not measured here") == 2 and "nccl-tests#309" in text
    assert got.sentence.startswith("512 GPUs on 64 hosts pay: ")
    # Everything sent after the backward pass: 27.3 / 29.65 ms.
    whole = cp.estimate_scaling("27.3 ms", "497 MB", gpus=[8], bucket="1 GB")
    assert whole.rows[0].efficiency == pytest.approx(0.92, abs=0.01)


def test_when_more_do_not_pay() -> None:
    slow = cp.estimate_scaling(1e-3, "500 MB", gpus=[1], hosts=[2, 64], network="25gbe")
    assert slow.sentence.startswith("More GPUs do not pay: ")
    assert slow.rows[0].limit == "sending takes longer than the backward pass"
    fixed = cp.estimate_scaling("27.3 ms", "497 MB", gpus=[2, 8], hosts=[1, 64], strong=True)
    assert fixed.sentence.startswith("8 GPUs pay: ") and "512 GPUs on 64 hosts" not in fixed.sentence.split(".")[0]
    assert all(row.speedup < row.gpus for row in fixed.rows)
    assert cp.estimate_scaling(1.0, 1e3, gpus=[1]).rows[0].speedup == 1


def test_modules_and_estimates_are_taken() -> None:
    net = torch.nn.Linear(1000, 1000)
    step = cp.estimate(lambda: net(torch.ones(8, 1000)))
    got = cp.estimate_scaling(step, net, gpus=[2])
    assert got.gradients == 4 * 1_001_000 and got.step == (step.gpu or step.cpu).seconds


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"step": "27"}, "step"),
        ({"step": 0.0}, "must be positive"),
        ({"gradients": "many"}, "gradients"),
        ({"gradients": []}, "gradients is empty"),
        ({"gpus": [0]}, "numbers from 1 on"),
        ({"fabric": "nvlink9"}, "fabric 'nvlink9' is unknown; it is one of nvlink4, "),
        ({"parts": (1, 2)}, "three shares"),
        ({"gradients": torch.nn.ReLU()}, "no parameter"),
    ],
)
def test_what_cannot_be_is_an_error(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        cp.estimate_scaling(**({"step": 0.1, "gradients": 1e6} | given))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--step", "27.3ms", "--gradients", "343MB", "--last", "154MB", "--hosts", "1,64"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "one GPU: 27.3 ms a step, 497 MB of gradients" and lines[2].split()[:2] == ["2", "GPUs"]
    assert lines[1].split() == ["a", "step", "speed-up", "efficiency", "limited", "by"]
    assert main(["--step", "fast", "--gradients", "1MB"]) == 2
    assert capsys.readouterr().err.startswith("cuprous scaling: step")
    assert main(["--step", "1ms"]) == 2
