"""The source of a function, as Python's own syntax tree.

A file may have changed since it was imported. The source found there is used only if it compiles to the function's own
instructions. Otherwise the rest of the file is searched, and then the source is rebuilt from the bytecode.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
import weakref
from types import CodeType, ModuleType
from typing import Any

from cuprous.cuda import _bytecode
from cuprous.cuda.errors import NumbaDebugInfoWarning, UnsupportedError

#: Functions compiled with `debug=True`, whose source locations are shown.
DEBUGGED: weakref.WeakSet[Any] = weakref.WeakSet()


def parse(function: Any) -> tuple[ast.AST, list[str], int, str, int]:
    """The function's node, its lines, the number of the first, its file, and what nodes' line numbers lack.

    Raises
    ------
    cuprous.cuda.errors.UnsupportedError
        If the source is not available, or has changed.
    """
    code = function.__code__
    found = _plain(function, code)
    if found is not None and _agrees(found[0], function):
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
    return node, lines, start - bool(margin)


def _agrees(node: ast.AST, function: Any) -> bool:
    """Returns true if the node compiles to the instructions of the function."""
    code = function.__code__
    try:
        again = _compiled(node, function, code)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return False
    if again is None:
        return False
    if _facts(again) == _facts(code):
        return True

    return _bytecode.facts(again) == _bytecode.facts(code)


def _facts(code: CodeType) -> tuple[Any, ...]:
    """Equal for equal functions without inner functions: a comparison that is cheaper than that of instructions."""
    constants = [(type(c), id(c) if isinstance(c, CodeType) else repr(c)) for c in code.co_consts]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _bytecode.KINDS
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, constants, counts, names, getattr(code, "co_exceptiontable", b"")


def _compiled(node: ast.AST, function: Any, code: CodeType) -> CodeType | None:
    """The code of a function's node, compiled in the same scope as the function."""
    params = node.args  # type: ignore[attr-defined]
    args = ast.arguments(
        posonlyargs=params.posonlyargs, args=params.args, vararg=params.vararg, kwonlyargs=params.kwonlyargs,
        kw_defaults=[None] * len(params.kwonlyargs), kwarg=params.kwarg, defaults=[],
    )  # fmt: skip
    body: list[ast.stmt]
    if isinstance(node, ast.Lambda):
        # The line matters: some versions of Python compile a body on another line to different instructions.
        body = [ast.copy_location(ast.Expr(ast.copy_location(ast.Lambda(args, node.body), node)), node)]
    else:
        body = [ast.copy_location(_definition(node.name, args, node.body), node)]  # type: ignore[attr-defined]
    owner = getattr(code, "co_qualname", function.__qualname__).split(".")[-2:-1]
    if owner and owner[0].isidentifier():
        # Private names such as __x are prefixed with the name of the class.
        around_class = ast.ClassDef(name=owner[0], bases=[], keywords=[], body=body, decorator_list=[])
        around_class.__dict__.setdefault("type_params", [])
        body = [around_class]
    if code.co_freevars:
        outer = [ast.arg(name) for name in code.co_freevars]
        empty = ast.arguments(posonlyargs=[], args=outer, kwonlyargs=[], kw_defaults=[], defaults=[])
        body = [_definition("around", empty, body)]
    # Python calls attributes of imported modules by different instructions.
    world = function.__globals__
    imported = [ast.alias(name) for name in code.co_names if isinstance(world.get(name), ModuleType)]
    if imported:
        body = [ast.Import(imported), *body]
    module = ast.Module(body, type_ignores=[])
    ast.fix_missing_locations(module)
    if "@pytest_ar" in function.__globals__ and any(isinstance(n, ast.Assert) for n in ast.walk(node)):
        # pytest rewrites the assertions of test files.
        import copy

        from _pytest.assertion.rewrite import rewrite_asserts

        module = copy.deepcopy(module)
        rewrite_asserts(module, b"")
    left = [compile(module, "<source>", "exec", code.co_flags & _bytecode.FUTURE, True)]
    for found in left:
        if found.co_name == code.co_name and found.co_argcount == code.co_argcount and found is not left[0]:
            return found
        left.extend(constant for constant in found.co_consts if isinstance(constant, CodeType))
    return None


