"""Runs any number of random kernels: `python -m tests.kernels.fuzz --what threads --programs 20000 --seed 1000000`.

`kernels` and `threads` are compared with Python's evaluation. `words`, `bytes` and `trees` are not meaningful programs:
the compiler must return code or a readable error for them. Program n has seed + n.
"""

from __future__ import annotations

import argparse
import ast
import copy
import multiprocessing
import os
import random
import sys
import time
import warnings
from typing import Any

import numpy as np

from cuprous import cuda
from cuprous.cuda import errors
from tests.simulated import select

from . import test_random_kernels, test_random_threads
from .test_random_kernels import Writer, compiled

TEXT = """a b out x i 1 2.5 0 None True + - * / // % ** << >> & | ^ ~ ( ) [ ] , : . = == != < > <= >= and or not if
else for in while break continue return pass range len cuda.grid(1) cuda.syncthreads() math np lambda def f yield del
assert raise import try except with as global is 'text' f'x' {} [] () := @ ... await async class"""
WORDS = TEXT.split()
SIGNATURE = "void(float64[::1], int64, float64[::1])"
#: Programs from which syntax trees are derived.
EXAMPLE = """\
def f(a, b, out):
    s = cuda.shared.array(32, np.float64)
    l = cuda.local.array((2, 3), np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    n = len(a) if b > 2 else out.shape[0]
    s[t % 32] = a[i % n] * 2.5 + math.sqrt(abs(b))
    cuda.syncthreads()
    for k, x in enumerate((1, b, 3)):
        l[k % 2, 1:][0] = k ** 2
        if x in (b, 4) and not (k < 1 <= b):
            continue
        while k > 0:
            k -= 1
            cuda.atomic.add(out, k, s[k] if k else -1.0)
    else:
        out[0] = min(a[0], max(s[1], np.float32(b)))
    g = lambda x, y=2: x + y
    v: float = g(b) + out[::2].size
    u = w = (b // 3, b % 3, b << 1, ~b)
    p, q = u[1], u[0]
    out[-1] += u[0] + p + q + complex(v, 1).real
    if b < 0:
        raise ValueError("no")
    assert i >= 0, i
    print("i", i)
    return
"""


def translated(text: str, name: str) -> bool:
    """Returns true if a text compiles as a kernel; any other text must be rejected with a reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about suspicious code
            function = compiled(text, name)
    # Python itself rejects the program or does not finish it.
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError, TypeError, NameError, ArithmeticError):
        return False
    if not hasattr(function, "__code__"):
        return False
    function.__globals__.update(cuda=cuda, np=np, math=__import__("math"))
    try:
        cuda.jit(function).cuda_source(SIGNATURE)
        cuda.jit(SIGNATURE)(function)
    except (errors.KernelError, RecursionError, MemoryError) as error:
        assert "internal error" not in str(error), f"{error}\n{text}"
        return False
    # A compiler panic is not a subclass of Exception.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
    return True


def check_words(seed: int) -> bool:
    """Checks lines of random words."""
    rng = random.Random(seed)
    lines = []
    indent = 1
    for _ in range(rng.randint(1, 4)):
        line = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))
        lines.append("    " * indent + line)
        indent = min(indent + 1, 3) if line.endswith(":") else max(1, indent - rng.randint(0, 1))
    return translated("def f(a, b, out):\n" + "\n".join(lines) + "\n", f"words {seed}")


def check_bytes(seed: int) -> bool:
    """Checks a kernel with bytes changed, removed or doubled; every eighth program is only random bytes."""
    rng = random.Random(seed)
    if seed % 8 == 0:
        text = "def f(a, b, out):\n " + rng.randbytes(rng.randint(1, 40)).decode("latin-1")
        return translated(text, f"bytes {seed}")
    head, body = EXAMPLE.split("\n", 1)
    data = bytearray(body, "ascii")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        pick = rng.random()
        if pick < 0.5:
            data[at : at + 1] = bytes([rng.choice(b"0123456789abiklnostux+-*/%<>=!&|^~()[],.: \n_")])
        elif pick < 0.7:
            del data[at : at + rng.randint(1, 4)]
        else:
            data[at:at] = data[at : at + rng.randint(1, 8)]
    return translated(f"{head}\n{data.decode()}\n", f"bytes {seed}")


def expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Returns the positions of a tree that hold expressions."""
    places: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                places.append((node, name, None))
            elif isinstance(value, list):
                places += [(node, name, k) for k, item in enumerate(value) if isinstance(item, ast.expr)]
    return places


def get(place: tuple[ast.AST, str, int | None]) -> Any:
    """Returns the node at a position."""
    node, name, k = place
    value = getattr(node, name)
    return value if k is None else value[k]


def put(place: tuple[ast.AST, str, int | None], value: ast.expr) -> None:
    """Replaces the node at a position."""
    node, name, k = place
    if k is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[k] = value


