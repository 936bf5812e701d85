"""The source of a function, as Python's own syntax tree."""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
import weakref
from types import CodeType
from typing import Any

#: Functions compiled with `debug=True`, whose places somebody wants to see.
DEBUGGED: weakref.WeakSet[Any] = weakref.WeakSet()


def parse(function: Any) -> tuple[ast.AST, list[str], int, str, int]:
    """The function's node, its lines, the number of the first, its file, and what nodes' line numbers lack.

    Raises:
        cuprous.cuda.errors.UnsupportedError: if the source is not available.
    """
    code = function.__code__
    found = _plain(function, code)
    if found is not None:
        node, lines, shift = found
        return node, [line.rstrip("\n") for line in lines], code.co_firstlineno, code.co_filename, shift
    return _any(function, code)


def _plain(function: Any, code: CodeType) -> tuple[ast.AST, list[str], int] | None:
    """A `def` of a file, by the indentation of its lines: `inspect` reads tokens, which takes longer than compiling."""
    if code.co_name == "<lambda>" or hasattr(function, "__wrapped__"):
        return None
    linecache.checkcache(code.co_filename)
    every = linecache.getlines(code.co_filename, function.__globals__)
    start = code.co_firstlineno - 1
    if not 0 <= start < len(every):
        return None
    margin = len(every[start]) - len(every[start].lstrip())
    end, headed = start, False
    # Where a line inside of brackets or a text is indented less, what is cut off there is no Python, and refused below.
    for k in range(start, len(every)):
        line = every[k].lstrip()
        if not line or line.startswith("#"):
            continue
        if len(every[k]) - len(line) <= margin and not line.startswith((")", "]", "}")):
            if headed:
                break
            headed = line.startswith("def")
        end = k + 1
    lines = every[start:end]
    text = "".join(lines)
    try:
        # An indented function stands in a block.
        body: Any = ast.parse(f"if 1:\n{text}" if margin else text).body
    except SyntaxError:
        return None
    if margin:
        body = body[0].body
    node = body[0]
    if len(body) != 1 or not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return None
    # Another function of that name, where the file changed meanwhile.
    names = tuple(arg.arg for arg in (*node.args.posonlyargs, *node.args.args))
    return (node, lines, start - bool(margin)) if names == code.co_varnames[: code.co_argcount] else None


def _any(function: Any, code: CodeType) -> tuple[ast.AST, list[str], int, str, int]:
    """The same for all others: lambdas, what was typed in, what `exec` made."""
    import inspect
    import tokenize

    from cuprous.cuda import _bytecode
    from cuprous.cuda.errors import UnsupportedError

    try:
        lines, first = inspect.getsourcelines(function)
    # Of another kind where the file is no longer that which was compiled.
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        lines, first = _command(code), code.co_firstlineno
    file = code.co_filename
    if not lines and function in DEBUGGED:
        from cuprous.cuda.errors import NumbaDebugInfoWarning

        message = f"Could not find source for function: {function}. Debug line information may be inaccurate."
        warnings.warn(message, NumbaDebugInfoWarning, stacklevel=3)
    if not lines:
        lines, first, file = _bytecode.source(code) or [], 1, f"<{function.__name__}, rebuilt from its bytecode>"
    if not lines:
        raise UnsupportedError(
            f"the source of {function.__name__!r} is not available, and its bytecode is not plain enough to do without"
            "\n  hint: write the function in a file, or in a notebook's cell"
        )
    text = "".join(lines)
    indented = text[:1].isspace()
    shift = first - 1
    is_lambda = function.__name__ == "<lambda>"
    try:
        tree: ast.AST = ast.parse(f"if 1:\n{text}" if indented else text)
        shift -= indented
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
    return found[0], [line.rstrip("\n") for line in lines], first, file, shift


def _command(code: CodeType) -> list[str]:
    """The lines of a function of `python -c`, which only the command line has."""
    if code.co_filename != "<string>" or "-c" not in sys.orig_argv[:-1]:
        return []
    import inspect

    from cuprous.cuda import _bytecode

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
    """The expression from the first `lambda` on, at its place."""
    at = text.find("lambda")
    above, left = text[:at].count("\n"), len(text[text.rfind("\n", 0, at) + 1 : at].encode())
    for end in range(len(text), at, -1):
        try:
            tree = ast.parse(f"({text[at:end]}\n)", mode="eval")
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                if node.lineno == 1:
                    node.col_offset += left - 1
                if node.end_lineno == 1:
                    node.end_col_offset += left - 1  # type: ignore[operator]
        return ast.increment_lineno(tree, above)
    return ast.Module(body=[], type_ignores=[])
