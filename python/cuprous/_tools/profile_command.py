"""`cuprous profile`: runs a script or a module as Python does, and prints where its time went."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from cuprous._tools import charts
from cuprous._tools.profile import profile
from cuprous._tools.profile_rows import ProfileRow


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cuprous profile",
        description="Runs a Python script and shows, line by line, where its time went.",
        epilog="The exit code is the script's own. Its profile is printed even if it fails or calls sys.exit().",
    )
    parser.add_argument("-o", "--output", metavar="FILE", action="append", default=[],
                        help="write the timeline (FILE.json, for `cuprous serve --profile FILE.json` and "
                             "ui.perfetto.dev) or the flame graph (FILE.svg); may be given twice "
                             "(default: neither)")  # fmt: skip
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="lines in the table (default: 20)")
    parser.add_argument("--sort-by", default="time", metavar="COLUMN",
                        help="time, device_time, launches, bytes_in, bytes_out, wait_time, plan_time, or "
                             "another column of --json (default: time)")  # fmt: skip
    parser.add_argument(
        "--json", action="store_true", help="write the profile as JSON in place of the table, to standard error"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no table and no advice")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own").required = False
    return parser


def main(argv: Sequence[str]) -> int:
    """Runs one command line and returns the exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    if options.limit < 0:
        print(f"cuprous profile: --limit {options.limit} is negative", file=sys.stderr)
        return 2
    if not options.module and not os.path.exists(options.script):
        print(f"cuprous profile: file {options.script!r} does not exist", file=sys.stderr)
        return 2
    columns = ("time", *(field.name for field in fields(ProfileRow) if field.type in ("int", "float")))
    if options.sort_by not in columns:
        print(f"cuprous profile: --sort-by is {', '.join(columns)}, and not {options.sort_by!r}", file=sys.stderr)
        return 2
    for path in options.output:
        if wrong := charts.unwritable(path, ".json", ".svg"):
            print(f"cuprous profile: {wrong}", file=sys.stderr)
            return 2
    sys.argv = [options.script, *options.arguments]
    taken, process = profile(), os.getpid()
    with taken:
        code = _run(options.script, options.module)
    if os.getpid() != process:
        return code  # a child that the script forked: the profile is its parent's to tell
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    for path in options.output:
        try:
            taken.save(path)
        except OSError as error:
            print(f"cuprous profile: {error}", file=sys.stderr)
            code = code or 1
    if options.json:
        print(json.dumps(as_json(taken, options.limit)), file=sys.stderr)
    elif not options.quiet:
        table = taken.table(options.limit, options.sort_by)
        print(charts.shown("\n".join([table, *(f"* {sentence}" for sentence in taken.advice)])), file=sys.stderr)
    return code


def as_json(taken: profile, limit: int) -> dict[str, Any]:
    """Returns a profile as numbers and lists: the rows with most time first, all of them together, and the advice."""
    rows = [asdict(row) for row in taken.rows[:limit]]
    return {"rows": rows, "total": asdict(taken.total), "advice": taken.advice, "events": taken.events}


def _run(script: str, module: bool) -> int:
    """Runs the program and returns the exit code that Python would return."""
    try:
        if module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
            runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cuprous profile: interrupted", file=sys.stderr)
        return 130
    except BaseException as error:
        _print_traceback(error)
        return 1
    return 0


def _print_traceback(error: BaseException) -> None:
    """The traceback as Python prints it: without this file and those that run the script."""
    frames = error.__traceback__
    while frames is not None and (
        frames.tb_frame.f_code.co_filename == __file__ or "runpy" in frames.tb_frame.f_code.co_filename
    ):
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
