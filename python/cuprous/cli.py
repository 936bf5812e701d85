"""The `cuprous` command. `demo`, `kernels` and `profile` are written in Python, all others in the extension."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cuprous import _core


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (by default this process's) and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:  # each command imports only what it needs
        if arguments[:1] == ["demo"]:
            from cuprous._tools.demo.main import main as demo

            return demo(arguments[1:])
        if arguments[:1] == ["kernels"]:
            from cuprous._tools.kernel_report import main as kernels

            return kernels(arguments[1:])
        if arguments[:1] == ["profile"]:
            from cuprous._tools.profile_command import main as profile

            return profile(arguments[1:])

        return _core.cli(arguments)
    except KeyboardInterrupt:
        print("\ncuprous: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe has exited, which is not an error
        return 0


if __name__ == "__main__":
    sys.exit(main())
