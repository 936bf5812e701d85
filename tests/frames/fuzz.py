"""Random queries on the engine beside Polars: `python -m tests.frames.fuzz --plans 2000 --seed 0`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import polars as pl

import cuprous.frames
from tests.frames.compare import assert_same
from tests.frames.random_plans import Plans, Query


def check(seed: int, engine: cuprous.frames.Engine) -> tuple[str, Query]:
    """Runs one query on both engines.

    Parameters
    ----------
    seed : int
        Its number.
    engine : Engine
        An engine that takes all it can.

    Returns
    -------
    tuple (str, Query)
        "whole", "parts", "polars" or "error", which Polars raises too; and the query.

    Raises
    ------
    AssertionError
        If the results differ.
    """
    query = Plans(seed).query()
    try:
        want = query.lf.collect(engine="in-memory")
    except BaseException as error:  # a panic of Polars is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        try:
            query.lf.collect(engine=engine)
        except BaseException:
            return "error", query
        raise AssertionError("Polars raises, the engine does not") from None
    got = query.lf.collect(engine=engine)
    assert_same(got, want, query.ordered, query.inexact)
    report = engine.last_report
    assert report is not None
    assert not any("unexpected error" in reason for reason in report.reasons), report.reasons
    if report.complete:
        return "whole", query
    return ("parts" if any(one.where != "polars" for one in report.entries) else "polars"), query


def main() -> int:
    """Runs the number of queries that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="failures that are shown in full")
    parser.add_argument("--reasons", action="store_true", help="list why parts were left to Polars")
    options = parser.parse_args()
    engine = cuprous.frames.Engine(take="all")
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    begin = time.perf_counter()
    for seed in range(options.seed, options.seed + options.plans):
        try:
            kind, _ = check(seed, engine)
            kinds[kind] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            kinds["WRONG"] += 1
            if kinds["WRONG"] <= options.show:
                print(f"--- plan {seed}: {type(error).__name__}: {str(error)[:1200]}")
                try:
                    print("\n".join(f"    {step[:600]}" for step in Plans(seed).query().steps))
                except BaseException as again:
                    print("    the query cannot be made:", again)
            else:
                print(f"--- plan {seed}: {type(error).__name__}: {str(error)[:100]!r}")
        if engine.last_report is not None:
            reasons.update(engine.last_report.reasons)
        if seed % 50 == 49:
            engine.clear()
    seconds = time.perf_counter() - begin
    print(
        f"polars {pl.__version__}, {options.plans} plans in {seconds:.0f} s: "
        + ", ".join(f"{v} {k}" for k, v in kinds.items())
    )
    if options.reasons:
        for reason, number in reasons.most_common(40):
            print(f"{number:6d} {reason}")
    return 1 if kinds["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
