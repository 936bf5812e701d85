"""`vectorize` and `guvectorize`: turn functions of elements or rows into functions of whole arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert
from cuprous.cuda import _pickling, types
from cuprous.cuda._arrays import as_cuda_array
from cuprous.cuda._generated_functions import make_function, result_types
from cuprous.cuda._intrinsics import grid
from cuprous.cuda._jit import jit
from cuprous.cuda._reduce import Reduce

#: Further options of Numba's decorators, and their accepted values.
_OPTIONS = {"cache": "code is always kept on disk", "fastmath": "", "nopython": "kernels never need Python"}


def _jit_options(options: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise KeyError(f"Unrecognized options. Got {unknown} but expected {sorted(_OPTIONS)}")
    if "nopython" in options:
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=4)
    return {"fastmath": bool(options.get("fastmath"))}


def _check_target(target: str) -> None:
    if target not in ("cuda", "cpu", "parallel"):
        raise ValueError(f"Unsupported target: {target!r}; the device of the arguments, or the default one, is used")


def _signatures(declared: Any) -> list[types.Signature]:
    signatures = [types.signature_of(s) for s in (declared if isinstance(declared, (list, tuple)) else [declared])]
    for s in signatures:
        if not isinstance(s, types.Signature):
            raise TypeError(f'{s!r} does not say what is returned; write "float32(float32, float32)"')
    return [s for s in signatures if isinstance(s, types.Signature)]


def _item(t: types.Type) -> str:
    """Returns the dtype of a scalar or array type."""
    return str(t.key[1] if t.key[0] == "array" else t.key[0])


def _operand(value: Any) -> Any:
    """Converts an argument to a device array, a NumPy array or a Python number."""
    if getattr(getattr(value, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(f"an array function takes no {value.dtype}: pass counts, x.view('int64'), and view the result")
    if isinstance(value, (ndarray, np.ndarray, np.generic, bool, int, float, complex)):
        return value
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "as_array"):
        return convert(value)
    return np.asarray(value)


def _dtype(value: Any) -> np.dtype[Any]:
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _choose(inputs: list[Any], choices: list[list[str]], name: str) -> int:
    """The signature for some arguments: exact dtypes, then the first that all of them convert to without loss."""
    argument_dtypes = [_dtype(v).name for v in inputs]
    if argument_dtypes in choices:
        return choices.index(argument_dtypes)
    for k, choice in enumerate(choices):
        pairs = zip(inputs, choice, strict=True)
        if all(_converts(v, dtypes.numpy_dtype(w)) for v, w in pairs):
            return k
    raise TypeError(f"No matching version.  {name} takes {choices}, not {argument_dtypes}; convert with astype")


def _converts(value: Any, to: np.dtype[Any]) -> bool:
    if isinstance(value, (bool, int, float, complex)):  # as in NumPy: Python's numbers adapt within their kind
        return np.can_cast(np.result_type(to, value), to, "same_kind")
    return np.can_cast(_dtype(value), to, "safe")


def _as_output(out: Any) -> Any:
    """Returns an output array; one of another library becomes a device array on its memory."""
    known = out is None or isinstance(out, (ndarray, np.ndarray))
    return as_cuda_array(out) if not known and hasattr(out, "__cuda_array_interface__") else out


class _Results:
    """Where results go: arrays out_array with `out=`, or new ones on the side where the arguments are."""

    def __init__(self, out: Any, count: int, inputs: list[Any]) -> None:
        out_array = (list(out) if isinstance(out, tuple) else [out]) if out is not None else [None] * count
        self.outs = [_as_output(o) for o in out_array]
        if len(self.outs) != count:
            raise ValueError(f"{count} outputs, but out= has {len(self.outs)}")
        self.on_host = not any(isinstance(v, ndarray) for v in [*inputs, *self.outs])

    def target(self, k: int, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Returns the array to compute output `k` in."""
        out_array = self.outs[k]
        ones = len(shape) - out_array.ndim if out_array is not None else 0  # `out` may lack leading axes of length 1
        if out_array is not None and (1,) * ones + tuple(out_array.shape) != shape:
            raise ValueError(f"output {k} has shape {tuple(out_array.shape)}, the result {shape}")
        if isinstance(out_array, ndarray) and out_array.dtype_name == dtype and out_array.is_c_contiguous and not ones:
            return out_array
        return cuprous.empty(shape, dtype)

    def finish(self, targets: list[ndarray]) -> Any:
        """Returns the results to the caller, after copying them to `out=` or the host."""
        results: list[Any] = []
        for out_array, target in zip(self.outs, targets, strict=True):
            if out_array is not None and out_array is not target:
                shaped = target.reshape(out_array.shape)
                out_array[...] = cuprous.asnumpy(shaped) if isinstance(out_array, np.ndarray) else shaped
            if out_array is not None:
                results.append(out_array)
            elif self.on_host:
                host = cuprous.asnumpy(target)
                results.append(host if host.ndim else host[()])
            else:
                results.append(target)
        return results[0] if len(results) == 1 else tuple(results)


