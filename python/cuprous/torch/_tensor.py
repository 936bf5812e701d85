"""The methods of `Tensor` that are not also functions. `attach` registers all methods with the native type."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import (
    _conversions,
    _creation,
    _diagonals,
    _filling,
    _histograms,
    _indexing,
    _joining,
    _ordering,
    _pointwise,
    _printing,
    _products,
    _random_numbers,
    _rearrangement,
    _reductions,
    _sampling,
    _scatter_reduce,
    _shape,
    _statistics,
    _types,
)
from cuprous.torch._args import astype, by_name, in_place, unsupported, wrap_dim
from cuprous.torch._keywords import complete
from cuprous.torch._memory_format import LAYOUTS
from cuprous.torch._storage import TypedStorage, UntypedStorage
from cuprous.torch.autograd._hooks import RemovableHandle


def size(self: Tensor, dim: int | None = None) -> Any:
    """Returns the shape, or the extent of one dimension.

    Parameters
    ----------
    dim : int, optional
        The dimension; None for all.

    Returns
    -------
    Size
        A `torch.Size`, or an integer.

    Examples
    --------
    >>> torch.ones(2, 3).size()
    torch.Size([2, 3])
    >>> torch.ones(2, 3).size(1)
    3
    """
    return self.shape if dim is None else self.dims[wrap_dim(dim, self.ndim)]


def stride(self: Tensor, dim: int | None = None) -> Any:
    """Returns the strides in elements, of all dimensions or of one.

    Parameters
    ----------
    dim : int, optional
        The dimension; None for all.

    Returns
    -------
    tuple
        A tuple of integers, or an integer.

    Examples
    --------
    >>> torch.ones(2, 3).stride()
    (3, 1)
    """
    strides = self.stride_tuple()
    return strides if dim is None else strides[wrap_dim(dim, self.ndim)]


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets whether the tensor requires a gradient, and returns it.

    Parameters
    ----------
    requires_grad : bool, default True
        Whether operations on the tensor are recorded for gradients.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> x = torch.tensor([3.0]).requires_grad_()
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([6.])
    """
    self.requires_grad = requires_grad
    return self


def detach_(self: Tensor) -> Tensor:
    """Detaches the tensor from the graph in place, which makes it a leaf.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    RuntimeError
        For a view of a tensor that was computed from one that requires a gradient.

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True) * 2
    >>> x.detach_().requires_grad
    False
    """
    self.leave_graph()
    return self


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Registers a function that is called with each gradient of the tensor.

    Parameters
    ----------
    hook : callable
        A function of the gradient; a tensor that it returns replaces the gradient.

    Returns
    -------
    RemovableHandle
        A handle whose `remove` removes the function.

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> (2 * x).sum().backward()
    >>> x.grad
    tensor([20.])
    """
    number = self.add_hook(hook)
    return RemovableHandle(lambda: self.remove_hook(number))


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Registers a function that is called with this leaf after its gradient was accumulated.

    Parameters
    ----------
    hook : callable
        A function of the tensor.

    Returns
    -------
    RemovableHandle
        A handle whose `remove` removes the function.

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda x: print("has a gradient"))
    >>> (2 * x).sum().backward()
    has a gradient
    """
    leaf = weakref.ref(self)

    def call() -> None:
        tensor = leaf()
        if tensor is not None:
            hook(tensor)

    number = self.add_after_hook(call)
    return RemovableHandle(lambda: self.remove_hook(number))


