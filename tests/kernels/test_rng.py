"""Tests `cuda.random` against the published algorithms and against Numba."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cuda import random

MASK = (1 << 64) - 1
Pair = tuple[int, int]


def rotl(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


def step(state: Pair) -> Pair:
    """Advances the generator as published by Blackman and Vigna, with rotations 55, 14, 36."""
    s0, s1 = state
    s1 ^= s0
    return rotl(s0, 55) ^ s1 ^ (s1 << 14 & MASK), rotl(s1, 36)


def jump(state: Pair) -> Pair:
    """Advances by 2**64 steps, as published."""
    t0 = t1 = 0
    for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
        for bit in range(64):
            if word >> bit & 1:
                t0, t1 = t0 ^ state[0], t1 ^ state[1]
            state = step(state)
    return t0, t1


def split_mix(seed: int) -> int:
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def pairs(states: random.States) -> list[Pair]:
    return [(int(s["s0"]), int(s["s1"])) for s in states.copy_to_host()]


@pytest.mark.parametrize(("n", "seed", "start"), [(1, 0, 0), (2, 1, 0), (37, MASK, 0), (5, 99, 7), (0, 3, 0)])
def test_states_are_those_of_the_published_algorithm(n: int, seed: int, start: int) -> None:
    state = (split_mix(seed), split_mix(seed))
    for _ in range(start):
        state = jump(state)
    expected = []
    for _ in range(n):
        expected.append(state)
        state = jump(state)
    assert pairs(random.create_xoroshiro128p_states(n, seed, subsequence_start=start)) == expected


def test_jump_ahead_reaches_distant_states() -> None:
    far = random.create_xoroshiro128p_states(300, seed=-1, subsequence_start=1 << 40)
    near = random.create_xoroshiro128p_states(1, seed=MASK, subsequence_start=(1 << 40) + 299)
    assert pairs(far)[299:] == pairs(near)
    assert len(set(pairs(far))) == len(far) == 300
    again = random.States(300)
    again.copy_to_device(far.copy_to_host())
    assert pairs(again) == pairs(far)


@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(0, 8, 4):
            out[i, k] = cuda.random.xoroshiro128p_uniform_float32(states, i)
            out[i, k + 1] = random.xoroshiro128p_uniform_float64(states, i)
            out[i, k + 2] = random.xoroshiro128p_normal_float32(states, i)
            out[i, k + 3] = random.xoroshiro128p_normal_float64(states, i)


def test_draws_match_numba() -> None:
    """The expected values are drawn by Numba 0.68.1's simulator from seed 42, starting at sequence 5."""
    expected = [
        [0.3929583430290222, 0.013723888230359305, 2.231766648581848, -0.8081029221135883,
         0.8351267576217651, 0.22385278611228554, 1.4857870324431763, -0.6847168039868424],
        [0.20413357019424438, 0.9626297799139111, 0.3586199056952775, -2.2316534117896913,
         0.4723392724990845, 0.29774640881323344, 0.3198129693094341, -0.8613786796241626],
    ]  # fmt: skip
    out = np.zeros((2, 8))
    draw[1, 32](random.create_xoroshiro128p_states(2, 42, subsequence_start=5), out)
    uniform = [0, 1, 4, 5]
    np.testing.assert_array_equal(out[:, uniform], np.array(expected)[:, uniform])
    np.testing.assert_allclose(out, expected, rtol=2e-6)


def test_raw_numbers_and_jumps_in_a_kernel() -> None:
    @cuda.jit
    def raw(states, out):
        random.init_xoroshiro128p_state(states, 0, 17)
        for k in range(4):
            out[k] = random.xoroshiro128p_next(states, 0)
        random.xoroshiro128p_jump(states, 0)

    states = random.create_xoroshiro128p_states(1, 0)
    out = cp.zeros(4, cp.uint64)
    raw[1, 1](states, out)
    state = (split_mix(17), split_mix(17))
    for value in out.get():
        assert int(value) == sum(state) & MASK
        state = step(state)
    assert pairs(states) == [jump(state)]


PHILOX = [
    ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("words", "expected"), PHILOX)
def test_philox_is_as_published(words: list[int], expected: list[int]) -> None:
    """The expected values are the known answers of Random123."""

    @cuda.jit
    def kernel(w, out):
        out[0], out[1], out[2], out[3] = random.philox4x32(w[0], w[1], w[2], w[3], w[4], w[5])

    out = np.zeros(4, np.uint32)
    kernel[1, 1](np.array(words, np.uint32), out)
    assert out.tolist() == expected


def test_philox_needs_no_states() -> None:
    @cuda.jit
    def kernel(seed, out):
        i = cuda.grid(1)
        if i < out.shape[1]:
            out[0, i] = random.philox_uniform_float32(seed, i, 3)
            out[1, i] = random.philox_uniform_float64(seed, i, 3)
            out[2, i] = random.philox_normal_float32(seed, i, 3)
            out[3, i] = random.philox_normal_float64(seed, i, 3)

    out = np.zeros((4, 20000))
    kernel.forall(20000)(7, out)
    assert out[:2].min() >= 0
    assert out[:2].max() < 1
    np.testing.assert_allclose(out.mean(1), [0.5, 0.5, 0, 0], atol=0.03)
    np.testing.assert_allclose(out.std(1), [12**-0.5, 12**-0.5, 1, 1], atol=0.03)
    assert len(np.unique(out[1])) == 20000
