"""Decompiles functions without source, such as those created by `exec`, from their bytecode.

What is rebuilt is compiled again, and counts only if the same instructions come out. So nothing here has to be right
about Python's compiler: what it misreads, and what it does not know, is refused.
"""

from __future__ import annotations

import ast
import dis
from types import CodeType
from typing import Any

_IGNORED = {
    "CACHE", "RESUME", "NOP", "PRECALL", "PUSH_NULL", "TO_BOOL", "NOT_TAKEN", "COPY_FREE_VARS", "MAKE_CELL",
    "EXTENDED_ARG", "END_FOR", "POP_ITER", "GEN_START", "GET_ITER",
}  # fmt: skip
_BINARY = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "<<": ast.LShift, ">>": ast.RShift, "|": ast.BitOr, "^": ast.BitXor, "&": ast.BitAnd, "@": ast.MatMult,
}  # fmt: skip
#: Names that the operators had before Python 3.11.
_OLD = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//", "MODULO": "%",
    "POWER": "**", "LSHIFT": "<<", "RSHIFT": ">>", "OR": "|", "XOR": "^", "AND": "&", "MATRIX_MULTIPLY": "@",
}  # fmt: skip
_UNARY = {"UNARY_NEGATIVE": ast.USub, "UNARY_NOT": ast.Not, "UNARY_INVERT": ast.Invert, "UNARY_POSITIVE": ast.UAdd}
_COMPARE = {"<": ast.Lt, "<=": ast.LtE, "==": ast.Eq, "!=": ast.NotEq, ">": ast.Gt, ">=": ast.GtE}
#: What is compared of `co_flags`: *args, **kwargs, generators, coroutines.
KINDS = 0x2AC
#: What `from __future__` switches of them.
FUTURE = 0x1FF0000
_LIMIT = 100


def source(code: CodeType) -> list[str] | None:
    """Returns source lines that compile to the function's instructions; None if it cannot be decompiled."""
    try:
        for explicit_return in (False, True):
            text = _text(code, explicit_return)
            around = compile(text, "<rebuilt>", "exec", code.co_flags & FUTURE, True)
            again = next(c for c in around.co_consts if isinstance(c, CodeType))
            if code.co_freevars:
                again = next(c for c in again.co_consts if isinstance(c, CodeType))
            if facts(again) == facts(code):
                return text.splitlines(True)[1 if code.co_freevars else 0 :]
    except (LookupError, TypeError, ValueError, AttributeError, SyntaxError, RecursionError, StopIteration):
        pass
    return None


def facts(code: CodeType) -> tuple[Any, ...]:
    """Everything by which one function differs from another, apart from where it stands and how methods are called:
    Python calls attributes of names that the same text imports in another way."""
    listed: list[dis.Instruction] = []
    index = {}
    for i in dis.get_instructions(code):
        index[i.offset] = len(listed)  # jumps to an instruction that is left out go to the next one
        # The length of a jump can differ, and with it the number of its prefixes.
        if i.opname not in ("PUSH_NULL", "EXTENDED_ARG"):
            listed.append(i)

    def argument(i: dis.Instruction) -> Any:
        if i.opcode in dis.hasconst or i.opname == "KW_NAMES":
            value = code.co_consts[i.arg] if i.opname == "KW_NAMES" and i.arg is not None else i.argval
            if isinstance(value, CodeType):
                return facts(value)
            return type(value), sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
        if i.opcode in dis.hasname or i.opcode in dis.haslocal or i.opcode in dis.hasfree:
            return i.argval
        return index[i.argval] if i.opcode in dis.hasjabs or i.opcode in dis.hasjrel else i.arg

    same = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL_FUNCTION"}
    instructions = [(same.get(i.opname, i.opname), argument(i)) for i in listed]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & KINDS
    table = getattr(code, "co_exceptiontable", b"")
    return instructions, counts, set(code.co_varnames), code.co_varnames[: sum(counts[::2])], code.co_freevars, table


def _tail(body: list[ast.stmt], explicit_return: bool) -> None:
    """Removes the implicit `return None` of every path; with `explicit_return` only the last one."""
    last = body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is None:
        body[-1:] = [] if len(body) > 1 else [ast.Pass()]
        last = body[-1]
    if isinstance(last, ast.If) and not explicit_return:
        for inner in (last.body, last.orelse):
            if inner:
                _tail(inner, explicit_return)


