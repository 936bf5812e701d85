"""Types of kernels' arguments, with Numba's names: `float32`, `int64[:]`, `float32[:, ::1]`, `void(int32[:])`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Type:
    """A type. `t[:]` is an array type, `t(a, b)` a signature, and `t(x)` in a kernel a conversion.

    See Also
    --------
    cuda.types.Array, cuda.types.Record, cuda.types.as_type, cuda.types.typeof

    Examples
    --------
    >>> types.float32
    float32
    """

    def __init__(self, name: str, key: tuple[Any, ...]) -> None:
        self.name = name
        self._kernel_type = key

    @property
    def key(self) -> tuple[Any, ...]:
        """The engine's key of the type."""
        return self._kernel_type

    @property
    def bitwidth(self) -> int:
        """Bits of a number."""
        import numpy as np

        return int(np.dtype(self.name).itemsize) * 8

    def _of(self, kind: str) -> tuple[Any, ...]:
        """The parts of an array's or a tuple's key."""
        if self._kernel_type[0] != kind:
            raise AttributeError(f"{self.name} is the type of no {kind}")
        return self._kernel_type[1:]

    @property
    def dtype(self) -> Type:
        """For an array type, the type of the elements."""
        elem = self._of("array")[0]
        return as_type(elem) if isinstance(elem, str) else Record(elem)

    @property
    def ndim(self) -> int:
        """For an array type, the number of axes."""
        return int(self._of("array")[1])

    @property
    def layout(self) -> str:
        """For an array type, the layout: C, F, or A for any strides."""
        return str(self._of("array")[2])

    @property
    def underlying_float(self) -> Type:
        """For a complex type, the type of the parts."""
        if self not in complex_domain:
            raise AttributeError(f"{self.name} is not a complex type")
        return float32 if self == complex64 else float64

    def __len__(self) -> int:
        return len(self._of("tuple"))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Type]:
        return iter([_from_key(key) for key in self._of("tuple")])

    def __getitem__(self, index: Any) -> Type:
        axes = index if isinstance(index, tuple) else (index,)
        if (len(self._kernel_type) != 1 and self._kernel_type[0] != "record") or not all(
            isinstance(axis, slice) for axis in axes
        ):
            raise KeyError(f"an array's type is written {self.name}[:] or {self.name}[:, ::1]")
        order = "A"
        if axes[-1].step == 1:
            order = "C"
        elif axes[0].step == 1:
            order = "F"
        return Array(self, len(axes), order)

    def __call__(self, *args: Any) -> Any:
        if args and not any(isinstance(a, Type) for a in args):
            import numpy as np

            return np.dtype(self.name).type(*args)
        return Signature(self, args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and other._kernel_type == self._kernel_type

    def __hash__(self) -> int:
        return hash(self._kernel_type)

    def __repr__(self) -> str:
        return self.name


class Signature:
    """A function's return type and argument types.

    See Also
    --------
    cuda.types.signature_of, cuda.types.argument_types

    Examples
    --------
    >>> types.void(types.float32[:])
    none(array(float32, 1d, A))
    """

    def __init__(self, return_type: Type, args: tuple[Any, ...]) -> None:
        self.return_type = return_type
        self.args = tuple(as_type(a) for a in args)

    def __repr__(self) -> str:
        return f"{self.return_type}({', '.join(map(repr, self.args))})"


class NoneType(Type):
    """The type of None, and the return type of kernels.

    See Also
    --------
    cuda.types.Type

    Examples
    --------
    >>> types.none
    none
    """

    def __init__(self, name: str = "none") -> None:
        super().__init__(name, ("none",))


class Array(Type):
    """The type of an array: C, F, or A for any strides.

    See Also
    --------
    cuda.types.Type, cuda.types.Record, cuda.types.typeof

    Examples
    --------
    >>> types.Array(types.float32, 2, "C")
    array(float32, 2d, C)
    """

    def __init__(self, dtype: Any, ndim: int, layout: str = "A") -> None:
        item = as_type(dtype)
        axes = [":"] * ndim
        if layout == "C":
            axes[-1] = "::1"
        elif layout == "F":
            axes[0] = "::1"
        elem = item.key if item.key[0] == "record" else item.key[0]
        super().__init__(f"array({item}, {ndim}d, {layout})", ("array", elem, ndim, layout))


class Record(Type):
    """The type of a record: of NumPy's structured dtype, or of the engine's name of it.

    See Also
    --------
    cuda.types.Type, cuda.types.Array

    Examples
    --------
    >>> types.typeof(np.zeros(1, [("x", np.float32)])[0])
    Record([('x', '<f4')])
    """

    def __init__(self, dtype: Any) -> None:
        if isinstance(dtype, tuple) and dtype[0] == "record":
            super().__init__("Record", dtype)
            return
        import numpy as np

        dtype = np.dtype(dtype)
        fields = []
        for name in dtype.names:
            of, offset = dtype.fields[name][:2]
            base, shape = of.subdtype or (of, ())
            fields.append((name, offset, as_type(base).key, tuple(shape)))
        super().__init__(f"Record({dtype})", ("record", dtype.itemsize, tuple(fields)))


class Tuple(Type):
    """The type of a tuple of those types.

    See Also
    --------
    cuda.types.UniTuple, cuda.types.Type

    Examples
    --------
    >>> types.Tuple((types.int32, types.float32))
    Tuple(int32, float32)
    """

    def __init__(self, items: Any) -> None:
        parts = [as_type(t) for t in items]
        super().__init__(f"Tuple({', '.join(map(str, parts))})", ("tuple", *(p.key for p in parts)))


class UniTuple(Tuple):
    """The type of a tuple of one type.

    See Also
    --------
    cuda.types.Tuple, cuda.types.Type

    Examples
    --------
    >>> types.UniTuple(types.int32, 3)
    Tuple(int32, int32, int32)
    """

    def __init__(self, dtype: Any, count: int) -> None:
        super().__init__([dtype] * count)


def _from_key(key: tuple[Any, ...]) -> Type:
    if key[0] == "array":
        return Array(key[1] if isinstance(key[1], str) else Record(key[1]), key[2], key[3])
    if key[0] == "tuple":
        return Tuple([_from_key(part) for part in key[1:]])
    if key[0] == "record":
        return Record(key)
    if key[0] == "dtype":
        return Type(f"class({key[1]})", key)
    return none if key[0] == "none" else as_type(key[0])


def as_type(t: Any) -> Type:
    """Converts a type, a NumPy dtype, a Python class or None to a type.

    Raises
    ------
    TypeError
        For anything else.

    See Also
    --------
    cuda.types.typeof, cuda.types.signature_of

    Examples
    --------
    >>> types.as_type(np.float32)
    float32
    """
    if isinstance(t, Type):
        return t
    if t is None:
        return none
    if isinstance(t, str):
        found = globals().get(t)
        if isinstance(found, Type):
            return found
    import numpy as np

    try:
        dtype = np.dtype(t)
        if dtype.kind in "Mm":  # kernels compute with counts
            return Type(dtype.name, int64.key)
        return Record(dtype) if dtype.names else _BY_NAME[dtype.name]
    except (TypeError, KeyError):
        raise TypeError(f"{t!r} is not a type of kernel arguments") from None


def typeof(value: Any) -> Type:
    """Returns the type of a value as a kernel argument.

    See Also
    --------
    cuda.types.as_type, cuda.types.signature_of

    Examples
    --------
    >>> types.typeof(np.zeros((2, 2), np.float32))
    array(float32, 2d, C)
    """
    import numpy as np

    if value is None:
        return none
    if isinstance(value, np.void) and value.dtype.names:
        return Record(value.dtype)
    if isinstance(value, Type) or (isinstance(value, type) and issubclass(value, np.generic)):
        # A class as an argument is the dtype of arrays that the kernel creates.
        number = as_type(value)
        return Type(f"class({number})", ("dtype", number.name))
    if isinstance(value, tuple):
        return Tuple([typeof(v) for v in value])
    if hasattr(value, "shape") and hasattr(value, "strides") and not isinstance(value, np.generic):
        order = "A"
        flags = getattr(value, "flags", None)
        if flags is not None:
            order = "C" if flags["C_CONTIGUOUS"] else "F" if flags["F_CONTIGUOUS"] else "A"
        return Array(value.dtype, len(value.shape), order)
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int):
        return int64 if -(1 << 63) <= value < 1 << 63 else uint64
    return as_type(np.asarray(value).dtype)


