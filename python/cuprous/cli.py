"""The `cuprous` command. Some commands are written in Python, others in the extension."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from cuprous import _core
from cuprous.runner import command

#: Commands that are written in Python, and their modules. Each imports only what it needs.
MODULES = {
    "bench": "cuprous._tools.bench.main",
    "completions": "cuprous._tools.completions",
    "demo": "cuprous._tools.demo.main",
    "kernels": "cuprous._tools.kernel_report",
    "profile": "cuprous._tools.profile_command",
    "run": "cuprous.runner.command",
    "scaling": "cuprous._tools.scaling",
}
#: With a program `doctor` examines it, without one this machine.
_DOCTOR_OF_PROGRAMS = "cuprous.runner.doctor"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (by default this process's) and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if command.is_program(arguments):  # `python -m cuprous train.py`
        arguments = ["run", *arguments]
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    module = MODULES.get(name)
    if name == "doctor" and any(not argument.startswith("-") for argument in rest):
        module = _DOCTOR_OF_PROGRAMS
    try:
        code: int = _core.cli(arguments) if module is None else importlib.import_module(module).main(rest)
        return code
    except KeyboardInterrupt:
        print("\ncuprous: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe has exited, which is not an error
        return 0


if __name__ == "__main__":
    sys.exit(main())
