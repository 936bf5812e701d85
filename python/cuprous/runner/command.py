"""`cuprous run`: runs a program that imports PyTorch, CuPy, Numba's CUDA or PyCUDA, with these bound to Cuprous."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from cuprous.runner._binding import environment, line
from cuprous.runner._packages import DEFAULT, PACKAGES, chosen


def names(text: str) -> list[str]:
    """Returns the names of a comma-separated list of packages.

    Raises
    ------
    argparse.ArgumentTypeError
        For a package that cannot be bound.
    """
    try:
        return list(chosen(name for name in text.split(",") if name))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_bind_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--bind` and `--keep`."""
    parser.add_argument("--bind", type=names, default=[], metavar="NAMES",
                        help="packages to bind beside the default ones, such as numpy (default: none)")  # fmt: skip
    parser.add_argument("--keep", type=names, default=[], metavar="NAMES",
                        help=f"packages to leave as they are, of {', '.join(PACKAGES)} (default: none)")  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cuprous run",
        description=f"Runs a program with {', '.join(DEFAULT)} bound to Cuprous: for the program, for the libraries "
                    "that it imports and for the Python processes that it starts.",
        usage="cuprous run [--bind NAMES] [--keep NAMES] [--quiet]\n"
              "                   PROGRAM.py | -m MODULE | -c CODE\n"
              "                   [ARGUMENTS ...]",
        epilog="The exit code is the program's own. `cuprous doctor PROGRAM.py` lists beforehand what is missing.",
        allow_abbrev=False,
    )  # fmt: skip
    add_bind_options(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="do not name what is bound")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="run a module")
    start.add_argument("-c", dest="code", metavar="CODE", nargs=argparse.REMAINDER, help="run a program given as text")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def is_program(arguments: Sequence[str]) -> bool:
    """Returns True if a command line of `cuprous` runs a program without the word `run`."""
    first = arguments[0] if arguments else ""
    return first in ("-m", "-c", "--bind", "--keep") or first.startswith("--bind=") or first.endswith((".py", ".pyc"))


def main(argv: Sequence[str]) -> int:
    """Runs one command line. It returns only if the program was not started, with the exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    kind = "-m" if options.module is not None else "-c" if options.code is not None else ""
    program = [kind, *(options.module or options.code)] if kind else options.program
    if len(program) < 1 + bool(kind):
        print("cuprous run: name a program: cuprous run train.py", file=sys.stderr)
        return 2
    if sys.flags.ignore_environment:
        print(
            "cuprous run: Python was started with -E or -I, which hides the binding; start it without", file=sys.stderr
        )
        return 2
    if not kind and program[0] != "-" and not os.path.exists(program[0]):
        print(f"cuprous run: file {program[0]!r} does not exist", file=sys.stderr)
        return 2
    packages = [name for name in chosen((*DEFAULT, *options.bind)) if name not in options.keep]
    if not options.quiet:
        print(line(packages), file=sys.stderr, flush=True)
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    # The interpreter itself runs the program, so that it is `__main__` in every respect.
    os.execve(sys.executable, [sys.executable, *flags, *program], os.environ | environment(packages))