def _rebuilt(kind: Any, function: tuple[Any, ...], made_of: tuple[Any, ...]) -> Any:
    return kind(_pickling.restored(*function), *made_of)


class _ArrayFunction:
    """A function with a device function at its core. Pickles by name if importable, otherwise by the code of its
    function.

    Parameters
    ----------
    function : callable
        The function, or a kernel of it.
    options : dict
        The options of the device function.
    made_of : tuple
        The further arguments of the class.
    """

    def __init__(self, function: Any, options: dict[str, Any], made_of: tuple[Any, ...]) -> None:
        self.py_func = self.__wrapped__ = getattr(function, "py_func", function)
        self.__name__, self.__doc__ = self.py_func.__name__, self.py_func.__doc__
        self.__module__ = self.py_func.__module__
        self.core = jit(device=True, **options)(self.py_func)
        self._constructor_arguments = made_of

    def __reduce__(self) -> Any:
        if _pickling.is_importable(self.py_func):
            return str(self.py_func.__qualname__)
        return _rebuilt, (type(self), _pickling.reduced(self.py_func), self._constructor_arguments)


class UFunc(_ArrayFunction):
    """A function of elements; calling it works on arrays that broadcast. See `vectorize`."""

    def __init__(self, function: Any, signatures: list[types.Signature], options: dict[str, Any]) -> None:
        super().__init__(function, options, (signatures, options))
        self.signatures = signatures
        self.nin = self.py_func.__code__.co_argcount
        for s in signatures:
            if len(s.args) != self.nin:
                raise TypeError(f"{self.__name__} takes {self.nin} arguments, {s!r} has {len(s.args)}")
        self._returns: dict[tuple[str, ...], list[str]] = {
            tuple(map(_item, s.args)): [_item(s.return_type)] for s in signatures
        }
        self._kernels: dict[int, Any] = {}

    def _types(self, inputs: list[Any]) -> tuple[tuple[str, ...], list[str]]:
        """The dtypes that it computes with and returns."""
        if self.signatures:
            choices = [list(key) for key in self._returns]
            key = tuple(choices[_choose(inputs, choices, self.__name__)])
            return key, self._returns[key]
        key = tuple(_dtype(v).name for v in inputs)
        if key not in self._returns:
            found = result_types(self.core, [types.as_type(t) for t in key])
            if not found:
                raise TypeError(f"{self.__name__} returns nothing")
            self._returns[key] = found
        return key, self._returns[key]

    def _kernel(self, nout: int) -> Any:
        if nout not in self._kernels:
            ins, outs = [f"a{k}" for k in range(self.nin)], [f"r{k}" for k in range(nout)]
            call = f"core({', '.join(f'{a}[i]' for a in ins)})"
            body = ["i = grid(1)", "if i < r0.size:", f"    {', '.join(f'{r}[i]' for r in outs)} = {call}"]
            function = make_function(f"vectorized_{self.__name__}", ins + outs, body, {"grid": grid, "core": self.core})
            self._kernels[nout] = jit(function)
        return self._kernels[nout]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """The function of each element. Results are NumPy's where all arrays are; `out` takes them where it is given.

        Raises
        ------
        TypeError
            For another number of arguments, or dtypes that no signature takes.
        ValueError
            For shapes that do not broadcast.
        """
        if len(args) not in (self.nin, self.nin + 1):
            raise TypeError(f"{self.__name__}() takes {self.nin} arguments and out=, got {len(args)}")
        if len(args) > self.nin:
            out = args[-1]
        inputs = [_operand(v) for v in args[: self.nin]]
        key, returns = self._types(inputs)
        results = _Results(out, len(returns), inputs)
        shape = np.broadcast_shapes(*(np.shape(v) for v in inputs))
        if results.outs[0] is not None:
            shape = np.broadcast_shapes(shape, results.outs[0].shape)
        targets = [results.target(k, shape, dtype) for k, dtype in enumerate(returns)]
        flat = [_flat(convert(v, dtype), shape) for v, dtype in zip(inputs, key, strict=True)]
        if targets[0].size:
            self._kernel(len(returns)).forall(targets[0].size)(*flat, *(t.reshape(-1) for t in targets))
        return results.finish(targets)

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Reduces a 1-d array by a function of two values.

        Raises
        ------
        TypeError
            If the function does not take two values, or for an array of other axes, or of no elements.
        """
        if self.nin != 2:
            raise TypeError(f"{self.__name__} takes {self.nin} values: reduce needs a function of two")
        values = convert(arg)
        if values.ndim != 1 or not values.size:
            raise TypeError("Reduction on an empty array." if values.ndim == 1 else "must use 1d array")
        key, _ = self._types([values, values])
        values = convert(values, key[0])
        first, rest = values[:1], values[1:]
        result = Reduce(self.core)(rest, init=first.item()) if rest.size else first.item()
        return dtypes.numpy_dtype(key[0]).type(result)


def _flat(x: ndarray, shape: tuple[int, ...]) -> ndarray:
    """Returns all elements on one axis; broadcast elements take no memory."""
    if x.size == 1:
        count = int(np.prod(shape))
        return cuprous.broadcast_to(x.reshape(1), (count,))
    return cuprous.broadcast_to(x, shape).reshape(-1)


def vectorize(ftylist_or_function: Any = (), *, target: str = "cuda", identity: Any = None, **options: Any) -> Any:
    """Returns a function of arrays that computes a function of numbers for each element.

    Parameters
    ----------
    ftylist_or_function : list of str, optional
        Signatures, such as `["float32(float32, float32)"]`, of which the first that fits the arguments is taken; or the
        function itself, for which types follow from the arguments.
    target : str, default "cuda"
        Has no effect: it runs where its arguments are, or on the default device.
    identity : scalar, optional
        For Numba's signature; only None.
    **options : any
        `fastmath=True` for approximate functions and divisions.

    Returns
    -------
    callable
        A function of arrays that broadcast; a decorator if no function is given.

    Raises
    ------
    KeyError
        For other options.
    NotImplementedError
        For `identity`.

    Examples
    --------
    >>> @cuda.vectorize(["float64(float64, float64)"])
    ... def hypotenuse(a, b):
    ...     return (a * a + b * b) ** 0.5
    >>> hypotenuse(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])
    """
    _check_target(target)
    if identity is not None:
        raise NotImplementedError("[vectorize] identity= is not supported; leave it out")
    jit_options = _jit_options(options)
    if callable(ftylist_or_function) and not isinstance(ftylist_or_function, types.Type):
        return UFunc(ftylist_or_function, [], jit_options)
    signatures = _signatures(ftylist_or_function) if ftylist_or_function else []
    return lambda function: UFunc(function, signatures, jit_options)


# --- functions of rows


def _axes(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """Parses the names of axes in a signature such as `(m,n),(n)->(m)`."""
    compact = re.sub(r"\s", "", text)
    if not re.fullmatch(r"(\(\w*(,\w+)*\),?)+->(\(\w*(,\w+)*\),?)+", compact):
        raise ValueError(f"invalid token in signature: {text!r}; write '(n),(n)->()'")
    sides = [re.findall(r"\(([^)]*)\)", side) for side in compact.split("->")]
    parts = [[[name for name in group.split(",") if name] for group in side] for side in sides]
    return parts[0], parts[1]


def _counted(n: int) -> str:
    return f"{n} positional argument{'s' * (n != 1)}"


class GUFunc(_ArrayFunction):
    """A function of rows; calling it works on arrays whose other axes broadcast. See `guvectorize`."""

    def __init__(self, function: Any, signatures: list[Any], signature: str, options: dict[str, Any]) -> None:
        super().__init__(function, options, (signatures, signature, options))
        self.signature = signature
        self.inputs, self.outputs = _axes(signature)
        known = {name for axes in self.inputs for name in axes}
        self.needs_out = any(name not in known for axes in self.outputs for name in axes)
        self.types = [types.argument_types(s) for s in signatures]
        for row_types in self.types:
            if len(row_types) != len(self.inputs) + len(self.outputs):
                raise TypeError(f"{self.__name__}: {signature} has {len(self.inputs) + len(self.outputs)} arguments, "
                                f"a list of types {len(row_types)}")  # fmt: skip
        self._kernels: dict[tuple[bool, ...], Any] = {}

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """The function of each row. Results are NumPy's where all arrays are; `out` takes them where it is out_arrays.

        Raises
        ------
        TypeError
            For another number of arguments, or dtypes that no list of types takes.
        ValueError
            For extents that do not fit, and where `out` is needed and missing.
        """
        nin = len(self.inputs)
        if len(args) > nin:
            if out is not None:
                raise ValueError("cannot specify argument 'out' as both positional and keyword")
            out = tuple(args[nin:])
        if len(args) not in (nin, nin + len(self.outputs)):
            raise TypeError(
                f"This gufunc accepts {_counted(nin)} (when providing input only) or "
                f"{_counted(nin + len(self.outputs))} (when providing input and output). Got {_counted(len(args))}."
            )
        inputs = [_operand(v) for v in args[:nin]]
        out_arrays = tuple(map(_as_output, out if isinstance(out, tuple) else () if out is None else (out,)))
        chosen = self._chosen(inputs, out_arrays)
        results = _Results(out_arrays or None, len(self.outputs), inputs)
        extents: dict[str, int] = {}
        loops = [self._measure(k, np.shape(v), extents) for k, v in enumerate(inputs)]
        if out_arrays and self.needs_out:
            for axes, o in zip(self.outputs, out_arrays, strict=True):
                extents.update({name: o.shape[k - len(axes)] for k, name in enumerate(axes) if name not in extents})
        if any(name not in extents for axes in self.outputs for name in axes):
            raise ValueError(f"{self.__name__}: {self.signature} does not say how large its result is: give out=")
        loop = np.broadcast_shapes(*loops)
        count = int(np.prod(loop))
        rows = []
        for v, t, axes in zip(inputs, chosen, self.inputs, strict=False):
            core = tuple(extents[name] for name in axes)
            array = convert(v, _item(t))
            rows.append(cuprous.broadcast_to(array, (*loop, *core)).reshape((count, *core)))
        targets = [
            results.target(k, (*loop, *(extents[name] for name in axes)), _item(t))
            for k, (axes, t) in enumerate(zip(self.outputs, chosen[nin:], strict=True))
        ]
        if count:
            outs = [t.reshape((count, *t.shape[len(loop) :])) for t in targets]
            self._kernel(chosen).forall(count)(count, *rows, *outs)
        return results.finish(targets)

    def _chosen(self, inputs: list[Any], out_arrays: tuple[Any, ...]) -> tuple[types.Type, ...]:
        nin = len(self.inputs)
        if self.types:
            choices = [[_item(t) for t in ts[:nin]] for ts in self.types]
            if len(choices) == 1 and self._is_narrower(inputs, choices[0]):
                return self.types[0]
            return self.types[_choose(inputs, choices, self.__name__)]
        if not out_arrays:
            raise ValueError(f"{self.__name__} has no types: it needs its outputs as arguments")
        found: list[types.Type] = []
        for v, axes in zip([*inputs, *out_arrays], self.inputs + self.outputs, strict=True):
            t = types.as_type(_dtype(v))
            is_row = axes or len(found) >= nin
            found.append(types.Array(t, max(len(axes), 1)) if is_row else t)
        return tuple(found)

    @staticmethod
    def _is_narrower(inputs: list[Any], row_dtypes: list[str]) -> bool:
        """Whether arrays of the host become the only types that there are by a cast within their kind.

        Raises
        ------
        TypeError
            If one of a device would.
        """
        cast = [v for v, w in zip(inputs, row_dtypes, strict=True) if not _converts(v, dtypes.numpy_dtype(w))]
        kinds = zip(inputs, row_dtypes, strict=True)
        if not all(np.can_cast(_dtype(v), dtypes.numpy_dtype(w), "same_kind") for v, w in kinds):
            return False
        for v in cast:
            if isinstance(v, ndarray):
                raise TypeError(
                    f"compatible signature is possible by casting but {type(v).__name__} does not support .astype()"
                    f" here: convert it from {v.dtype} before the call"
                )
        return bool(cast)

    def _measure(self, k: int, shape: tuple[int, ...], extents: dict[str, int]) -> tuple[int, ...]:
        """Records the extents of an argument's core axes and returns the extents of its loop axes."""
        axes = self.inputs[k]
        if len(shape) < len(axes):
            raise ValueError(f"{self.__name__}: argument {k} has {len(shape)} axes, {self.signature} wants {len(axes)}")
        for name, n in zip(axes, shape[len(shape) - len(axes) :], strict=True):
            if extents.setdefault(name, n) != n:
                raise ValueError(f"{self.__name__}: axis {name} of argument {k} is {n} long, before {extents[name]}")
        return shape[: len(shape) - len(axes)]

    def _kernel(self, chosen: tuple[types.Type, ...]) -> Any:
        wants_array = tuple(t.key[0] == "array" for t in chosen)
        if wants_array not in self._kernels:
            names = [f"a{k}" for k in range(len(chosen))]
            axes = self.inputs + self.outputs
            # Without axes of its own an argument is a number, or a row of one element where the types say so.
            parts = [
                f"{name}[i : i + 1]" if array and not own else f"{name}[i]"
                for name, own, array in zip(names, axes, wants_array, strict=True)
            ]
            body = ["i = grid(1)", "if i < count:", f"    core({', '.join(parts)})"]
            space = {"grid": grid, "core": self.core}
            self._kernels[wants_array] = jit(make_function(f"rows_{self.__name__}", ["count", *names], body, space))
        return self._kernels[wants_array]