def _text(code: CodeType, explicit_return: bool) -> str:
    body = _Reader(code).block(0, None, [], None)
    _tail(body, explicit_return)
    names = [ast.arg(name) for name in code.co_varnames]
    plain, kwonly = code.co_argcount, code.co_kwonlyargcount
    if code.co_flags & 0xC or "<" in code.co_name:
        raise ValueError("*args and lambdas")
    arguments = ast.arguments(
        posonlyargs=names[: code.co_posonlyargcount], args=names[code.co_posonlyargcount : plain],
        kwonlyargs=names[plain : plain + kwonly], kw_defaults=[None] * kwonly, defaults=[],
    )  # fmt: skip
    made = ast.FunctionDef(name=code.co_name, args=arguments, body=body, decorator_list=[])
    made.__dict__.setdefault("type_params", [])
    text = ast.unparse(ast.fix_missing_locations(made)) + "\n"
    if code.co_freevars:
        # Variables of a function around it are what makes them free.
        inner = "".join(f"    {line}" for line in text.splitlines(True))
        text = f"def around({', '.join(code.co_freevars)}):\n{inner}    return {code.co_name}\n"
    return text


class _Hole(ast.Name):
    """A placeholder for a value that unpacking or a loop pushes on the stack."""

    of: ast.expr | None


class _InPlace(ast.Name):
    """The result of an in-place operator before it is stored."""

    op: ast.operator
    target: ast.Name | ast.Attribute | ast.Subscript
    value: ast.expr


