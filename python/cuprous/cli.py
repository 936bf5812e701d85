"""The `cuprous` command: demonstration, report of kernels and profiler are Python, all others the extension's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cuprous import _core


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (by default this process's) and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:  # each command imports what it needs alone
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
        sys.stderr.close()  # whoever read our output has gone: nothing to say, and no one to say it to
        return 0


if __name__ == "__main__":
    sys.exit(main())
