"""The source of a function, as Python's own syntax tree."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import tokenize
import warnings
import weakref
from types import CodeType
from typing import Any

from cuprous.cuda import _bytecode

#: Functions compiled with `debug=True`, whose places somebody wants to see.
DEBUGGED: weakref.WeakSet[Any] = weakref.WeakSet()


def parse(function: Any) -> tuple[ast.AST, list[str], int, str, int]:
    """The function's node, its lines, the number of the first, its file, and how far it is indented.

    Raises:
        cuprous.cuda.errors.UnsupportedError: if the source is not available.
    """
    from cuprous.cuda.errors import UnsupportedError

    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
    # Of another kind where the file is no longer that which was compiled.
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        lines, first = _command(code), code.co_firstlineno
    file = code.co_filename
    if not lines and function in DEBUGGED:
        from cuprous.cuda.errors import NumbaDebugInfoWarning

        message = f"Could not find source for function: {function}. Debug line information may be inaccurate."
        warnings.warn(message, NumbaDebugInfoWarning, stacklevel=2)
    if not lines:
        lines, first, file = _bytecode.source(code) or [], 1, f"<{function.__name__}, rebuilt from its bytecode>"
    if not lines:
        raise UnsupportedError(
            f"the source of {function.__name__!r} is not available, and its bytecode is not plain enough to do without"
            "\n  hint: write the function in a file, or in a notebook's cell"
        )
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip()) if text else 0
    is_lambda = function.__name__ == "<lambda>"
    try:
        tree: ast.AST = ast.parse(text)
    except SyntaxError:
        # A lambda inside a larger expression.
        tree = _fragment(text)
    wanted = ast.Lambda if is_lambda else ast.FunctionDef
    found = [node for node in ast.walk(tree) if isinstance(node, wanted)]
    if is_lambda:
        names = code.co_varnames[: code.co_argcount]
        found = [node for node in found if tuple(a.arg for a in node.args.args) == names]
        if len(found) != 1:
            raise UnsupportedError("one of several lambdas on a line cannot be told from the others\n  hint: use def")
    if not found:
        raise UnsupportedError(f"the source of {function.__name__!r} is no function")
    node = found[0]
    ast.increment_lineno(tree, first - 1)
    return node, [line.rstrip("\n") for line in lines], first, file, indent


def _command(code: CodeType) -> list[str]:
    """The lines of a function of `python -c`, which only the command line has."""
    if code.co_filename != "<string>" or "-c" not in sys.orig_argv[:-1]:
        return []
    text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    try:
        left = [compile(text, "<string>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    # What `exec` makes has that file name too.
    while left:
        found = left.pop()
        if found.co_firstlineno == code.co_firstlineno and _bytecode.facts(found) == _bytecode.facts(code):
            return inspect.getblock(text.splitlines(True)[code.co_firstlineno - 1 :])
        left.extend(constant for constant in found.co_consts if isinstance(constant, CodeType))
    return []


def _fragment(text: str) -> ast.AST:
    at = text.find("lambda")
    for end in range(len(text), at, -1):
        try:
            return ast.parse(text[at:end].strip(), mode="eval")
        except SyntaxError:
            continue
    return ast.Module(body=[], type_ignores=[])
