"""`cuprous estimate`, as its users run it. The formulas have tests of their own in crates/advisor."""

from __future__ import annotations

import json

import pytest

from .helpers import command

TASK = ("estimate", "--flops", "10TFLOP", "--data", "1GB", "--gpu", "rtx 3080", "--cpu", "10700K")


def answer(*options: str) -> dict[str, object]:
    done = command(*TASK, "--json", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def test_the_simple_formula() -> None:
    """10,000 GFLOP and 1 GB: 25 s on the CPU, 0.8 s and 0.5 s for all else on the GPU."""
    paper = ("--cpu-rate", "400GFLOPS", "--gpu-rate", "12.5TFLOPS", "--bandwidth", "8 GB/s", "--startup", "375 ms")
    got = answer("--simple", *paper)
    assert (got["cpu_seconds"], got["gpu_seconds"]) == (25.0, pytest.approx(1.3))
    assert got["speedup"] == pytest.approx(25 / 1.3)
    assert got["sentence"] == "The GPU is 19.2x faster by the simple formula."


def test_the_roofline() -> None:
    once, often = answer("--matrix"), answer("--matrix", "--repeats", "100")
    assert isinstance(once["speedup"], float)
    assert isinstance(often["speedup"], float)
    assert often["speedup"] > once["speedup"] > 1
    assert often["bound"] == "compute"
    assert isinstance(often["range"], list)
    assert often["range"][0] < often["speedup"] < often["range"][1]
    assert "price" not in often
    assert "price" in answer("--energy-price", "0.3")


def test_in_words() -> None:
    done = command(*TASK)
    assert done.returncode == 0
    assert "RTX 3080" in done.stdout
    assert "\x1b" not in done.stdout
    small = command("estimate", "--flops", "1k", "--gpu", "l4", "--cpu", "5600X")
    assert "The CPU is faster for this task" in small.stdout


def test_lists_name_their_sources() -> None:
    lists = json.loads(command("estimate", "--list", "--json").stdout)
    assert (len(lists["gpus"]), len(lists["cpus"])) == (20, 8)
    for row in lists["gpus"] + lists["cpus"]:
        assert all(figure["address"].startswith("https://") for figure in row["figures"]), row["name"]
    assert "H200 SXM" in command("estimate", "--list").stdout


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--flops", "ten"), "ten"),
        (("--flops", "1e999"), "operations"),
        (("--flops", "nan"), "operations"),
        (("--data", "-1"), "bytes to the GPU"),
        (("--gpu", "voodoo"), "voodoo"),
        (("--parallel", "2"), "parallel"),
        (("--repeats", "0"), "repeats"),
        (("--gpus", "1.5"), "GPUs"),
        (("--cpu-rate", "1"), "--simple"),
        (("--dtype", "float8"), "float8"),
    ],
)
def test_bad_input_is_named(options: tuple[str, str], named: str) -> None:
    given = {"--flops": "1T", "--gpu": "l4", "--cpu": "5600X"} | dict([options])
    done = command("estimate", *(f"{name}={value}" for name, value in given.items()))
    assert done.returncode == 2
    assert named in done.stderr
    assert "panicked" not in done.stderr
    assert done.stdout == ""
