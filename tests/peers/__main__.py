"""`python -m tests.peers [SUITE ...]`: runs the peers' suites and compares failures with the lists."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.peers.remainder import Comparison, Remainder, compare, updated
from tests.peers.session import Result, run, stored
from tests.peers.suites import SUITES, Suite

BUILD = Path("build/peers/results")


def main() -> int:
    """Runs the suites on the command line. Returns 1 if a test fails that is not listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; by default those with a list"
    )
    parser.add_argument("--only", default="", help="run only files whose path contains this")
    parser.add_argument("--jobs", type=int, default=1, help="folders that run at the same time")
    parser.add_argument(
        "--update", action="store_true", help="rewrite the lists; failures without a rule stay unexpected"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument("--stored", action="store_true", help="run nothing, take the results of the last run")
    options = parser.parse_args()
    unknown = set(options.suites) - set(SUITES)
    if unknown:
        parser.error(f"unknown suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    rows = []
    listed = [name for name, suite in SUITES.items() if suite.remainder.exists()]
    for name in options.suites or listed:
        suite = SUITES[name]
        root = suite.find()
        if root is None:
            print(f"{name}: not run; {suite.missing}")
            continue
        results = _results(suite, root, options)
        if options.update:
            updated(results, Remainder.read(suite.remainder), name).write(suite.remainder)
        found = compare(results, Remainder.read(suite.remainder))
        _report(name, found)
        rows.append((name, found))
    return _table(rows)


def _results(suite: Suite, root: Path, options: argparse.Namespace) -> dict[str, list[Result]]:
    folders: dict[str, list[Path]] = {}
    for file in suite.files(root):
        if options.only in str(file.relative_to(root)):
            folders.setdefault(str(file.parent.relative_to(root)), []).append(file)
    build = BUILD / suite.name

    def one(folder: str) -> dict[str, list[Result]]:
        store = build / f"{folder.replace(os.sep, '.')}.jsonl"
        start = time.monotonic()
        if not options.stored:
            run(suite, root, folders[folder], store, options.resume)
        results = stored(store)
        if not options.stored:
            failed = sum(r.outcome == "failed" for rows in results.values() for r in rows)
            count = sum(map(len, results.values()))
            print(f"{suite.name}: {folder}: {count} run, {failed} failed, {time.monotonic() - start:.0f} s", flush=True)
        return results

    with ThreadPoolExecutor(options.jobs) as pool:
        results = {file: rows for found in pool.map(one, folders) for file, rows in found.items()}
    return {file: rows for file, rows in results.items() if options.only in file}


def _report(name: str, found: Comparison) -> None:
    for (file, test), results in found.unexpected.items():
        why = results[0].why
        # CuPy's comparison quotes the traceback of the failing side, whose end is more useful.
        error = " ".join((why.strip().splitlines()[-1] if "Traceback" in why else why).split())[:160]
        print(f"{name}: unexpected: {file}: {test} ({len(results)}), line {results[0].line}: {error}")
    for (file, test), (known, failed) in found.stale.items():
        print(f"{name}: stale: {file}: {test}: {known} listed, {failed} fail")


def _table(rows: list[tuple[str, Comparison]]) -> int:
    print(f"\n{'suite':14}{'run':>8}{'passed':>8}{'skipped':>9}{'failed as listed':>18}{'unexpected':>12}{'stale':>7}")
    for name, f in rows:
        run = f.passed + f.as_listed + f.unexpected_count
        print(f"{name:14}{run:8}{f.passed:8}{f.skipped:9}{f.as_listed:18}{f.unexpected_count:12}{len(f.stale):7}")
    return int(any(found.unexpected for _, found in rows))


if __name__ == "__main__":
    sys.exit(main())