def _new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def new(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
            layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
        unsupported(f"new_{make.__name__}", layout=(layout, None))
        return make(*args, dtype=self.dtype if dtype is None else dtype, pin_memory=pin_memory,
                    device=self.device if device is None else device, requires_grad=requires_grad)  # fmt: skip

    name = make.__name__
    new.__doc__ = f"""Returns `torch.{name}` with the tensor's dtype and device.

    Parameters
    ----------
    *args : any
        The arguments of `torch.{name}`.
    dtype : dtype, optional
        Another dtype.
    device : device or str, optional
        Another device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> torch.tensor([1.0], dtype=torch.float64).new_{name}({"(2,), 7" if name == "full" else "(2,)"}).dtype
    torch.float64
    """
    return new


def __iter__(self: Tensor) -> Iterator[Tensor]:
    """Iterates over the first dimension."""
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(_joining.unbind(self))


def __contains__(self: Tensor, item: Any) -> bool:
    """Returns True if some element equals the item."""
    return bool((self == item).any())


def __format__(self: Tensor, spec: str) -> str:
    """Formats a tensor without dimensions as its number."""
    return format(self.item(), spec) if not self.ndim and (spec or type(self) is Tensor) else format(str(self), spec)


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Returns a copy of a leaf.

    Raises
    ------
    RuntimeError
        For tensors that are not leaves.
    """
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    if id(self) not in memo:
        copy = _core.t_cast(self.detach(), self.dtype_name)
        other = type(self)(copy, requires_grad=self.requires_grad)
        if self.grad is not None:
            other.grad = __deepcopy__(self.grad.detach(), {})
        other.__dict__.update(getattr(self, "__dict__", {}))
        memo[id(self)] = other
    return memo[id(self)]


def _rebuild(cls: type, host: Any, name: str, device_name: str, requires_grad: bool) -> Tensor:
    value = _core.t_wrap(_core.from_numpy(host, "cpu"))
    return cls(_core.t_to_device(astype(value, name), device_name), requires_grad=requires_grad)


def __reduce_ex__(self: Tensor, protocol: int) -> tuple[Any, ...]:
    """Supports pickling of leaves by their values."""
    if not self.is_leaf:
        raise RuntimeError("only leaves can be pickled; use tensor.detach()")
    host = self.detach().to_numpy()
    host = host.astype("float32") if self.dtype_name == "bfloat16" else host
    return _rebuild, (type(self), host, self.dtype_name, self.device_name, self.requires_grad)


def __dlpack__(self: Tensor, **options: Any) -> Any:
    """Exports the memory to other libraries (DLPack)."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    array: Any = self.as_array()
    return array.__dlpack__(**options)


def __dlpack_device__(self: Tensor) -> Any:
    """Returns the DLPack device of the memory."""
    array: Any = self.as_array()
    return array.__dlpack_device__()


def ndimension(self: Tensor) -> int:
    """Returns the number of dimensions.

    Returns
    -------
    int

    Examples
    --------
    >>> torch.ones(2, 3).ndimension()
    2
    """
    return self.ndim


def get_device(self: Tensor) -> int:
    """Returns the GPU's index, or -1 for the CPU.

    Returns
    -------
    int

    Examples
    --------
    >>> torch.ones(2).get_device()
    -1
    """
    return -1 if self.device_name == "cpu" else int(self.device_name.partition(":")[2] or 0)


def new(self: Tensor, *args: Any) -> Tensor:
    """Returns a tensor of the given extents or values, with this tensor's dtype and device.

    Parameters
    ----------
    *args : int or sequence of ints
        The extents, or the values.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> torch.ones(2).new([1, 2])
    tensor([1., 2.])
    """
    return _creation.of_sizes_or_values(args, self.dtype, self.device)


def _viewed(name: str, extents: str, arguments: str, result: str) -> Callable[..., Tensor]:
    view = _shape.METHODS[name]

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._become_view(view(self, *args, **kwargs))
        return self

    change.forwards_to = view  # type: ignore[attr-defined]  # whose names of parameters it takes

    return named(
        change,
        f"{name}_",
        f"""Changes the tensor's shape as `{name}` does.

    Parameters
    ----------
    *args : any
        The arguments of `{name}` after the tensor.
    **kwargs : any
        The keywords of `{name}`.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    RuntimeError
        For a leaf that requires gradients, while gradients are recorded.

    Examples
    --------
    >>> torch.ones({extents}).{name}_({arguments}).shape
    torch.Size([{result}])
    """,
    )


def relu(self: Tensor) -> Tensor:
    """Returns `max(x, 0)`. The gradient at 0 is 0.

    Returns
    -------
    Tensor
        A tensor of the same shape and dtype.

    Examples
    --------
    >>> torch.tensor([-1.0, 2.0]).relu()
    tensor([0., 2.])
    """
    return _core.t_map("where", _core.t_map("less_equal", self, 0), 0, self)


def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Returns the tensor where the condition is true, otherwise `other`.

    Parameters
    ----------
    condition : Tensor
        A bool tensor.
    other : Tensor or number
        A tensor or number that broadcasts with the tensor.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    Examples
    --------
    >>> x = torch.tensor([-1, 2])
    >>> x.where(x > 0, 0)
    tensor([0, 2])
    """
    return _core.t_map("where", condition, self, other)


def same(self: Tensor) -> Tensor:
    """Returns the tensor itself: conjugation and negation are never deferred.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> x = torch.ones(2)
    >>> x.resolve_conj() is x
    True
    """
    return self


def is_signed(self: Tensor) -> bool:
    """Returns True if the dtype has negative numbers.

    Returns
    -------
    bool

    Examples
    --------
    >>> torch.tensor([1], dtype=torch.uint8).is_signed()
    False
    """
    return self.dtype.is_signed


def is_shared(self: Tensor) -> bool:
    """Returns False: memory is not shared between processes.

    Returns
    -------
    bool

    Examples
    --------
    >>> torch.ones(2).is_shared()
    False
    """
    return False


def is_inference(self: Tensor) -> bool:
    """Returns False: tensors made in inference mode are ordinary ones.

    Returns
    -------
    bool

    Examples
    --------
    >>> torch.ones(2).is_inference()
    False
    """
    return False


def record_stream(self: Tensor, s: Any) -> None:
    """Has no effect: memory is not reused before all streams have finished with it.

    Parameters
    ----------
    s : Stream
        A stream.

    Examples
    --------
    >>> torch.ones(2).record_stream(None)
    """


def is_tensor(obj: Any) -> bool:
    """Returns True if the object is a tensor.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_storage, torch.is_floating_point, torch.is_complex, torch.is_signed

    Examples
    --------
    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def storage(self: Tensor) -> TypedStorage:
    """Returns the memory, in elements.

    Returns
    -------
    TypedStorage

    Examples
    --------
    >>> torch.tensor([1, 2]).storage().size()
    2
    """
    return TypedStorage(self)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Returns the memory, in bytes.

    Returns
    -------
    UntypedStorage

    Examples
    --------
    >>> torch.tensor([1, 2]).untyped_storage().nbytes()
    16
    """
    return UntypedStorage(self)


_METHODS = by_name(
    storage, untyped_storage,
    size, stride, requires_grad_, detach_, register_hook, ndimension, get_device, new, relu, where, record_stream,
    register_post_accumulate_grad_hook, __iter__, __contains__, __format__, __deepcopy__, __reduce_ex__,
    __dlpack__, __dlpack_device__, is_signed, is_shared, is_inference,
    in_place(relu, "torch.tensor([-1.0, 2.0]).relu_() -> tensor([0., 2.])"),
    in_place(_diagonals.tril, "torch.ones(2, 2).tril_() -> tensor([[1., 0.],\n                [1., 1.]])"),
    in_place(_diagonals.triu, "torch.ones(2, 2).triu_() -> tensor([[1., 1.],\n                [0., 1.]])"),
    _viewed("squeeze", "2, 1", "", "2"), _viewed("unsqueeze", "2, 3", "0", "1, 2, 3"),
    _viewed("transpose", "2, 3", "0, 1", "3, 2"), _viewed("t", "2, 3", "", "3, 2"),
    _viewed("swapaxes", "2, 3", "0, 1", "3, 2"), _viewed("swapdims", "2, 3", "0, 1", "3, 2"),
    _viewed("as_strided", "4", "(2,), (2,)", "2"),
) | {
    "bernoulli": _random_numbers.bernoulli, "__repr__": _printing.text, "__str__": _printing.text,
    "_repr_html_": _printing.html,
    "resolve_conj": same, "resolve_neg": same, "ger": _products.outer,
}  # fmt: skip


#: Attributes: how they are read, and what they are.
_PROPERTIES: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "H": (_shape.adjoint, "The conjugate transpose of a matrix."),
    "mH": (_shape.adjoint, "The conjugate transposes of a batch of matrices."),
    "real": (_pointwise.real, "The real part, as a copy; a real tensor itself."),
    "imag": (_pointwise.imag, "The imaginary part of a complex tensor, as a copy."),
    "is_cuda": (lambda self: self.device_name != "cpu", "True for a tensor on a GPU."),
    "is_cpu": (lambda self: self.device_name == "cpu", "True for a tensor in host memory."),
    **{
        f"is_{kind}": (lambda self: False, f"False: no tensor is {kind}.")
        for kind in ("sparse", "meta", "mps", "xpu", "nested", "quantized")
    },
    "itemsize": (lambda self: self.element_size(), "The bytes of an element."),
    "nbytes": (lambda self: self.numel() * self.element_size(), "The bytes of all elements."),
    "layout": (lambda self: LAYOUTS["strided"], "`torch.strided`, the only layout of tensors."),
}


#: Functions that the native type calls: for cases that it does not handle itself, and for PyTorch's own types.
_HOOKS: dict[str, Callable[..., Any]] = {
    "tensor_device": _types.DEVICES.__getitem__,
    "tensor_dtype": _types.DTYPES.__getitem__,
    "tensor_getitem": _indexing.getitem,
    "tensor_new": lambda args, kwargs: _creation.tensor_new(*args, **(kwargs or {})),
    "tensor_setitem": _indexing.setitem,
    "tensor_size": _types.Size,
}


def register(more: dict[str, Callable[..., Any]]) -> None:
    """Gives the native type methods, attributes and hooks: once, when the package is imported. `more` are
    further methods."""
    tables = (_pointwise.METHODS, _reductions.METHODS, _shape.METHODS, _joining.METHODS, _diagonals.METHODS,
              _indexing.METHODS, _ordering.METHODS, _products.METHODS, _sampling.METHODS, _rearrangement.METHODS,
              _scatter_reduce.METHODS, _statistics.METHODS, _histograms.METHODS, _conversions.METHODS,
              _filling.METHODS, _METHODS, more)  # fmt: skip
    for table in tables:
        for name, method in complete(table).items():
            setattr(Tensor, name, method)
    for name, (getter, doc) in _PROPERTIES.items():
        setattr(Tensor, name, property(getter, doc=doc))
    new = {f"new_{name}": _new(getattr(_creation, name)) for name in ("zeros", "ones", "empty", "full", "tensor")}
    for name, method in complete(new).items():
        setattr(Tensor, name, method)
    Tensor.__array_priority__ = 1000  # so that NumPy leaves operators to the tensor
    for name, hook in _HOOKS.items():
        _core.set_hook(name, hook)
