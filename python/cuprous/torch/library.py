"""`torch.library`: functions of a program's own under `torch.ops`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cuprous.torch import _aten, _placeholders
from cuprous.torch._placeholders import UnsupportedError
from cuprous.torch.autograd import Function


class CustomOpDef:
    """A function that is registered under `torch.ops`. It is called like any Python function.

    Parameters
    ----------
    namespace : str
        The library's name.
    name : str
        The name in it.
    fn : callable
        The function.
    device_types : str or sequence of str, optional
        The types of devices that it is for; None for all.

    See Also
    --------
    torch.library.custom_op, torch.library.Library

    Examples
    --------
    >>> @torch.library.custom_op("docs::triple", mutates_args=())
    ... def triple(x: torch.Tensor) -> torch.Tensor:
    ...     return 3 * x
    >>> isinstance(triple, torch.library.CustomOpDef)
    True
    """

    def __init__(self, namespace: str, name: str, fn: Callable[..., Any], device_types: Any = None) -> None:
        self._namespace, self._name, self._qualname = namespace, name, f"{namespace}::{name}"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._function: type[Function] | None = None
        self._signature = inspect.signature(fn)
        self.register_kernel(device_types, fn)

    def register_kernel(self, device_types: Any, func: Callable[..., Any] | None = None, /) -> Any:
        """Registers the function for types of devices.

        Parameters
        ----------
        device_types : str, sequence of str or None
            The types, such as "cpu"; None for all.
        func : callable, optional
            The function; None for a decorator.

        Returns
        -------
        callable
            The function, or a decorator.

        Examples
        --------
        >>> @torch.library.custom_op("docs::fourfold", mutates_args=())
        ... def fourfold(x: torch.Tensor) -> torch.Tensor:
        ...     return 4 * x
        >>> kernel = fourfold.register_kernel("cpu", lambda x: x + x + x + x)
        >>> fourfold(torch.ones(2))
        tensor([4., 4.])
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            kinds = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            for kind in kinds:
                self._functions[kind or "all"] = function
            return function

        return register if func is None else register(func)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Returns the function, which would say shapes without computing. Here they follow from the result.

        Parameters
        ----------
        fn : callable
            The function.

        Returns
        -------
        callable

        Examples
        --------
        >>> @torch.library.custom_op("docs::fivefold", mutates_args=())
        ... def fivefold(x: torch.Tensor) -> torch.Tensor:
        ...     return 5 * x
        >>> fake = fivefold.register_fake(torch.empty_like)
        """
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Sets the backward pass.

        Parameters
        ----------
        backward : callable
            Gets a context and the gradients of the results; returns the gradients of the arguments.
        setup_context : callable, optional
            Gets the context, the arguments and the result, and saves what the backward pass needs.

        Examples
        --------
        >>> @torch.library.custom_op("docs::sixfold", mutates_args=())
        ... def sixfold(x: torch.Tensor) -> torch.Tensor:
        ...     return 6 * x
        >>> sixfold.register_autograd(lambda ctx, grad: 6 * grad)
        >>> x = torch.ones(2, requires_grad=True)
        >>> sixfold(x).sum().backward()
        >>> x.grad
        tensor([6., 6.])
        """
        operation = self

        class Recorded(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                result = operation._compute(args)
                if setup_context is not None:
                    setup_context(ctx, args, result)
                return result

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return backward(ctx, *grads)

        self._function = Recorded

    def _compute(self, args: Sequence[Any]) -> Any:
        kind = next((a.device.type for a in args if hasattr(a, "device")), "cpu")
        function = self._functions.get(kind) or self._functions.get("all")
        if function is None:
            raise NotImplementedError(f"{self._qualname}: no function is registered for {kind}")
        return function(*args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function for the arguments' device."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if self._function is not None:
            return self._function.apply(*bound.args)
        return self._compute(bound.args)

    default = property(lambda self: self)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


class _Namespace:
    """The functions of one library: `torch.ops.mylib`."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._name == "aten":
            return _aten.operation(name)
        known = f"{self._name}.{name}"
        if known in _AT_IMPORT:
            return lambda: _AT_IMPORT[known]
        for path in _refused:
            if self._name.strip("_") in os.path.basename(path):
                return _refused_function(known, path)
        raise UnsupportedError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}': only operations of "
                               "torch.library.custom_op are there")  # fmt: skip


def _refused_function(name: str, path: str) -> Callable[..., Any]:
    """Returns what stands for a function of a library that was loaded: packages take theirs when they are imported."""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise UnsupportedError(f"[torch.ops.{name}] is a function of {path}, which is compiled against PyTorch's C++ "
                               "library, which Cuprous does not have: do without it, or write its kernel with "
                               "cuprous.cuda.jit or RawKernel")  # fmt: skip

    return refuse


class _Operations:
    """`torch.ops`: the registered functions by library."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = _Namespace(name)
        return self.__dict__[name]

    def load_library(self, path: str) -> None:
        """Accepts a library that is compiled against PyTorch, so that packages can be imported. Its functions are not
        there: using one raises the error that names the library.

        Parameters
        ----------
        path : str
            A file.

        Raises
        ------
        OSError
            If there is no such file.
        """
        if not os.path.exists(path):
            raise OSError(f"{path}: cannot open shared object file: No such file or directory")
        _refused.append(str(path))


#: Libraries that programs have loaded, whose functions are refused.
_refused: list[str] = []
#: Functions of such libraries that packages call when they are imported, and what they return.
_AT_IMPORT: dict[str, Any] = {"_torchaudio.is_align_available": False, "_torchaudio.cuda_version": None}


#: `torch.ops` and `torch.classes`.
ops, classes = _Operations(), _Operations()


def _split(name: str) -> tuple[str, str]:
    namespace, separator, rest = name.partition("::")
    if not separator or not namespace or not rest:
        raise ValueError(f"expected a name of the form namespace::name, got {name!r}")
    return namespace, rest.partition(".")[0]


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:  # fmt: skip
    """Registers a function under `torch.ops`. It is a decorator too.

    Parameters
    ----------
    name : str
        Such as "mylib::mul".
    fn : callable, optional
        The function.
    mutates_args : str or iterable of str
        The arguments that it writes to, which are found by themselves here.
    device_types : str or sequence of str, optional
        The types of devices that it is for; None stands for all.
    schema : str, optional
        Has no effect: it follows from the function.
    tags : sequence of str, optional
        Has no effect.

    Returns
    -------
    object
        The operation.

    See Also
    --------
    torch.library.register_autograd, torch.library.register_kernel, torch.library.register_fake,
    torch.library.CustomOpDef

    Examples
    --------
    >>> @torch.library.custom_op("docs::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.ops.docs.double(torch.ones(2))
    tensor([2., 2.])
    """
    namespace, short = _split(name)

    def register(function: Callable[..., Any]) -> CustomOpDef:
        operation = CustomOpDef(namespace, short, function, device_types)
        getattr(ops, namespace).__dict__[short] = operation
        return operation

    return register if fn is None else register(fn)


def _operation(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    namespace, name = _split(op)
    found: CustomOpDef = getattr(getattr(ops, namespace), name)
    return found


def register_fake(
    op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """Returns the function, which would say shapes without computing. Here they follow from the result.

    Parameters
    ----------
    op : str or CustomOpDef
        The operation.
    func : callable, optional
        The function; None for a decorator.
    lib : Library, optional
        For PyTorch's signature; it has no effect.
    allow_override : bool, default False
        Has no effect.

    Returns
    -------
    callable
        The function, or a decorator.

    See Also
    --------
    torch.library.custom_op, torch.library.register_autograd

    Examples
    --------
    >>> torch.library.register_fake("docs::double", torch.empty_like) is torch.empty_like
    True
    """
    return (lambda function: function) if func is None else func


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Registers a function of an operation for types of devices.

    Parameters
    ----------
    op : str or CustomOpDef
        The operation.
    device_types : str or sequence of str
        The types, such as "cpu"; None for all.
    func : callable, optional
        The function; None for a decorator.
    lib : Library, optional
        For PyTorch's signature; it has no effect.

    Returns
    -------
    callable
        The function, or a decorator.

    See Also
    --------
    torch.library.custom_op, torch.library.impl, torch.library.register_fake

    Examples
    --------
    >>> @torch.library.custom_op("docs::sevenfold", mutates_args=())
    ... def sevenfold(x: torch.Tensor) -> torch.Tensor:
    ...     return 7 * x
    >>> kernel = torch.library.register_kernel(sevenfold, "cpu", lambda x: 7 * x)
    """
    return _operation(op).register_kernel(device_types, func)


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Sets the backward pass of an operation.

    Parameters
    ----------
    op : str or CustomOpDef
        The operation.
    backward : callable
        Gets a context and the gradients of the results; returns the gradients of the arguments.
    setup_context : callable, optional
        Gets the context, the arguments and the result, and saves what the backward pass needs.
    lib : Library, optional
        For PyTorch's signature; it has no effect.

    See Also
    --------
    torch.library.custom_op, torch.library.register_kernel, torch.autograd.Function

    Examples
    --------
    >>> @torch.library.custom_op("docs::eightfold", mutates_args=())
    ... def eightfold(x: torch.Tensor) -> torch.Tensor:
    ...     return 8 * x
    >>> torch.library.register_autograd(eightfold, lambda ctx, grad: 8 * grad)
    """
    _operation(op).register_autograd(backward, setup_context=setup_context)


class Library:
    """A library of functions: `define` names one, `impl` gives it.

    Parameters
    ----------
    ns : str
        The library's name in `torch.ops`.
    kind : {"DEF", "FRAGMENT", "IMPL"}
        "DEF", "FRAGMENT" or "IMPL".
    dispatch_key : str, default ""
        The device for `impl`.

    See Also
    --------
    torch.library.define, torch.library.impl, torch.library.custom_op

    Examples
    --------
    >>> library = torch.library.Library("docs_lib", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declares a function.

        Parameters
        ----------
        schema : str
            Its name, arguments and result.
        alias_analysis : str, default ""
            Has no effect.
        tags : sequence of str, optional
            Has no effect.

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> torch.library.Library("docs_lib2", "DEF").define("twice(Tensor x) -> Tensor")
        'twice'
        """
        return schema.partition("(")[0]

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:  # fmt: skip
        """Gives the function of an operation for a device.

        Parameters
        ----------
        op_name : str
            The operation's name.
        fn : callable
            The function.
        dispatch_key : str, default ""
            "CPU", "CUDA" or "CompositeExplicitAutograd", by default that of the library.
        with_keyset : bool, default False
            For PyTorch's signature; it has no effect.
        allow_override : bool, default False
            Has no effect.

        Examples
        --------
        >>> library = torch.library.Library("docs_lib3", "DEF")
        >>> _ = library.define("twice(Tensor x) -> Tensor")
        >>> library.impl("twice", lambda x: 2 * x, "CPU")
        >>> torch.ops.docs_lib3.twice(torch.ones(2))
        tensor([2., 2.])
        """
        name = str(op_name).rpartition("::")[2].partition(".")[0]
        kind = (dispatch_key or self.dispatch_key).lower()
        kind = kind if kind in ("cpu", "cuda") else ""
        if kind == "" and (dispatch_key or self.dispatch_key) in ("Meta", "AutocastCUDA", "AutocastCPU"):
            return
        space = getattr(ops, self.ns).__dict__
        if name in space:
            space[name].register_kernel(kind or None, fn)
        else:
            space[name] = CustomOpDef(self.ns, name, fn, kind or None)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Declares an operation, which `impl` gives its function.

    Parameters
    ----------
    qualname : str
        The name, such as "mylib::mul".
    schema : str
        The arguments and the result.
    lib : Library, optional
        For PyTorch's signature; it has no effect.
    tags : sequence of str, optional
        Has no effect.

    See Also
    --------
    torch.library.impl, torch.library.Library, torch.library.custom_op

    Examples
    --------
    >>> torch.library.define("docs_lib4::twice", "(Tensor x) -> Tensor")
    """
    _split(qualname)


def impl(qualname: str, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Gives the function of an operation for types of devices.

    Parameters
    ----------
    qualname : str
        The name, such as "mylib::mul".
    types : str or sequence of str
        The types, such as "cpu", or "default" for all.
    func : callable, optional
        The function; None for a decorator.
    lib : Library, optional
        For PyTorch's signature; it has no effect.

    Returns
    -------
    callable
        The function, or a decorator.

    See Also
    --------
    torch.library.define, torch.library.register_kernel, torch.library.Library

    Examples
    --------
    >>> torch.library.define("docs_lib5::twice", "(Tensor x) -> Tensor")
    >>> _ = torch.library.impl("docs_lib5::twice", "default", lambda x: 2 * x)
    >>> torch.ops.docs_lib5.twice(torch.ones(2))
    tensor([2., 2.])
    """
    namespace, name = _split(qualname)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in [types] if isinstance(types, str) else types:
            key = {"default": "", "CompositeExplicitAutograd": ""}.get(kind, kind)
            Library(namespace, "FRAGMENT").impl(name, function, key)
        return function

    return register if func is None else register(func)


def wrap_triton(kernel: Any, /) -> Any:
    """Returns the kernel itself.

    Parameters
    ----------
    kernel : callable
        The kernel.

    Returns
    -------
    callable
        The kernel.

    See Also
    --------
    torch.library.custom_op, torch.library.register_kernel

    Examples
    --------
    >>> torch.library.wrap_triton(torch.sin) is torch.sin
    True
    """
    return kernel


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("library", name)


__all__ = [
    "CustomOpDef", "Library", "classes", "custom_op", "define", "impl", "impl_abstract", "ops", "register_autograd",
    "register_fake", "register_kernel", "wrap_triton",
]  # fmt: skip
