"""Tests `cuprous estimate` as users run it. crates/advisor tests the formulas."""

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
    """10,000 GFLOP and 1 GB take 25 s on the CPU; on the GPU 0.8 s of computing and 0.5 s for the rest."""
    paper = ("--cpu-rate", "400GFLOPS", "--gpu-rate", "12.5TFLOPS", "--bandwidth", "8 GB/s", "--startup", "375 ms")
    got = answer("--simple", *paper)
    assert (got["cpu_seconds"], got["gpu_seconds"]) == (25.0, pytest.approx(1.3))
    assert got["speedup"] == pytest.approx(25 / 1.3)
    assert got["sentence"] == "The GPU is 19.2x faster by the simple formula."
    assert "roofline" not in got


def test_the_simple_formula_needs_no_listed_gpu() -> None:
    """Both worked examples with only their figures; the first is printed as in the article."""
    network = ("--flops", "10,000 GFLOPS", "--data", "1GB", "--cpu-rate", "400 GFLOPS", "--gpu-rate", "12.5 TFLOPS")
    done = command("estimate", "--simple", *network, "--bandwidth", "8 GB/s", "--startup", "375 ms")
    assert done.returncode == 0, done.stderr
    assert "The GPU is 19.2x faster by the simple formula." in done.stdout
    assert "Figures: CPU: 400 GFLOPS as given; GPU: 12.5 TFLOPS as given." in done.stdout
    paths = ("--flops", "120,000 GFLOP", "--cpu-rate", "400G", "--gpu-rate", "30T", "--startup", "500 ms")
    done = command("estimate", "--simple", *paths)
    assert "The GPU is 66.7x faster by the simple formula." in done.stdout, done.stderr


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
    price = answer("--gpu-price", "4")["price"]
    assert isinstance(price, list)
    assert price[0] is None
    assert price[1] > 0
    assert "data sheets, 80 % of the peak (matrix products)" in str(often["figures"])


def test_in_words() -> None:
    done = command(*TASK)
    assert done.returncode == 0
    assert "RTX 3080" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Figures: CPU: data sheets" in done.stdout
    small = command("estimate", "--flops", "1k", "--gpu", "l4", "--cpu", "5600X")
    assert "The CPU is faster for this task, by about" in small.stdout
    assert " 0.0x" not in small.stdout
    rent = command(*TASK, "--gpu-price", "4").stdout
    assert "Cost unknown on the CPU (--cpu-price), 0.0" in rent


@pytest.mark.parametrize(("columns", "longest"), [("50", 50), ("200", 80), ("1", 40), ("none", 80)])
def test_bars_fit_the_terminal(columns: str, longest: int) -> None:
    """Lines of bars are no longer than the terminal, down to bars of 4 characters."""
    lines = [line for line in command(*TASK, COLUMNS=columns).stdout.splitlines() if "█" in line]
    assert len(lines) == 2
    assert max(map(len, lines)) <= longest
    bars = [line.count("█") for line in lines]
    assert max(bars) == {"50": 27, "1": 4}.get(columns, 48) and min(bars) >= 1


def test_a_gpu_without_float64() -> None:
    task = ("estimate", "--flops", "10T", "--data", "1GB", "--cpu", "5600X", "--gpu", "Arc A770")
    assert command(*task).returncode == 0
    done = command(*task, "--dtype", "float64")
    assert done.returncode == 2
    assert "the Intel Arc A770 cannot compute in float64; use float32, or name another GPU" in done.stderr