def _scalar(name: str) -> Type:
    return Type(name, (name,))


none = NoneType()
void = none
boolean = _scalar("bool")
int8, int16, int32, int64 = map(_scalar, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(_scalar, ("uint8", "uint16", "uint32", "uint64"))
float16, bfloat16, float32, float64 = map(_scalar, ("float16", "bfloat16", "float32", "float64"))
complex64, complex128 = map(_scalar, ("complex64", "complex128"))
_SCALARS = (
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64,
    complex128,
)  # fmt: skip
_BY_NAME = {t.name: t for t in _SCALARS}

#: Types by kind.
signed_domain = frozenset([int8, int16, int32, int64])
unsigned_domain = frozenset([uint8, uint16, uint32, uint64])
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset([float32, float64])
complex_domain = frozenset([complex64, complex128])
number_domain = real_domain | integer_domain | complex_domain

b1 = bool_ = boolean
i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
byte, char, uchar = uint8, int8, uint8
short, ushort = int16, uint16
intc, uintc = int32, uint32
intp, uintp = int64, uint64
int_, uint = int64, uint64
long_, ulong, longlong, ulonglong = int64, uint64, int64, uint64
float_, double = float32, float64


def signature_of(text: Any) -> Signature | tuple[Type, ...]:
    """Parses a signature from a string, a signature, or a tuple of argument types.

    Raises
    ------
    TypeError
        For anything else.

    See Also
    --------
    cuda.types.argument_types, cuda.types.Signature

    Examples
    --------
    >>> types.signature_of("void(float32[:], int32)")
    none(array(float32, 1d, A), int32)
    """
    if isinstance(text, str):
        text = eval(text, {"__builtins__": {}}, globals())
    if isinstance(text, Signature):
        return text
    if isinstance(text, (tuple, list)):
        return tuple(as_type(t) for t in text)
    if isinstance(text, Type):
        return (text,)
    raise TypeError(f'{text!r} is not a signature; write "void(float32[:], int32)"')


def argument_types(signature: Any) -> tuple[Type, ...]:
    """Returns the argument types of what `signature_of` accepts.

    See Also
    --------
    cuda.types.signature_of, cuda.types.Signature

    Examples
    --------
    >>> types.argument_types((types.float32[:],))
    (array(float32, 1d, A),)
    """
    found = signature_of(signature)
    return found.args if isinstance(found, Signature) else found
