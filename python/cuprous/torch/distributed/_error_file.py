"""What happens when a rank ends with an exception: the other ranks and the launcher hear of it."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Gets class, exception and source line.
_Report = Callable[[type[BaseException], BaseException, str], None]

_previous: Any = None
_hook: Any = None


def last_line(trace: TracebackType | None) -> str:
    """Returns the innermost line of a traceback outside of this package, as `file:line`."""
    frames = traceback.extract_tb(trace)
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
    outside = [frame for frame in frames if not frame.filename.startswith(package)] or frames
    return f"{outside[-1].filename}:{outside[-1].lineno}" if outside else "an unknown line"


def write(error: BaseException) -> None:
    """Writes an exception to the file that the launcher reads, in the format of PyTorch's."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    extra = {"py_callstack": trace, "timestamp": str(int(time.time()))}
    message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
    try:
        with open(path, "w") as file:
            json.dump({"message": message}, file)
    except OSError as problem:
        print(f"cannot write {path}: {problem}", file=sys.stderr)


def install(report: _Report) -> None:
    """Reports uncaught exceptions from now on."""
    global _previous, _hook
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report(kind, error, last_line(trace))
        write(error)
        previous(kind, error, trace)

    _previous, _hook = previous, hook
    sys.excepthook = hook


def uninstall() -> None:
    """Undoes `install`, unless another hook has been set since."""
    if sys.excepthook is _hook:
        sys.excepthook = _previous
