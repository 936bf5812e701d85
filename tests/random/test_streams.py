"""Tests random streams: known answers, reproducibility, seeds, states, spawning, sharing between threads."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _core
from cuprous import asnumpy as host
from cuprous.random import Generator, Philox4x3210, RandomState, default_rng
from cuprous.random._bits import mix, splitmix64
from tests.robust.helpers import output


def test_philox_known_answers() -> None:
    """From the authors' kat_vectors: key and counter zero; the 64-bit words are pairs of these, low word first."""
    words = host(_core.random("random_bits32", (4,), 0, 0)).tolist()
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert host(_core.random("random_bits64", (2,), 0, 0)).tolist() == [0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C]
    assert Philox4x3210(0).random_raw() == 0xE169C58D6627E8D5


def philox(key: int, block: int) -> list[int]:
    """Philox4x32-10 in plain Python, from the paper."""
    c = [block & 0xFFFFFFFF, block >> 32, 0, 0]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k1, p & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


@pytest.mark.parametrize("key", [1, 0xDEADBEEF, 0x0123456789ABCDEF, (1 << 64) - 1])
@pytest.mark.parametrize("offset", [0, 7, (1 << 32) - 2, 1 << 40])
def test_words_follow_the_paper(key: int, offset: int) -> None:
    expected = [w for block in range(offset, offset + 3) for w in philox(key, block)]
    assert host(_core.random("random_bits32", (3, 4), key, offset)).reshape(-1).tolist() == expected
    pairs = [low | high << 32 for low, high in zip(expected[::2], expected[1::2], strict=True)]
    assert host(_core.random("random_bits64", (6,), key, offset)).tolist() == pairs


def test_uniforms_are_the_high_bits() -> None:
    words = host(_core.random("random_bits64", (100,), 5, 3))
    np.testing.assert_array_equal(host(_core.random("random_unit64", (100,), 5, 3)), (words >> 11) * 2.0**-53)
    words = host(_core.random("random_bits32", (100,), 5, 3))
    np.testing.assert_array_equal(host(_core.random("random_unit32", (100,), 5, 3)), (words >> 8) * 2.0**-24)