TEXT_OF_FORMS = """
0 ; -1 ; 1 << 62 ; 2.5 ; 1j ; None ; True ; ... ; 'text' ; b'bytes' ; f'{a}' ; a ; b ; out ; i ; f ; np ; cuda ;
math ; int ; np.int8 ; cuda.threadIdx ; cuda.shared ; len ; a.shape ; a.T ; a[0] ; a[:] ; a[::-1] ; a[..., None] ;
() ; (1,) ; (a, b) ; [] ; [1, 2] ; {} ; {1: 2} ; {1} ; [x for x in (1, 2)] ; lambda x: x ; f(a, b, out) ; a + 1 ;
b ** b ; b / 0 ; b // 0 ; b % 0 ; -a ; not a ; ~2.5 ; b if a else out ; a and b ; 1 < b < 3 ; b in (1, 2) ;
b is None ; (yield) ; (y := b) ; a @ a ; range(b) ; range(3) ; zip(a, out) ; enumerate(a) ; int(a) ; float(b) ;
complex(b) ; bool(a) ; np.zeros(3) ; np.float16(b) ; cuda.grid(2) ; cuda.grid(b) ; cuda.shared.array(b, np.int32) ;
cuda.shared.array(0, np.int32) ; cuda.local.array((2, -1), np.int32) ; cuda.local.array(1 << 40, np.int8) ;
cuda.syncthreads() ; cuda.syncthreads_count(b) ; cuda.shfl_sync(1, b, 2) ; cuda.atomic.add(a, 0, 1) ;
cuda.atomic.add(a) ; math.sin(b) ; math.pi ; math.nothing ; divmod(b, 0) ; pow(b, 2, 3) ; round(b, 1) ; abs(a) ;
min() ; max(b) ; sum(a) ; sum((1, 2)) ; print(b) ; open('x') ; globals() ; a.size.real ; a.sum() ; b.imag ;
9999999999999999999999999999999999999999 ; 1e400 ; (1, 2)[b] ; (1, 2)[5] ; (1, 2.5)[b] ; a[b, b] ; a['x'] ;
a[None] ; a[1.5] ; *a
"""
#: Expressions to insert; the last one is valid only in calls and tuples.
FORMS = [form.strip() for form in TEXT_OF_FORMS.split(";")]


def check_trees(seed: int) -> bool:
    """Checks the syntax tree of a kernel with some nodes replaced."""
    rng = random.Random(seed)
    tree = ast.parse(Writer(seed).function().replace("(a, b)", "(a, b, out)", 1) if seed % 4 == 0 else EXAMPLE)
    body = tree.body[0].body  # type: ignore[attr-defined]
    # Every second program has a single change, so that more programs are accepted.
    many = seed % 2 == 0
    for _ in range(rng.randint(0, len(body) // 2) if many else 0):
        del body[rng.randrange(len(body))]
    for _ in range(rng.randint(1, 4) if many else 1):
        places = expressions(tree)
        statements = [n.body for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list) and n is not tree]
        pick = rng.random()
        if pick < 0.5 and places:
            put(rng.choice(places), ast.parse(f"({rng.choice(FORMS[:-1])})", mode="eval").body)
        elif pick < 0.75 and places:
            put(rng.choice(places), copy.deepcopy(get(rng.choice(places))))
        elif statements:
            block = rng.choice(statements)
            at = rng.randrange(len(block) + 1)
            other = copy.deepcopy(rng.choice(rng.choice(statements) or [ast.Pass()]))
            if rng.random() < 0.5:
                block.insert(at, other)
            else:
                block[at : at + 1] = [other]
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
    # The node is not valid at this position.
    except (RecursionError, ValueError, AttributeError, TypeError, KeyError):
        return False
    if len(text) > 20_000:
        return False
    return translated(text + "\n", f"trees {seed}")


CHECKS: dict[str, Any] = {
    "kernels": test_random_kernels.check,
    "threads": test_random_threads.check,
    "words": check_words,
    "bytes": check_bytes,
    "trees": check_trees,
}


def part(what: str, device: str, limit: float, current: Any, seeds: range) -> tuple[int, int, dict[int, str]]:
    """Returns the number of programs run, the number compiled, and the failures."""
    import cuprous as cp

    cp._core.set_device(device)
    done = good = 0
    failures: dict[int, str] = {}
    for seed in seeds:
        if time.monotonic() > limit or len(failures) >= 10:
            break
        if current is not None:
            current.value = seed
        done += 1
        try:
            good += CHECKS[what](seed) is not False
        except AssertionError as error:
            failures[seed] = str(error)
    return done, good, failures


def child(queue: Any, *rest: Any) -> None:
    """Runs a part of the work in its own process."""
    queue.put(part(*rest))


def main() -> int:
    """Runs the command; returns 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.fuzz", description=__doc__)
    parser.add_argument("--what", choices=CHECKS, default="threads")
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=0, help="default: one a core")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no program after that time")
    args = parser.parse_args()
    device = select(args.device)
    processes = args.processes or (os.cpu_count() or 1)
    start = time.monotonic()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = []
    for k in range(processes):
        current = context.Value("q", -1, lock=False)
        seeds = range(args.seed + k, args.seed + args.programs, processes)
        rest = (queue, args.what, device, start + args.seconds, current, seeds)
        workers.append((context.Process(target=child, args=rest), current))
        workers[-1][0].start()
    done = good = 0
    failures: dict[int, str] = {}
    waiting = len(workers)
    while waiting:
        try:
            a, b, c = queue.get(timeout=1)
        except Exception:
            dead = [(p, current) for p, current in workers if p.exitcode not in (None, 0)]
            for process, current in dead:
                failures[current.value] = f"the process ended with {process.exitcode}"
                workers.remove((process, current))
                waiting -= 1
            continue
        done, good, waiting = done + a, good + b, waiting - 1
        failures.update(c)
    for seed, text in sorted(failures.items()):
        print(f"# seed {seed}\n{text}", file=sys.stderr)
    print(f"{done} {args.what} on {args.device}, {good} of them compiled: {len(failures)} failed; "
          f"{time.monotonic() - start:.1f} s")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
