"""`cuprous.explain`: what the last programs were, or which kernels a function becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import transfers
from cuprous._tools import pictures
from cuprous._tools.estimate import estimate
from cuprous._tools.estimate_result import Program
from cuprous._tools.queries import is_query


class Explanation(str):
    """The text of `explain`, which prompts show as it is and notebooks as a picture of the fused kernels."""

    programs: tuple[Program, ...] = ()
    """The programs of the function that was explained, with their kernels."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str | None:
        return "<div>" + pictures.fused_html(self.programs) + "</div>" if self.programs else None


def explain(fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Explanation:
    """Explains why the last programs were replayed or planned again, or which kernels a function becomes.

    Without arguments the text also lists the source lines that implicitly copied arrays between host and device.

    With a function, it is called once with the arguments. What it records is planned, but not computed unless it reads
    values on the host, as for `estimate`. Each kernel is a line that names the operations fused into it.

    Of a query of Polars it says first which parts run here, as `cuprous.frames.report` does. If all do, it is run, and
    its kernels follow.

    Parameters
    ----------
    fn : callable, optional
        A function of arrays or tensors, or a query of Polars, a `LazyFrame`.
    *args : any
        Its positional arguments.
    **kwargs : any
        Its keyword arguments.

    Returns
    -------
    Explanation
        A text of several lines. Notebooks show the kernels of a function as a picture.

    Raises
    ------
    TypeError
        If `fn` is not callable.

    See Also
    --------
    estimate, show_code

    Examples
    --------
    >>> a = cp.ones((300, 300))
    >>> cp.explain(lambda x: cp.exp(2 * x).sum(axis=1), a)
    program 1: 3 operations in 1 kernel
      kernel 1: multiply, exp, sum
    >>> isinstance(cp.explain(), str)
    True
    """
    if fn is None:
        if args or kwargs:
            raise TypeError("[explain] the first argument is the function whose arguments follow")
        return Explanation(_core.explain() + transfers.report())
    lines: list[str] = []
    if is_query(fn):
        from cuprous.frames import Engine, report

        found = report(fn, Engine(take="all"))
        if not found.complete:
            return Explanation(str(found))
        lines.append(str(found))
    programs = estimate(fn, *args, kwargs=kwargs).programs
    for number, program in enumerate(programs, 1):
        kernels = f"{len(program.steps)} kernel{'s' * (len(program.steps) != 1)}"
        lines.append(f"program {number}: {program.operations} operations in {kernels}")
        lines += [f"  kernel {k}: {step.name}" for k, step in enumerate(program.steps, 1)]
    explained = Explanation("\n".join(lines or ["no operation on arrays was recorded"]))
    explained.programs = programs
    return explained


__all__ = ["explain"]
