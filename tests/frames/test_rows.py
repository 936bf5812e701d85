"""Routines on rows agree with plain loops of Python, on the device and composed of others."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _core
from cuprous.frames.columns import composed, rows

pytest.importorskip("polars")

SIZES = (0, 1, 33, 4_097, 70_003)


@pytest.fixture(params=["device", "composed"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test with the device's routines, and with those that are composed of others."""
    if request.param == "composed":
        monkeypatch.setattr(_core, "has_table_routines", lambda _: False)
    elif not _core.has_table_routines(cp.zeros(1)):
        pytest.skip("the device has no routines on rows")


def group(keys: list[int], mask: list[bool]) -> tuple[list[int], list[int]]:
    """The number of each row's group, and first rows."""
    known: dict[int, int] = {}
    first: list[int] = []
    ids = []
    for row, (key, inside) in enumerate(zip(keys, mask, strict=True)):
        if not inside:
            ids.append(-1)
            continue
        if key not in known:
            known[key] = len(first)
            first.append(row)
        ids.append(known[key])
    return ids, first


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("domain", [1, 50, 10**6, None])
def test_rows_are_numbered_in_the_order_of_their_groups(size: int, domain: int | None) -> None:
    random = np.random.default_rng(size)
    ends = (0, domain) if domain is not None else (-(2**63), 2**63 - 1)
    keys = random.integers(*ends, size)
    if domain is None and size > 1:
        keys[random.integers(0, size, size // 2)] = keys[0]
    for mask in (None, random.random(size) < 0.7, np.zeros(size, "bool")):
        want, first = group(keys.tolist(), [True] * size if mask is None else mask.tolist())
        found = rows.group_ids(cp.asarray(keys), domain, None if mask is None else cp.asarray(mask))
        assert found.groups == len(first)
        np.testing.assert_array_equal(cp.asnumpy(found.ids), np.array(want, "int64"))
        np.testing.assert_array_equal(cp.asnumpy(found.first), np.array(first, "int64"))


def values_of(dtype: str, size: int, random: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return random.random(size) < 0.5
    if np.dtype(dtype).kind == "f":
        found = random.integers(-9, 9, size).astype(dtype)
        found[random.random(size) < 0.1] = np.nan
        found[random.random(size) < 0.05] = np.inf
        return found
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize(("size", "groups"), [(0, 2), (1, 1), (500, 7), (5_000, 4_999), (70_003, 3), (70_003, 9_000)])
def test_groups_are_aggregated(dtype: str, size: int, groups: int) -> None:
    random = np.random.default_rng(size + groups)
    ids, values = random.integers(-1, groups, size), values_of(dtype, size, random)
    for mask in (None, random.random(size) < 0.5):
        taken = (ids >= 0) & (True if mask is None else mask)
        got = rows.group_aggregate(
            cp.asarray(ids), groups, ("sum", "count", "min", "max", "first", "last"), cp.asarray(values),
            None if mask is None else cp.asarray(mask),
        )  # fmt: skip
        chosen, at = values[taken], ids[taken]
        count = np.bincount(at, minlength=groups)
        numbers = np.flatnonzero(taken)
        first, last = np.full(groups, -1), np.full(groups, -1)
        first[at[::-1]], last[at] = numbers[::-1], numbers
        with np.errstate(all="ignore"):
            total = np.zeros(groups, "float64" if chosen.dtype.kind == "f" else "int64")
            np.add.at(total, at, chosen.astype(total.dtype))
        want = {"sum": total, "count": count, "first": first, "last": last}
        for name, expected in want.items():
            np.testing.assert_array_equal(cp.asnumpy(got[name]), expected, err_msg=name)
        for name, ufunc in (("min", np.fmin), ("max", np.fmax)):
            present = count > 0
            extreme = [ufunc.reduce(chosen[at == g]) for g in np.flatnonzero(present)[:50]]
            found = cp.asnumpy(got[name])[present][:50]
            np.testing.assert_array_equal(found, np.array(extreme, found.dtype), err_msg=name)


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize(("left_size", "right_size"), [(0, 3), (3, 0), (40, 30), (4_097, 700), (70_003, 66_000)])
@pytest.mark.parametrize("domain", [1, 9, 50_000])
def test_rows_with_equal_keys_are_paired(left_size: int, right_size: int, domain: int) -> None:
    if domain * 1_000 < left_size:
        pytest.skip("too many pairs")
    random = np.random.default_rng(left_size + domain)
    left, right = (random.integers(-1, domain, size) for size in (left_size, right_size))
    partners: dict[int, list[int]] = {}
    for row, key in enumerate(right.tolist()):
        partners.setdefault(key, []).append(row)
    partners.pop(-1, None)
    of_row = [partners.get(key, []) for key in left.tolist()]
    arrays = cp.asarray(right), cp.asarray(left)
    found = rows.join_match(*arrays, domain)
    np.testing.assert_array_equal(cp.asnumpy(found.first), np.array([p[0] if p else -1 for p in of_row], "int64"))
    counts = [len(p) for p in of_row]
    assert found[1:] == (sum(counts), sum(c > 0 for c in counts), max(counts, default=0))
    for keep_left in (False, True):
        pairs = [(row, p) for row, ps in enumerate(of_row) for p in (ps or [-1] * keep_left)]
        got = rows.join_pairs(*arrays, domain, found, keep_left)
        for k in (0, 1):
            np.testing.assert_array_equal(cp.asnumpy(got[k]), np.array([pair[k] for pair in pairs], "int64"))


def test_random_programs_of_routines_agree() -> None:
    """Groups of groups, aggregates of them and joins of the results: the device's routines beside composed ones."""
    if not _core.has_table_routines(cp.zeros(1)):
        pytest.skip("the device has no routines on rows")
    for seed in range(40):
        random = Random(seed)
        data = np.random.default_rng(seed)
        size = random.choice([1, 5, 600, 70_001])
        keys = cp.asarray(data.integers(0, random.choice([1, 6, size, 10**12]), size))
        values = cp.asarray(data.integers(-99, 99, size))
        mask = cp.asarray(data.random(size) < random.random()) if random.random() < 0.5 else None
        results: list[Any] = []
        for module in (rows, composed):
            ids, first, count = module.group_ids(keys, None, mask)
            sums = module.group_aggregate(ids, count, ("sum", "last"), values, None)
            again = module.group_ids(abs(sums["sum"]) % 7, 7, None)
            codes, end = again[0].astype("int64"), max(1, again[2])
            matches = module.join_match(codes[: count // 2], codes, end)
            results.append([ids, first, sums["sum"], sums["last"], codes, matches[0], matches[1:]])
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs), err_msg=f"seed {seed}")
