"""Random operands, as recipes that create the same array with NumPy and Cuprous."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
#: Dtypes by the letters of a kind.
KINDS = {"b": ["bool"], "i": INTEGERS[:4], "u": INTEGERS[4:], "f": FLOATS, "c": COMPLEX}
ANY = "biufc"
REAL = "biuf"
#: Python integers at the limits of dtypes and beyond.
INTS = [0, 1, -1, 2, 3, -2, 7, 100, 127, 128, -128, -129, 255, 256, 300, 2**15, 2**16, 2**31 - 1, 2**31, -(2**31) - 1,
        2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30]  # fmt: skip
SMALL_INTS = [0, 1, -1, 2, 3, -2, 5, -7]
FLOAT_VALUES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, float("inf"), float("-inf"), float("nan"), 1e300, 1e-300, 70000.0,
]  # fmt: skip


class Operand:
    """An array: host values, seen through views. `make` builds it once for a run (`env`), so that aliases alias."""

    def __init__(self, values: np.ndarray[Any, Any], *views: tuple[str, Any], of: Operand | None = None) -> None:
        self.values, self.views, self.of = values, list(views), of
        #: The same truth values for Cuprous: the bytes of true elements may be any value except 0.
        self.bytes: Any = None
        self.host: Any = self.seen(np, values if of is None else of.host)

    def seen(self, xp: Any, a: Any) -> Any:
        """Applies the views to an array of a library."""
        for what, how in self.views:
            if what == "index":
                a = a[how]
            elif what == "transpose":
                a = a.transpose(how)
            else:
                a = xp.broadcast_to(a, how)
        return a

    def make(self, xp: Any, env: dict[Any, Any]) -> Any:
        if self.of is not None:
            return self.seen(xp, self.of.make(xp, env))
        if id(self) not in env:
            given = self.values if self.bytes is None else self.bytes
            base = self.values.copy() if xp is np else xp.asarray(given)
            env[id(self)] = (base, self.seen(xp, base))
        return env[id(self)][1]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.host.shape)

    @property
    def ndim(self) -> int:
        return int(self.host.ndim)

    @property
    def kind(self) -> str:
        return str(self.host.dtype.kind)

    @property
    def dtype(self) -> str:
        return str(self.host.dtype.name)

    @property
    def size(self) -> int:
        return int(self.host.size)

    def show(self) -> str:
        if self.of is not None:
            text = self.of.show()
        else:
            text = f"xp.array({self.values.tolist()!r}, {self.values.dtype.name!r})"
            if self.bytes is not None:
                text = f"xp.asarray(np.array({self.bytes.view('u1').tolist()}, 'u1').view('?'))"
            if self.values.size == 0:
                text = f"xp.zeros({self.values.shape}, {self.values.dtype.name!r})"
        for what, how in self.views:
            if what == "index":
                items = how if isinstance(how, tuple) else (how,)
                text += f"[{', '.join(_index(i) for i in items)}]"
            elif what == "transpose":
                text += f".transpose({how})"
            else:
                text = f"xp.broadcast_to({text}, {how})"
        return text


def _index(i: Any) -> str:
    if isinstance(i, slice):
        return ":".join("" if x is None else str(x) for x in (i.start, i.stop, i.step))
    return repr(i)


class Draw:
    """Draws the arguments of a call."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        #: True if values may be extreme. Sums and casts to integers are compared only for moderate values.
        self.wild = True
        self.finite = False

    def pick(self, options: Sequence[T]) -> T:
        return options[self.rng.randrange(len(options))]

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def some(self, p: float = 0.35, **options: Any) -> dict[str, Any]:
        """Draws some of the keyword arguments; callable values are called."""
        return {k: v() if callable(v) else v for k, v in options.items() if self.chance(p)}

    def dtype(self, kinds: str = ANY) -> str:
        return self.pick(KINDS[self.pick(kinds)])

    def wider(self, a: Operand) -> str:
        """Draws a dtype that holds the array's values; casts of negative floats to unsigned integers are undefined in
        C."""
        return self.dtype({"c": "c", "f": "if"}.get(a.kind, "iuf"))

    def shape(self, ndim: int | None = None, least: int = 0, most: int = 3) -> tuple[int, ...]:
        if ndim is None:
            ndim = self.pick([0, 1, 1, 1, 2, 2, 3])
            ndim = min(max(ndim, least), most)
        if ndim == 1 and self.chance(0.1):
            return (self.pick([17, 70, 300]),)
        return tuple(self.pick([0, 1, 2, 3, 3, 4, 5]) for _ in range(ndim))

    def values(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        n = int(np.prod(shape, dtype=np.int64))
        kind = np.dtype(dtype).kind
        wild = self.wild and self.chance(0.5)
        if kind == "b":
            flat: Any = [self.chance(0.5) for _ in range(n)]
        elif kind in "iu":
            info = np.iinfo(dtype)
            low = 0 if kind == "u" else -6
            ends = [int(info.min), int(info.max), 0, 1, int(info.max) - 1, int(info.min) + 1]
            flat = [self.pick(ends) if wild and self.chance(0.4) else self.rng.randint(low, 9) for _ in range(n)]
        else:
            flat = [self._float(dtype, wild) for _ in range(n)]
            if kind == "c":
                flat = [complex(x, self._float(dtype, wild)) for x in flat]
        with np.errstate(all="ignore"):
            return np.array(flat, dtype).reshape(shape)

    def _float(self, dtype: str, wild: bool) -> float:
        if wild and self.chance(0.4):
            info = np.finfo(dtype)
            ends = [0.0, -0.0, float(info.max), float(info.min), float(info.tiny), float(info.eps), 1e-3, 1e4]
            if not self.finite:
                ends += [float("inf"), float("-inf"), float("nan")]
            return self.pick(ends)
        return self.rng.randint(-16, 16) / 4

    def array(
        self, kinds: str = ANY, shape: tuple[int, ...] | None = None, *, ndim: int | None = None, least: int = 0,
        most: int = 3, dtype: str | None = None, plain: bool = False,
    ) -> Operand:  # fmt: skip
        """Draws an array, possibly seen through views; with `plain`, every element has its own memory."""
        shape = self.shape(ndim, least, most) if shape is None else shape
        operand = self._seen(shape, dtype or self.dtype(kinds), plain)
        values = operand.values
        if values.dtype == bool and values.size and self.chance(0.3):
            true = np.array([self.pick([1, 2, 127, 128, 255]) for _ in range(values.size)], "u1")
            operand.bytes = np.asarray(values * true.reshape(values.shape)).view(bool)
        return operand

    def _seen(self, shape: tuple[int, ...], dtype: str, plain: bool) -> Operand:
        how = self.rng.random()
        if how < 0.55 or not shape:
            return Operand(self.values(dtype, shape))
        axis = self.rng.randrange(len(shape))
        key = [slice(None)] * len(shape)
        if how < 0.68:
            key[axis] = slice(None, None, -1)
            return Operand(self.values(dtype, shape), ("index", tuple(key)))
        if how < 0.8:
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            base = tuple(shape[i] for i in order)
            inverse = tuple(order.index(i) for i in range(len(order)))
            return Operand(self.values(dtype, base), ("transpose", inverse))
        if how < 0.92 or plain:
            wide = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
            key[axis] = slice(None, None, 2)
            return Operand(self.values(dtype, wide), ("index", tuple(key)))
        narrow = (*shape[:axis], 1, *shape[axis + 1 :])
        return Operand(self.values(dtype, narrow), ("broadcast", shape))

    def beside(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Draws a shape that nearly always broadcasts with another one."""
        if self.chance(0.02):
            return self.shape()
        cut = self.rng.randrange(len(shape) + 1) if self.chance(0.3) else 0
        return tuple(1 if self.chance(0.2) else n for n in shape[cut:])

    def scalar(self, kinds: str = ANY) -> Any:
        """Draws a Python or NumPy scalar."""
        kind = self.pick(kinds)
        if self.chance(0.5):
            with np.errstate(all="ignore"):
                return self.values(self.pick(KINDS[kind]), ())[()]
        if kind == "b":
            return self.chance(0.5)
        if kind in "iu":
            return self.pick(INTS) if self.wild else self.pick(SMALL_INTS)
        number: Any = self.pick(FLOAT_VALUES) if self.wild and not self.finite else self.rng.randint(-16, 16) / 4
        return complex(number, self.rng.randint(-4, 4) / 2) if kind == "c" else number

    def operand(self, kinds: str = ANY, shape: tuple[int, ...] | None = None, p: float = 0.25) -> Any:
        """Draws a scalar or an array."""
        return self.scalar(kinds) if self.chance(p) else self.array(kinds, shape)

    def axis(self, a: Operand, none: bool = False) -> Any:
        """Draws an axis, rarely an invalid one."""
        if none and self.chance(0.2):
            return None
        if not a.ndim or self.chance(0.02):
            return self.pick([0, -1, 5])
        return self.rng.randrange(-a.ndim, a.ndim)

    def axes(self, a: Operand) -> Any:
        """Draws one axis, several axes, or None."""
        if self.chance(0.3) and a.ndim:
            return tuple(self.rng.sample(range(a.ndim), self.rng.randint(0, a.ndim)))
        return self.axis(a, True)

    def mask(self, shape: tuple[int, ...]) -> Operand:
        return self.array("b", self.beside(shape))

    def out(self, shape: tuple[int, ...], dtype: str, *operands: Any, exact: bool = False) -> Operand:
        """Draws an output: nearly always of the result's shape and dtype, sometimes an operand or a view of one."""
        if exact:  # NumPy crashes in some others
            return self.array(shape=shape, dtype=dtype, plain=True)
        same = [x for x in operands if isinstance(x, Operand) and x.shape == shape and x.of is None]
        same = [x for x in same if not any(w == "broadcast" for w, _ in x.views)]
        if same and self.chance(0.3):
            x = self.pick(same)
            if shape and self.chance(0.3):
                return Operand(x.values, ("index", slice(None, None, -1)), of=x)
            return x
        if self.chance(0.15):
            dtype = self.dtype()
        if self.chance(0.03):
            shape = (*shape, 2)
        return self.array(shape=shape, dtype=dtype, plain=True)


class Case:
    """A call: the path of the function (`add`, `linalg.inv`, `ndarray.sum`, `add.reduce`) and its arguments."""

    def __init__(
        self, path: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None, kind: str = "exact"
    ) -> None:
        self.path, self.args, self.kwargs, self.kind = path, list(args), kwargs or {}, kind

    def operands(self) -> list[Operand]:
        found: list[Operand] = []
        walk([*self.args, *self.kwargs.values()], found.append)
        return found

    def run(self, xp: Any, env: dict[Any, Any]) -> Any:
        def build(x: Operand) -> Any:
            return x.make(xp, env)

        args = walk(self.args, build)
        kwargs = {k: walk(v, build) for k, v in self.kwargs.items()}
        head, *rest = self.path.split(".")
        if head == "ndarray":
            target: Any = args.pop(0)
        elif head == "operator":
            import operator

            target = operator
        else:
            target, rest = xp, [head, *rest]
        for name in rest:
            target = getattr(target, name)
        return target(*args, **kwargs) if callable(target) else target

    def show(self) -> str:
        args = [text(x) for x in self.args]
        if self.path.startswith("ndarray."):
            name = f"({args.pop(0)}).{self.path[8:]}"
        else:
            name = self.path if self.path.startswith("operator.") else f"xp.{self.path}"
        return f"{name}({', '.join(args + [f'{k}={text(v)}' for k, v in self.kwargs.items()])})"


def walk(x: Any, change: Callable[[Operand], Any]) -> Any:
    """Returns `x` with `change` applied to its operands, including those in lists and tuples."""
    if isinstance(x, Operand):
        return change(x)
    if type(x) is list:
        return [walk(i, change) for i in x]
    if type(x) is tuple:
        return tuple(walk(i, change) for i in x)
    return x


def text(x: Any) -> str:
    """Returns an argument as Python source."""
    if isinstance(x, Operand):
        return x.show()
    if isinstance(x, np.generic):
        return f"np.{type(x).__name__}({x.item()!r})"
    if type(x) in (list, tuple):
        inner = ", ".join(map(text, x))
        return f"[{inner}]" if type(x) is list else f"({inner},)"
    return repr(x)
