"""Runs a few thousand random programs, and checks that the fuzzers find and shrink planted bugs."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from tests.fuzz.compare import Mismatch, check
from tests.fuzz.generate import generate
from tests.fuzz.gradient_table import CHOICES, VALUES, VIEWS, WRITES
from tests.fuzz.gradients import Generator, names
from tests.fuzz.run import run_seeds

ROOT = Path(__file__).parent.parent
DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")
# On a GPU about ten kernels per program are compiled first; `make gpu-test` runs 10,000 programs on all cores.
AT_LEAST = 200 if DEVICE == "cpu" else 20
#: Instruction sets of CPUs (the best one, AVX2, SSE2) with the first program for each.
LEVELS = [("", 0), ("v3", 1_000_000), ("v1", 2_000_000)] if DEVICE == "cpu" else [("", 0), ("", 1_000_000)]


@pytest.mark.slow
@pytest.mark.parametrize(("level", "first"), LEVELS)
def test_random_programs_agree_with_numpy(level: str, first: int) -> None:
    """Runs in a process without the CUDA compile check, which would leave time for only a few programs."""
    line = [sys.executable, "-m", "tests.fuzz", "--device", DEVICE, "--seed", str(first), "--programs", "4000"]
    line += ["--seconds", "15", "--processes", "1", "--failures", "2"]
    env = os.environ | {"CUPROUS_CHECK_CUDA": "", "CUPROUS_CPU_LEVEL": level}
    done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= AT_LEAST, "too slow to mean anything"


def numpy_with(**replaced: Any) -> types.ModuleType:
    """NumPy as a stand-in for Cuprous, with some functions replaced."""
    fake = types.ModuleType("fake")
    fake.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    fake.__dict__.update(asnumpy=np.array, _core=types.SimpleNamespace(set_replay=lambda mode: None))
    fake.__dict__.update(replaced)
    return fake


def numpy_copies() -> types.ModuleType:
    return numpy_with(asarray=lambda a, dtype=None: np.array(a, dtype))


def test_numpy_agrees_with_itself() -> None:
    fake = numpy_copies()
    with np.errstate(all="ignore"):
        for seed in range(300):
            check(generate(seed), fake)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("cumsum", lambda a, axis: np.cumsum(a, axis) + (np.asarray(a).ndim > 2)),
        ("broadcast_to", lambda a, shape: np.broadcast_to(a, shape).copy()),  # a lost alias
        ("ravel", lambda a: np.ravel(a).copy()),
    ],
)
def test_a_planted_fault_is_found_and_shrunk(name: str, broken: Any) -> None:
    fake = numpy_copies()
    setattr(fake, name, broken)
    with np.errstate(all="ignore"):
        report = run_seeds(range(20_000), fake, ("single",), at_most=1)
    assert report.failures, "the fault was not found"
    text = next(iter(report.failures.values()))
    body = text.split("def program")[1].split("    return")[0]
    assert name in body
    assert body.count("\n") <= 9, text


def test_a_result_of_earlier_extents_is_found() -> None:
    fake = numpy_copies()
    first: dict[int, tuple[int, ...]] = {}

    def stale(a: Any, axis: int, **options: Any) -> Any:
        result = np.cumsum(a, axis, **options)
        return result if options else np.resize(result, first.setdefault(result.ndim, result.shape))

    fake.cumsum = stale  # type: ignore[attr-defined]
    found = []
    for seed in range(20_000):
        program = generate(seed)
        first.clear()
        if sum("cumsum" in line for line in program.lines) == 1:
            with np.errstate(all="ignore"):
                check(program, fake, ("single", "fused", "auto"))
                try:
                    check(program, fake, ("sizes",))
                except Mismatch:
                    found.append(seed)
        if len(found) == 3:
            return
    raise AssertionError("the fault was not found")


def test_a_seed_always_gives_the_same_program() -> None:
    assert generate(17).lines == generate(17).lines
    assert any(generate(n).lines != generate(n + 1).lines for n in range(3))


def gradients(*options: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the gradient fuzzer in a separate process, after some lines of Python."""
    start = "import runpy, sys\nsys.argv[0] = 'gradients'\n"
    line = [sys.executable, "-c", f"{start}{text}\nrunpy.run_module('tests.fuzz.gradients', run_name='__main__')"]
    env = os.environ | {"CUPROUS_CHECK_CUDA": ""}
    return subprocess.run([*line, *options], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_random_gradients_agree_with_differences() -> None:
    done = gradients("--programs", "400", "--seconds", "25", "--seed", "0")
    assert done.returncode == 0, "\n" + done.stdout + done.stderr
    programs, kinks = int(done.stdout.split()[0]), int(done.stdout.split(" without")[0].split()[-1])
    assert programs >= 100, "too slow to mean anything"
    assert kinks < programs / 20, "too many programs without a derivative to mean anything"


#: The planted bug: `save_for_backward` without versions, so that saved values change with later writes.
LIVE = """
from cuprous import _core
_core.t_save = lambda t: type("Live", (), {"tensor": lambda self: t})()
"""


@pytest.mark.slow
def test_a_planted_fault_in_gradients_is_found_and_shrunk() -> None:
    done = gradients("--programs", "400", "--failures", "1", text=LIVE)
    assert done.returncode == 1, "the fault was not found"
    program = done.stderr.split("def program")[1]
    assert program.count("\n") <= 10, done.stderr


#: Names without a comparable derivative: they return integers, bools, sizes, other types or random numbers.
WITHOUT_DERIVATIVE = """
all allclose any argmax argmin argsort argwhere as_tensor asarray bernoulli bincount bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_shapes bucketize can_cast compile count_nonzero
empty empty_like eq equal eye floor_divide from_dlpack from_numpy full full_like gcd ge greater greater_equal gt
heaviside histc histogram i0 isclose isin isfinite isinf isnan lcm le less less_equal linspace logical_and logical_not
logical_or logical_xor logspace lt ne nextafter nonzero not_equal numel ones ones_like promote_types result_type
searchsorted signbit tril_indices triu_indices unique unique_consecutive vmap zeros zeros_like matrix_rank fftfreq
rfftfreq
alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d rrelu rrelu_ fractional_max_pool2d
fractional_max_pool3d multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm
multi_head_attention_forward load save bartlett_window bitwise_not_ blackman_window empty_strided frombuffer gcd_
hamming_window hann_window i0_ isfinite_ isinf_ isnan_ isneginf isposinf isreal kaiser_window lcm_ logical_not_
scalar_tensor signbit_ sym_ite sym_not typename unravel_index geqrf histogram pca_lowrank svd_lowrank
alpha_dropout_ dropout_ feature_alpha_dropout_ hspmm smm spmm sspaddmm
"""


def test_every_differentiable_function_is_in_the_table() -> None:
    known = names(VIEWS + VALUES + WRITES) | set(WITHOUT_DERIVATIVE.split())
    setting = ("set_", "get_", "is_", "are_", "manual_", "initial_", "seed", "use_", "wrap_", "write_",
               "sparse_", "sym_")  # fmt: skip
    missing = [
        f"{module.__name__}.{name}"
        for module in (torch, torch.nn.functional, torch.linalg, torch.fft)
        for name in sorted({*vars(module), *dir(module)})  # also lazily imported names
        if inspect.isfunction(getattr(module, name)) and name[0].islower() and not name.startswith(setting)
        if name not in known
    ]
    assert not missing, "put them into tests/fuzz/gradient_table.py, or here if they have no derivative"


@pytest.fixture
def _double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_default_dtype(torch.float32)


def _taken(template: str, **chosen: str) -> bool:
    for seed in range(60):
        generator = Generator(seed)
        if template not in WRITES:
            if generator.value(template, **chosen):
                return True
        elif generator.value("{x} * 1.0") and generator.write([], template, **chosen):
            return True
    return False


@pytest.mark.usefixtures("_double")
def test_every_template_is_valid() -> None:
    """A template that is always rejected would silently be in no program."""
    refused = [template for template in VIEWS + VALUES + WRITES if not _taken(template)]
    for name, choices in CHOICES.items():
        using = [template for template in VIEWS + VALUES + WRITES if f"{{{name}}}" in template]
        for choice in () if choices.startswith("(") else choices.split():
            refused += [f"{name}={choice}: {template}" for template in using if not _taken(template, **{name: choice})]
    assert not refused