def test_a_seed_gives_the_same_draws_again() -> None:
    def draws(rng: Generator) -> list[np.ndarray]:
        return [
            host(d)
            for d in (
                rng.random(5), rng.standard_normal((2, 3), dtype=np.float32), rng.integers(0, 1000, 7),
                rng.gamma(2.5, size=4), rng.poisson(3.0, 5), rng.binomial(10, 0.3, 4), rng.permutation(10),
            )
        ]  # fmt: skip

    for a, b in zip(draws(default_rng(7)), draws(default_rng(7)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(draws(default_rng(7))[0], draws(default_rng(8))[0])


def test_draws_do_not_overlap() -> None:
    rng = default_rng(3)
    values = [v for n in (1, 2, 3, 4, 5, 1) for v in host(rng.random(n)).tolist()]
    assert len(set(values)) == len(values)
    words = [v for n in (1, 3, 4, 5) for v in host(rng.integers(0, 1 << 32, n, dtype=np.uint32)).tolist()]
    assert len(set(words)) == len(words)


def test_shape_does_not_change_the_values() -> None:
    np.testing.assert_array_equal(host(default_rng(1).random((3, 4))).reshape(-1), host(default_rng(1).random(12)))


def test_no_seed_means_a_new_one() -> None:
    assert not np.array_equal(host(default_rng().random(4)), host(default_rng().random(4)))


def test_seeds() -> None:
    assert Philox4x3210(12).key == 12
    assert Philox4x3210(np.int64(12)).key == 12
    assert Philox4x3210([1, 2]).key == mix([1, 2]) == Philox4x3210((1, 2)).key == Philox4x3210(np.array([1, 2])).key
    assert len({mix(s) for s in ([], [0], [0, 0], [1], [1, 0], [0, 1], [1 << 64], [0, 0, 1])}) == 8
    assert Philox4x3210(1 << 64).key == mix([1 << 64])
    assert Philox4x3210(np.random.SeedSequence(3)).key == int(np.random.SeedSequence(3).generate_state(1, "uint64")[0])
    assert splitmix64(0) == 0xE220A8397B1DCDAF  # first output of the reference implementation for seed 0
    for bad in (-1, [1, -1]):
        with pytest.raises(ValueError, match="non-negative"):
            default_rng(bad)
    for odd in (1.5, "seed", [1.5], object()):
        with pytest.raises(TypeError):
            default_rng(odd)


def test_default_rng_keeps_generators() -> None:
    rng = default_rng(1)
    assert default_rng(rng) is rng
    bits = Philox4x3210(1)
    assert default_rng(bits).bit_generator is bits
    with pytest.raises(TypeError, match="BitGenerator"):
        Generator(5)  # type: ignore[arg-type]


def test_state_can_be_restored() -> None:
    rng = default_rng(9)
    rng.random(10)
    state = rng.bit_generator.state
    first = host(rng.standard_normal(6))
    rng.bit_generator.state = state
    np.testing.assert_array_equal(host(rng.standard_normal(6)), first)
    assert state["bit_generator"] == "Philox4x3210"
    for bad, error in (({"bit_generator": "MT19937"}, ValueError), (5, TypeError)):
        with pytest.raises(error):
            rng.bit_generator.state = bad  # type: ignore[assignment]


def test_pickle_keeps_the_position() -> None:
    for rng in (default_rng(4), RandomState(4)):
        rng.uniform(size=3)
        twin = pickle.loads(pickle.dumps(rng))
        np.testing.assert_array_equal(host(rng.normal(size=5)), host(twin.normal(size=5)))


def test_spawned_streams_differ_and_repeat() -> None:
    first, second = default_rng(5).spawn(2)
    again = default_rng(5).spawn(1)[0]
    a, b, c = (host(rng.random(8)) for rng in (first, second, again))
    np.testing.assert_array_equal(a, c)
    assert not np.isin(a, b).any()
    parent = default_rng(5)
    keys = [child.bit_generator.key for _ in range(3) for child in parent.spawn(2)]
    assert len(set(keys)) == 6
    with pytest.raises(ValueError):
        parent.spawn(-1)


def test_libraries_spawn_from_the_seed_sequence() -> None:
    """It is the one that was given, or one of the key: seeds repeat, and children differ."""
    given = np.random.SeedSequence(7)
    assert Philox4x3210(given).seed_seq is given
    one, two = Philox4x3210(3), Philox4x3210(3)
    assert one.seed_seq.entropy == 3 and one.seed_seq is one.seed_seq
    keys = [Philox4x3210(child).key for child in one.seed_seq.spawn(2)]
    assert keys == [Philox4x3210(child).key for child in two.seed_seq.spawn(2)] and len({*keys, 3}) == 3


def test_advance_and_jumped() -> None:
    ahead = default_rng(2)
    ahead.bit_generator.advance(3)
    np.testing.assert_array_equal(host(ahead.random(4)), host(default_rng(2).random(10))[6:])
    assert Philox4x3210(2).jumped(3).state["state"] == {"key": 2, "counter": 3 << 48}
    assert Philox4x3210(2).advance(-1).offset == (1 << 64) - 1


def test_random_raw_may_skip_its_words() -> None:
    bits, other = Philox4x3210(5), Philox4x3210(5)
    assert bits.random_raw(7, output=False) is None
    other.random_raw(7)
    assert bits.random_raw() == other.random_raw()


def test_the_bit_generator_of_the_module() -> None:
    before = cp.random.get_bit_generator()
    try:
        cp.random.set_bit_generator(Philox4x3210(13))
        np.testing.assert_array_equal(host(cp.random.rand(3)), host(RandomState(13).rand(3)))
        with pytest.raises(TypeError, match="Philox4x3210"):
            cp.random.set_bit_generator(np.random.PCG64(1))  # type: ignore[arg-type]
    finally:
        cp.random.set_bit_generator(before)


def test_names_of_numpys() -> None:
    """Every name of numpy.random exists, except its own bit generators."""
    absent = {name for name in np.random.__all__ if not hasattr(cp.random, name)}
    assert absent == {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
    with pytest.raises(AttributeError, match="counter-based"):
        _ = cp.random.PCG64
    for ours, theirs in ((Generator, np.random.Generator), (RandomState, np.random.RandomState)):
        assert {name for name in dir(theirs) if name[0] != "_"} <= set(dir(ours))


def test_threads_share_a_generator_without_repeats() -> None:
    rng, seen = default_rng(6), []

    def work() -> None:
        seen.extend(host(rng.random(2)).tolist() for _ in range(100))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({tuple(v) for v in seen}) == 400


def test_legacy_functions_share_one_state() -> None:
    cp.random.seed(11)
    first = host(cp.random.rand(3)), host(cp.random.randn(2, 2)), host(cp.random.randint(0, 9, 4))
    cp.random.seed(11)
    again = host(cp.random.random(3)), host(cp.random.standard_normal((2, 2))), host(cp.random.randint(9, size=4))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    state = cp.random.get_state()
    a = host(cp.random.normal(1.0, 2.0, 5))
    cp.random.set_state(state)
    np.testing.assert_array_equal(host(cp.random.normal(1.0, 2.0, 5)), a)
    cp.random.set_random_state(RandomState(12))
    np.testing.assert_array_equal(host(cp.random.rand(3)), host(RandomState(12).rand(3)))
    assert cp.random.get_random_state().get_state()["state"]["key"] == 12
    cp.random.reset_states()
    with pytest.raises(TypeError):
        cp.random.set_random_state(5)
    with pytest.raises(NotImplementedError, match="legacy"):
        cp.random.get_random_state().get_state(legacy=True)


def test_a_draw_of_normals_is_one_native_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("random", "map", "cast", "update", "from_numpy"):
        native = getattr(_core, name)
        monkeypatch.setattr(_core, name, lambda *a, _f=native, _n=name, **k: (calls.append(_n), _f(*a, **k))[1])
    default_rng(0).standard_normal(1000, dtype=np.float32)
    default_rng(0).random((10, 10))
    assert calls == ["random", "random"]


@pytest.mark.skipif(_core.device_count() == 0, reason="needs a GPU")
@pytest.mark.parametrize("name", [f"random_{kind}{bits}" for kind in ("bits", "unit", "normal") for bits in (32, 64)])
def test_devices_agree_bit_for_bit(name: str) -> None:
    before = _core.get_device()
    values = []
    for device in ("cpu", "cuda"):
        _core.set_device(device)
        values.append(host(_core.random(name, (100_003,), 77, 5)))
    _core.set_device(before)
    assert values[0].tobytes() == values[1].tobytes()


def test_nothing_here_imports_numpy() -> None:
    code = (
        "import sys, cuprous as cp, cuprous.scipy.ndimage, cuprous.scipy.special as special\n"
        "rng = cp.random.default_rng(0)\n"
        "rng.normal(1.0, 2.0, size=5, dtype='float32'); rng.integers(0, 9, 5); special.erf(rng.random(3))\n"
        "assert 'numpy' not in sys.modules"
    )
    output(code)


@pytest.mark.parametrize("kind", [cp.random.XORWOW, cp.random.MRG32k3a])
def test_names_of_cupys_bit_generators(kind: Any) -> None:
    """They have the stream of Philox4x3210, of which `spawn`, `jumped` and pickles stay of their class."""
    one = kind(5)
    assert Generator(one).random(4).tolist() == default_rng(5).random(4).tolist()
    assert [type(each) for each in (*one.spawn(2), one.jumped(), pickle.loads(pickle.dumps(one)))] == [kind] * 4
