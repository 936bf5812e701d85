"""The `cuprous` command. Some commands are written in Python, others in the extension."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from cuprous import _core

#: The commands that are written in Python: the modules whose `main` runs them. Each imports only what it needs.
_IN_PYTHON = {
    "demo": "cuprous._tools.demo.main",
    "kernels": "cuprous._tools.kernel_report",
    "profile": "cuprous._tools.profile_command",
    "scaling": "cuprous._tools.scaling",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (by default this process's) and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments and arguments[0] in _IN_PYTHON:
            return int(import_module(_IN_PYTHON[arguments[0]]).main(arguments[1:]))
        return _core.cli(arguments)
    except KeyboardInterrupt:
        print("\ncuprous: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe has exited, which is not an error
        return 0


if __name__ == "__main__":
    sys.exit(main())