def test_lists_name_their_sources() -> None:
    lists = json.loads(command("estimate", "--list", "--json").stdout)
    assert (len(lists["gpus"]), len(lists["cpus"])) == (74, 8)
    for row in lists["gpus"] + lists["cpus"]:
        assert all(figure["address"].startswith("https://") for figure in row["figures"]), row["name"]
    text = command("estimate", "--list").stdout
    assert "H200 SXM" in text
    marked = [line.split("  ")[0] for line in text.splitlines() if line.endswith("*")]
    others = ["Intel Max 1550", "Intel Arc B580", "Intel Arc B570"]
    narrow = ["Intel Arc A380", "Intel Arc A750", "Intel Arc A770"]
    narrow += ["Apple M1 Max", "Apple M1 Ultra 48-core", "Apple M2 Ultra 76-core"]
    narrow += ["Apple M3 Max 40-core", "Apple M3 Ultra 80-core", "Apple M4 Max 40-core"]
    assert marked == ["GTX 1080", "V100 SXM2", "V100 PCIe", *others, *narrow]
    assert [line[:23].rstrip() for line in text.splitlines() if line[23:33].strip() == "-"] == narrow
    uncompiled = ["MI355X", "RX 7600 XT", "RX 7600", "RX 7700 XT", "RX 7800 XT", "RX 9060 XT"]
    amd = ["MI250X", "MI300X", "MI325X", *uncompiled[:-1], "RX 7900 XTX", "RX 7900 XT", "RX 7900 GRE"]
    amd += [uncompiled[-1], "RX 9070 XT", "RX 9070"]
    assert [line.split("  ")[0] for line in text.splitlines() if line.endswith("+")] == amd
    remarks = {row["name"]: row.get("remark") for row in lists["gpus"]}
    assert [name for name, remark in remarks.items() if remark and "not yet run on AMD" in remark] == [
        name for name in amd if name not in uncompiled
    ]
    assert {remarks[name] for name in uncompiled} == {"simulated; not yet compiled for, nor run on AMD hardware"}
    assert "compute capability 7.5" in text and "not yet run on AMD hardware" in text


def test_an_estimate_for_a_gpu_of_amd_says_that_it_has_not_run() -> None:
    task = ("estimate", "--flops", "100T", "--data", "1GB", "--cpu", "EPYC 7763")
    amd, nvidia = (command(*task, "--gpu", gpu).stdout for gpu in ("MI300X", "H200"))
    assert "(compiled for and simulated; not yet run on AMD hardware)" in amd and "AMD hardware" not in nvidia
    assert "not supported" in command(*task, "--gpu", "Intel Max 1550").stdout


@pytest.mark.parametrize(
    ("written", "flops"),
    [("10_000G", 1e13), ("10 000 GFLOP", 1e13), ("10,000 GFLOPS", 1e13), ("5 tflop", 5e12), ("1e13", 1e13)],
)
def test_quantities_as_people_write_them(written: str, flops: float) -> None:
    rates = ("--cpu-rate", "1G", "--gpu-rate", "1G")
    done = command(
        "estimate", "--simple", "--json", "--flops", written, "--data", "1GiB", "--bandwidth", "1GiB", *rates
    )
    report = json.loads(done.stdout)
    assert (report["cpu_seconds"], report["latency_seconds"]) == (flops / 1e9, 1.0)


def test_names_as_people_write_them() -> None:
    assert "RTX 3080" in command("estimate", "--flops", "1T", "--gpu", "rtx3080", "--cpu", "10700k").stdout


@pytest.mark.parametrize(("options", "named"), [
    (("--flops", "ten"), "ten"), (("--flops", "1e999"), "too large"), (("--flops", "nan"), "nan"),
    (("--flops", "400"), "write 400 GFLOP"), (("--flops", "10,00 G"), "10,000"), (("--data", "1,5GB"), "1.5 GB"),
    (("--data", "1 mB"), "M mega"), (("--gpu", "RTX"), "RTX 3080, RTX 3090"),
    (("--gpus", "0"), "number of GPUs is 0"), (("--data", "-1 GB"), "bytes to the GPU"),
    (("--gpu", "voodoo"), "voodoo"), (("--parallel", "2"), "parallel"), (("--repeats", "0"), "repeats"),
    (("--gpus", "1.5"), "GPUs"), (("--cpu-rate", "1G"), "--simple"), (("--dtype", "float8"), "float8"),
])  # fmt: skip
def test_bad_input_is_named(options: tuple[str, str], named: str) -> None:
    given = {"--flops": "1T", "--gpu": "l4", "--cpu": "5600X"} | dict([options])
    done = command("estimate", *(f"{name}={value}" for name, value in given.items()))
    assert done.returncode == 2
    assert named in done.stderr
    assert "panicked" not in done.stderr
    assert done.stdout == ""