def guvectorize(
    ftylist: Any, signature: str | None = None, *, target: str = "cuda", identity: Any = None,
    writable_args: Any = (), **options: Any,
) -> Callable[[Any], GUFunc]:  # fmt: skip
    """Returns a decorator for functions of rows, which write their results into their last arguments. They become
    functions of arrays.

    Parameters
    ----------
    ftylist : list of str
        Types, such as `["void(float32[:], float32[:], float32[:])"]`; without them, types follow from the arguments,
        and results must be given.
    signature : str, optional
        The axes, such as `"(n),(n)->()"`.
    target : str, default "cuda"
        Has no effect: it runs where its arguments are, or on the default device.
    identity : scalar, optional
        For Numba's signature; only None.
    writable_args : tuple of ints, optional
        For Numba's signature; only ().
    **options : any
        `fastmath=True` for approximate functions and divisions.

    Returns
    -------
    callable
        A decorator.

    Raises
    ------
    NotImplementedError
        For `identity` and `writable_args`.
    TypeError, ValueError
        For other options, and types or axes that do not go together.

    Examples
    --------
    >>> @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    ... def total(row, out):
    ...     out[0] = 0
    ...     for i in range(row.size):
    ...         out[0] += row[i]
    >>> total(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    _check_target(target)
    for name, value in (("identity", identity), ("writable_args", writable_args)):
        if value not in (None, ()):
            raise NotImplementedError(f"[guvectorize] {name}= is not supported; leave it out")
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise TypeError(f"The following target options are not supported: {', '.join(unknown)}")
    if not options.pop("nopython", True):
        raise TypeError("nopython flag must be True")
    jit_options = _jit_options(options)
    if signature is None:
        if not isinstance(ftylist, str) or "->" not in ftylist:
            raise TypeError("guvectorize() needs a signature as '(n),(n)->()'")
        ftylist, signature = [], ftylist
    found = [types.signature_of(s) for s in (ftylist if isinstance(ftylist, (list, tuple)) else [ftylist])]
    for s in found:
        if isinstance(s, types.Signature) and s.return_type is not types.none:
            raise TypeError(
                f"guvectorized functions cannot return values: signature {s!r} specifies {s.return_type} return type"
            )
    return lambda function: GUFunc(function, found, signature, jit_options)
