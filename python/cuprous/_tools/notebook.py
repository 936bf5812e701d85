"""IPython and Jupyter: `%%cuprous_time`, and a hint where `%timeit` measured recording alone."""

from __future__ import annotations

import ast
import re
import sys
import time
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common.naming import split_sections

#: Cells that measure time with IPython's own commands.
_TIMED = re.compile(r"^\s*(?:\w+\s*=\s*)?%{1,2}time(?:it)?\b", re.MULTILINE)
_HINT = (
    "cuprous: this time is that of recording alone; the work is done when a value is needed. "
    "Use %%cuprous_time, or cuprous.timeit(fn, …), which wait. (Shown once.)"
)


#: Operations a kernel of work that was waited for, at most. A tape is full with some 160.
_FUSED = 50


class _Hint:
    """Prints a hint after the first cell whose `%time` or `%timeit` ended before its work had run."""

    def __init__(self) -> None:
        self.before: Counts | None = None
        self.shown = False

    def begin(self, info: Any) -> None:
        """Called before a cell with its source."""
        timed = not self.shown and _TIMED.search(info.raw_cell or "") is not None
        self.before = counts() if timed else None

    def end(self, *_: Any) -> None:
        """Called after a cell."""
        before, self.before = self.before, None
        if before is None:
            return
        after = counts()
        _core.flush()
        if recorded_only(before, after, counts()):
            self.shown = True
            print(_HINT, file=sys.stderr)


class Counts(NamedTuple):
    """What has been recorded and run so far."""

    nodes: int
    programs: int
    steps: int


def counts() -> Counts:
    """Returns the engine's counters."""
    found = _core.stats()
    return Counts(found["nodes"], found["planned"] + found["replayed"], found["steps"])


def recorded_only(before: Counts, after: Counts, flushed: Counts) -> bool:
    """Returns True if work was recorded between `before` and `after` that had not run by then, or was dropped.

    A loop that drops its results runs one kernel where its tape is full, a loop that waits at least one each time.
    """
    nodes, steps = after.nodes - before.nodes, after.steps - before.steps
    return nodes > _FUSED * steps or (nodes > 0 and flushed.programs > after.programs)


def cuprous_time(shell: Any, line: str, cell: str | None = None) -> Any:
    """Runs a line (`%cuprous_time y = a @ b`) or a cell (`%%cuprous_time`), waits for the devices, and prints the time.

    What was recorded before is computed first. The value of a last expression is computed, counts, and is the result.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell.
    line : str
        The text after `%cuprous_time`.
    cell : str, optional
        The lines below `%%cuprous_time`.

    Returns
    -------
    ndarray
        The value of the last expression, or None.
    """
    source = shell.transform_cell(line if cell is None else cell)
    name = shell.compile.cache(source, shell.execution_count)
    body = shell.transform_ast(ast.parse(source, name))
    last = None
    if body.body and isinstance(body.body[-1], ast.Expr):
        last = compile(ast.Expression(body.body.pop().value), name, "eval")
    statements = compile(body, name, "exec")
    _core.synchronize()
    begin = time.perf_counter()
    exec(statements, shell.user_global_ns, shell.user_ns)
    value = eval(last, shell.user_global_ns, shell.user_ns) if last is not None else None
    recorded = time.perf_counter()
    _core.synchronize()
    end = time.perf_counter()
    took, python, wait = (_core.quantity(seconds, "s") for seconds in (end - begin, recorded - begin, end - recorded))
    print(f"{took}, computed (Python {python}, then waited {wait})")
    return None if source.rstrip().endswith(";") else value


def install(shell: Any) -> None:
    """Adds the commands and the hint to IPython's shell, once."""
    if not hasattr(shell, "register_magic_function") or "cuprous_time" in shell.magics_manager.magics["cell"]:
        return
    hint = _Hint()
    shell.events.register("pre_run_cell", hint.begin)
    shell.events.register("post_run_cell", hint.end)

    def command(line: str, cell: str | None = None) -> Any:
        return cuprous_time(shell, line, cell)

    command.__doc__ = split_sections(cuprous_time.__doc__ or "")[0]  # what `%cuprous_time?` shows
    shell.register_magic_function(command, "line_cell", "cuprous_time")


def install_if_running() -> None:
    """Adds them if this process is a notebook or an IPython prompt."""
    found = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
    if found is not None:
        install(found)