def _definition(name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])
    made.__dict__.setdefault("type_params", [])
    return made


def _any(function: Any, code: CodeType) -> tuple[ast.AST, list[str], int, str, int]:
    """The same for all others: lambdas, what was typed in, what `exec` made."""
    import inspect
    import tokenize

    file = code.co_filename
    try:
        # Not of the function: for a decorated one that is the source of the wrapped function.
        lines, first = inspect.getsourcelines(code)
    # Of another kind where the file is no longer that which was compiled.
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        lines, first = _command(code), code.co_firstlineno
    if lines:
        found = _nodes(lines, first, function, code) or _elsewhere(function, code)
        if found is not None:
            return *found[:3], file, found[3]
    elif function in DEBUGGED:
        message = f"Could not find source for function: {function}. Debug line information may be inaccurate."
        warnings.warn(message, NumbaDebugInfoWarning, stacklevel=3)
    rebuilt = _bytecode.source(code)
    found = _nodes(rebuilt, 1, function, code) if rebuilt else None
    if found is not None:
        return *found[:3], f"<{function.__name__}, rebuilt from its bytecode>", found[3]
    why = "its bytecode cannot be turned back into source"
    if lines:
        raise UnsupportedError(
            f"the source of {function.__name__!r} is outdated: {file} has changed since it was imported, "
            f"and {why}\n  hint: restart Python, or reload the module"
        )
    raise UnsupportedError(
        f"the source of {function.__name__!r} is not available, and {why}"
        "\n  hint: write the function in a file, or in a notebook's cell"
    )


#: A node, its lines, the number of the first, and what nodes' line numbers lack.
Found = tuple[ast.AST, list[str], int, int]


def _nodes(lines: list[str], first: int, function: Any, code: CodeType) -> Found | None:
    """Finds the function in some lines."""
    text = "".join(lines)
    shift = first - 1
    try:
        indented = text[:1].isspace()
        tree: ast.AST = ast.parse(f"if 1:\n{text}" if indented else text)
        shift -= indented
    except SyntaxError:
        # A lambda inside a larger expression.
        tree = _fragment(text)
    for node in _functions(tree, code):
        if _agrees(node, function):
            return node, [line.rstrip("\n") for line in lines], first, shift
    return None


def _functions(tree: ast.AST, code: CodeType) -> list[ast.AST]:
    """Returns the functions with the same name and parameters."""
    found: list[ast.AST] = []
    names = code.co_varnames[: code.co_argcount]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef):
            continue
        if getattr(node, "name", code.co_name) != code.co_name:
            continue
        if tuple(arg.arg for arg in (*node.args.posonlyargs, *node.args.args)) == names:
            found.append(node)
    return found


def _elsewhere(function: Any, code: CodeType) -> Found | None:
    """Finds the function in its file after lines were added or removed above it."""
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    nodes: list[Any] = _functions(tree, code)
    for node in sorted(nodes, key=lambda node: abs(node.lineno - code.co_firstlineno)):
        if _agrees(node, function):
            return node, [line.rstrip("\n") for line in lines[node.lineno - 1 : node.end_lineno]], node.lineno, 0
    return None


def _command(code: CodeType) -> list[str]:
    """Returns the source of `python -c`, which is only on the command line."""
    if code.co_filename != "<string>" or "-c" not in sys.orig_argv[:-1]:
        return []
    import inspect

    text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    try:
        left = [compile(text, "<string>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    # Functions created by `exec` have this file name too.
    while left:
        found = left.pop()
        if found.co_firstlineno == code.co_firstlineno and _bytecode.facts(found) == _bytecode.facts(code):
            return inspect.getblock(text.splitlines(True)[code.co_firstlineno - 1 :])
        left.extend(constant for constant in found.co_consts if isinstance(constant, CodeType))
    return []


def _fragment(text: str) -> ast.AST:
    """Parses the expression from the first `lambda` on and keeps its position."""
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