class _Reader:
    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.all: list[dis.Instruction] = []
        self.index: dict[int, int] = {}
        before = ""
        for i in dis.get_instructions(code):
            self.index[i.offset] = len(self.all)
            # Python 3.13 drops a loop's iterator by POP_TOP.
            if i.opname not in _IGNORED and not (before == "END_FOR" and i.opname == "POP_TOP"):
                self.all.append(i)
            before = i.opname
        self.depth = 0

    def target(self, k: int) -> int:
        """Returns the instruction to which instruction k jumps, or -1."""
        i = self.all[k]
        return self.index[i.argval] if i.opcode in dis.hasjabs or i.opcode in dis.hasjrel else -1

    def block(
        self, k: int, end: int | None, stack: list[Any], loop: tuple[int, int] | None, base: int = 0
    ) -> list[ast.stmt]:
        """Returns the statements of the instructions from k to end. Values that they do not use stay on the stack."""
        self.depth += 1
        if self.depth > _LIMIT:
            raise RecursionError
        end = len(self.all) if end is None else end
        out: list[ast.stmt] = []
        pending: list[tuple[ast.expr, Any]] = []
        names: tuple[str, ...] = ()
        start = k

        def push(value: ast.expr) -> None:
            value.lineno = k
            stack.append(value)

        def take(n: int) -> list[Any]:
            taken = stack[len(stack) - n :]
            if len(taken) != n:
                raise IndexError
            del stack[len(stack) - n :]
            return taken

        def store(where: ast.expr) -> None:
            value = stack.pop()
            pending.append((where, value))
            if len(stack) == base:
                out.append(_assignment(pending))
                pending.clear()

        while k < end:
            i = self.all[k]
            name, arg = i.opname, i.arg or 0
            jump = self.target(k)
            if len(stack) == base and not pending:
                start = k
            if name in ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST"):
                if isinstance(i.argval, (CodeType, frozenset)):
                    raise ValueError("a function inside")
                push(ast.Constant(i.argval))
                if name == "RETURN_CONST":
                    out.append(ast.Return(stack.pop()))
                    break
            elif name.startswith(("LOAD_FAST_LOAD", "LOAD_FAST_BORROW_LOAD")):
                for each in i.argval:
                    push(ast.Name(each))
            elif name in ("STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
                store(ast.Name(i.argval[0]))
                if name.endswith("_STORE_FAST"):
                    store(ast.Name(i.argval[1]))
                else:
                    push(ast.Name(i.argval[1]))
            elif name.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")):
                push(ast.Name(i.argval))
            elif name in ("LOAD_ATTR", "LOAD_METHOD"):
                push(ast.Attribute(stack.pop(), i.argval))
            elif name == "STORE_FAST":
                store(ast.Name(i.argval))
            elif name == "STORE_SUBSCR":
                of, at = take(2)
                store(ast.Subscript(of, at))
            elif name == "STORE_SLICE":
                of, low, high = take(3)
                store(ast.Subscript(of, ast.Slice(_bound(low), _bound(high))))
            elif name == "STORE_ATTR":
                store(ast.Attribute(stack.pop(), i.argval))
            elif name == "BINARY_SUBSCR" or (name == "BINARY_OP" and i.argrepr == "[]"):
                of, at = take(2)
                push(ast.Subscript(of, at))
            elif name == "BINARY_SLICE":
                of, low, high = take(3)
                push(ast.Subscript(of, ast.Slice(_bound(low), _bound(high))))
            elif name == "BUILD_SLICE":
                push(ast.Slice(*map(_bound, take(arg))))
            elif name == "BUILD_TUPLE":
                push(ast.Tuple(take(arg)))
            elif name.startswith(("BINARY_", "INPLACE_")):
                symbol = i.argrepr if name == "BINARY_OP" else _OLD[name.partition("_")[2]] + "=" * (name[0] == "I")
                left, right = take(2)
                if symbol.endswith("="):
                    made = _InPlace("in place")
                    made.target, made.op, made.value = left, _BINARY[symbol[:-1]](), right
                    push(made)
                else:
                    push(ast.BinOp(left, _BINARY[symbol](), right))
            elif name in _UNARY or (name == "CALL_INTRINSIC_1" and i.argrepr == "INTRINSIC_UNARY_POSITIVE"):
                push(ast.UnaryOp(_UNARY.get(name, ast.UAdd)(), stack.pop()))
            elif name in ("COMPARE_OP", "IS_OP", "CONTAINS_OP"):
                left, right = take(2)
                if name == "COMPARE_OP":
                    op: ast.cmpop = _COMPARE[i.argrepr.removeprefix("bool(").removesuffix(")")]()
                elif name == "IS_OP":
                    op = ast.IsNot() if arg else ast.Is()
                else:
                    op = ast.NotIn() if arg else ast.In()
                push(ast.Compare(left, [op], [right]))
            elif name == "KW_NAMES":
                names = self.code.co_consts[arg]
            elif name in ("CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW", "CALL_FUNCTION_KW"):
                if name.endswith("_KW"):
                    names = stack.pop().value
                arguments = take(arg)
                plain = arg - len(names)
                keywords = [ast.keyword(word, value) for word, value in zip(names, arguments[plain:], strict=True)]
                push(ast.Call(stack.pop(), arguments[:plain], keywords))
                names = ()
            elif name in ("COPY", "DUP_TOP", "DUP_TOP_TWO"):
                count, at = {"COPY": (1, arg), "DUP_TOP": (1, 1), "DUP_TOP_TWO": (2, 2)}[name]
                stack.extend(stack[len(stack) - at :][:count])
            elif name == "SWAP":
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            elif name in ("ROT_TWO", "ROT_THREE", "ROT_FOUR"):
                stack.insert(-{"ROT_TWO": 1, "ROT_THREE": 2, "ROT_FOUR": 3}[name], stack.pop())
            elif name == "UNPACK_SEQUENCE":
                of = stack.pop()
                for _ in range(arg):
                    hole = _Hole("hole")
                    hole.of = of
                    push(hole)
            elif name == "RETURN_VALUE":
                # What follows is reached from elsewhere, or is another copy of the way out.
                out.append(ast.Return(stack.pop()))
                break
            elif name == "POP_TOP":
                if len(stack) > base:
                    out.append(ast.Expr(stack.pop()))
                # Otherwise a loop's iterator, on the way out.
            elif name == "FOR_ITER":
                iterator, hole = stack.pop(), _Hole("hole")
                hole.of = None
                hole.lineno = k
                last = max(n for n in range(k + 1, min(jump, end)) if self.target(n) == k)
                held: list[Any] = [hole]
                body = self.block(k + 1, last, held, (k, jump))
                first = body[0]
                if held or not isinstance(first, ast.Assign) or len(first.targets) != 1 or first.value is not hole:
                    raise ValueError("a loop without a variable")
                out.append(ast.For(first.targets[0], iterator, body[1:] or [ast.Pass()], []))
                k = jump - 1 if jump <= end else last
            elif loop and jump == loop[0] and "IF" not in name:
                out.append(ast.Continue())
            elif loop and jump == loop[1] and "IF" not in name:
                out.append(ast.Break())
            elif "POP_JUMP" in name:
                k = self.condition(k, end, start, stack, loop, out) - 1
            else:
                raise ValueError(name)
            k += 1
        if pending:
            raise ValueError("half an assignment")
        self.depth -= 1
        return out

    def condition(
        self, k: int, end: int, start: int, stack: list[Any], loop: tuple[int, int] | None, out: list[ast.stmt]
    ) -> int:
        """Decompiles what begins with conditional jump k: `and`, `or`, `while`, `if` or a conditional value."""
        test = self.test(k, stack)
        jump = self.target(k)
        # Further tests with the same jump targets belong to this condition.
        following = next((n for n in range(k + 1, end) if "POP_JUMP" in self.all[n].opname), None)
        if following is not None and jump in (following + 1, self.target(following)):
            held: list[Any] = []
            inner = self.block(k + 1, following, held, None) if self.plain(k + 1, following) else [ast.Pass()]
            if not inner and len(held) == 1:
                is_or = jump == following + 1
                right = held[0]
                if is_or:
                    test = ast.UnaryOp(ast.Not(), test) if not isinstance(test, ast.UnaryOp) else test.operand
                elif self.sense(k) != self.sense(following):
                    right = None
                if right is not None:
                    stack.append(ast.BoolOp(ast.Or() if is_or else ast.And(), [test, right]))
                    return self.condition(following, end, start, stack, loop, out)
        if jump <= k and not (loop and jump == loop[0]):
            raise ValueError("a loop of another kind")
        # The compiler repeats the test at the end of a `while` body.
        back = [n for n in range(k + 1, end) if self.target(n) == k + 1]
        if back:
            last = back[-1] if "IF" in self.all[back[-1]].opname else back[-1] - 1
            held = []
            body = self.block(k + 1, last, held, (start, jump))
            if len(held) != 1:
                raise ValueError("a loop of another kind")
            out.append(ast.While(test, body or [ast.Pass()], []))
            return jump if jump <= end else back[-1] + 1
        stop = jump if k < jump <= end else end
        last, after = stop, stop
        if k + 1 < stop and self.all[stop - 1].opname in ("JUMP_FORWARD", "JUMP_ABSOLUTE"):
            to = self.target(stop - 1)
            # Not the end of `break` in a `for`.
            if not (loop and to in loop) or (to > stop and self.all[stop - 2].opname != "POP_TOP"):
                last, after = stop - 1, min(to, end)
        held, other = [], list[Any]()
        body = self.block(k + 1, last, held, loop)
        orelse = self.block(stop, after, other, loop) if after > stop else []
        if held or other:
            if body or orelse or len(held) != 1 or len(other) != 1:
                raise ValueError("a value and statements")
            stack.append(ast.IfExp(test, held[0], other[0]))
            stack[-1].lineno = k
        else:
            out.append(ast.If(test, body or [ast.Pass()], orelse))
        return after

    def plain(self, k: int, end: int) -> bool:
        return all(self.target(n) < 0 for n in range(k, end))

    def sense(self, k: int) -> bool:
        return self.all[k].opname.endswith(("IF_TRUE", "IF_NOT_NONE"))

    def test(self, k: int, stack: list[Any]) -> ast.expr:
        """Returns the condition under which the instructions after a conditional jump run."""
        value: ast.expr = stack.pop()
        name = self.all[k].opname
        if name.endswith("NONE"):
            op = ast.Is() if name.endswith("NOT_NONE") else ast.IsNot()
            return ast.Compare(value, [op], [ast.Constant(None)])
        return ast.UnaryOp(ast.Not(), value) if self.sense(k) else value


def _bound(e: ast.expr) -> ast.expr | None:
    return None if isinstance(e, ast.Constant) and e.value is None else e


def _assignment(pending: list[tuple[ast.expr, Any]]) -> ast.stmt:
    targets, values = [t for t, _ in pending], [v for _, v in pending]
    value = values[0]
    if isinstance(value, _InPlace):
        return ast.AugAssign(value.target, value.op, value.value)
    if isinstance(value, _Hole) and value.of is not None:
        return ast.Assign([ast.Tuple(targets)], value.of)
    if len(values) == 1 or all(v is value for v in values):
        return ast.Assign(targets, value)
    # In the order in which the values were computed.
    pending = sorted(pending, key=lambda both: both[1].lineno)
    return ast.Assign([ast.Tuple([t for t, _ in pending])], ast.Tuple([v for _, v in pending]))
