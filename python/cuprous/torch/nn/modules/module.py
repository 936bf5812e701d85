"""`Module`: parameters, buffers and submodules by name, and operations on all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch._creation import empty_like
from cuprous.torch._sharded import Sharded
from cuprous.torch.nn.modules._hooks import Hooks
from cuprous.torch.nn.modules._state import _EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from cuprous.torch.nn.modules._state import State, _IncompatibleKeys  # noqa: F401
from cuprous.torch.nn.parameter import Buffer, Parameter

M = TypeVar("M", bound="Module")
FN = TypeVar("FN", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class _Forwards(Protocol[P, R]):
    """What has a `forward`. Type checkers know from it what calling a module takes and returns."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


def names_layer(forward: FN) -> FN:
    """Decorates `forward` so that error messages contain the layer and the shapes of its arguments."""

    @functools.wraps(forward)
    def named(self: Module, *inputs: Any, **more: Any) -> Any:
        try:
            return forward(self, *inputs, **more)
        except (RuntimeError, ValueError) as error:
            shapes = ", ".join(str(list(x.dims)) for x in (*inputs, *more.values()) if isinstance(x, Tensor))
            raise type(error)(f"[{self!r}] {error} (met an input of shape {shapes})") from None

    return cast(FN, named)


def bound(name: str, settings: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of a layer that is generated from a table: the arguments given, otherwise the defaults.

    Raises
    ------
    TypeError
        For an argument that the layer does not take.
    """
    if len(args) > len(settings) or not kwargs.keys() <= settings.keys():
        raise TypeError(f"{name}() takes the arguments {', '.join(settings) or '(none)'}")
    return settings | dict(zip(settings, args, strict=False)) | kwargs


class Module(State, Hooks):
    """A part of a network. Subclasses create their parts in `__init__` and compute in `forward`.

    Attributes that are parameters, modules or registered buffers are registered by name, in the order in which they are
    set. Names of nested parts are joined by dots, as in `state_dict()`.

    Parameters
    ----------
    *args : any
        Only for subclasses that take arguments.
    **kwargs : any
        Only for subclasses that take arguments.

    See Also
    --------
    torch.nn.Parameter, torch.nn.Buffer

    Examples
    --------
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(4, 2)
    ...
    ...     def forward(self, x):
    ...         return self.linear(x).relu()
    >>> Net()(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() takes no arguments that are not its own")
        set_ = object.__setattr__
        set_(self, "training", True)
        set_(self, "_parameters", {})
        set_(self, "_buffers", {})
        set_(self, "_modules", {})
        set_(self, "_non_persistent", set())
        set_(self, "_forward_hooks", {})
        set_(self, "_forward_pre_hooks", {})
        set_(self, "_backward_hooks", {})
        set_(self, "_hooked", False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result. Subclasses define it.

        Parameters
        ----------
        *args : any
            The inputs.
        **kwargs : any
            The inputs by name.

        Returns
        -------
        Tensor
            The result.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.

        Examples
        --------
        >>> nn.Linear(3, 2).forward(torch.ones(4, 3)).shape
        torch.Size([4, 2])
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    if TYPE_CHECKING:

        def __call__(self: _Forwards[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Calls `forward`, with the hooks before and after it."""
            if not self._hooked:
                return self.forward(*args, **kwargs)
            return self._with_hooks(args, kwargs)

    # --- attributes
    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            if table in tables and name in tables[table]:
                return tables[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        parameters = tables.get("_parameters")
        if isinstance(value, (Parameter, Module)):
            if parameters is None:
                what = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            table_name = "_parameters" if isinstance(value, Parameter) else "_modules"
            for table in ("_parameters", "_buffers", "_modules"):
                if table != table_name:
                    tables[table].pop(name, None)
            tables.pop(name, None)
            tables[table_name][name] = value
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or "
                                "None expected)")  # fmt: skip
            parameters[name] = None
        elif parameters is not None and name in tables["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{type(value).__name__}' object to buffer '{name}' (torch Tensor or "
                                "None required)")  # fmt: skip
            tables["_buffers"][name] = value
        elif parameters is not None and isinstance(value, Buffer):
            tables.pop(name, None)
            self.register_buffer(name, value, value.persistent)
        elif parameters is not None and name in tables["_modules"] and value is None:
            tables["_modules"][name] = None
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter; None reserves the name.

        Parameters
        ----------
        name : str
            The name, without dots.
        param : Parameter or None
            The parameter.

        Raises
        ------
        KeyError
            For a name that is empty, has a dot or is taken.
        TypeError
            For anything but a parameter or None.

        Examples
        --------
        >>> module = nn.Module()
        >>> module.register_parameter("scale", nn.Parameter(torch.ones(2)))
        >>> module.scale.shape
        torch.Size([2])
        """
        self._check_name(name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}'")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is not a parameter but part of the module's state.

        Parameters
        ----------
        name : str
            The name, without dots.
        tensor : Tensor or None
            The tensor; None reserves the name.
        persistent : bool, default True
            Whether `state_dict` contains it.

        Raises
        ------
        KeyError
            For a name that is empty, has a dot or is taken.
        TypeError
            For anything but a tensor or None.

        Examples
        --------
        >>> module = nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> list(module.state_dict())
        ['mean']
        """
        self._check_name(name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}'")
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule.

        Parameters
        ----------
        name : str
            The name, without dots.
        module : Module or None
            The submodule; None reserves the name.

        Raises
        ------
        KeyError
            For a name that is empty, has a dot or is taken.
        TypeError
            For anything but a module or None.

        Examples
        --------
        >>> module = nn.Module()
        >>> module.add_module("first", nn.ReLU())
        >>> module
        Module(
          (first): ReLU()
        )
        """
        self._check_name(name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parts before Module.__init__() call")
        if "." in name or not name:
            raise KeyError(f'the name of a part can\'t contain "." or be empty, got: {name!r}')
        if hasattr(self, name) and all(name not in self.__dict__[t] for t in ("_parameters", "_buffers", "_modules")):
            raise KeyError(f"attribute '{name}' already exists")

    def get_submodule(self, target: str) -> Module:
        """Returns the submodule with a dotted name.

        Parameters
        ----------
        target : str
            The names of nested submodules, joined by dots.

        Returns
        -------
        Module
            The module.

        Raises
        ------
        AttributeError
            For an unknown name.

        Examples
        --------
        >>> nn.Sequential(nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module = self
        for part in target.split(".") if target else []:
            found = getattr(module, part, None)
            if not isinstance(found, Module):
                what = "has no attribute" if found is None else "has no module under the name"
                raise AttributeError(f"{type(module).__name__} {what} `{part}`")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter with a dotted name.

        Parameters
        ----------
        target : str
            The names of nested submodules and of the parameter, joined by dots.

        Returns
        -------
        Parameter
            The parameter.

        Raises
        ------
        AttributeError
            For an unknown name.

        Examples
        --------
        >>> nn.Sequential(nn.Linear(3, 2)).get_parameter("0.weight").shape
        torch.Size([2, 3])
        """
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not an nn.Parameter of {type(self).__name__}: {target!r}")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Returns the buffer with a dotted name.

        Parameters
        ----------
        target : str
            The names of nested submodules and of the buffer, joined by dots.

        Returns
        -------
        Tensor

        Raises
        ------
        AttributeError
            For an unknown name.

        Examples
        --------
        >>> nn.BatchNorm1d(2).get_buffer("running_mean")
        tensor([0., 0.])
        """
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not a buffer of {type(self).__name__}: {target!r}")
        return found

    # --- iteration over all parts
    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterates over this module and all submodules with their names.

        Parameters
        ----------
        memo : set of ints, optional
            Modules that are left out.
        prefix : str, default ""
            What names begin with.
        remove_duplicate : bool, default True
            Whether a module that occurs several times is named once.

        Returns
        -------
        iterator of tuple (str, Module)
            An iterator over pairs of name and module.

        Examples
        --------
        >>> [name for name, _ in nn.Sequential(nn.ReLU()).named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterates over this module and all submodules.

        Parameters
        ----------
        remove_duplicate : bool, default True
            Whether a module that is found several times comes once.

        Returns
        -------
        iterator of Modules
            An iterator over modules.

        Examples
        --------
        >>> len(list(nn.Sequential(nn.ReLU(), nn.Tanh()).modules()))
        3
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterates over the direct submodules with their names, each once.

        Returns
        -------
        iterator of tuple (str, Module)
            An iterator over pairs of name and module.

        Examples
        --------
        >>> list(nn.Sequential(nn.ReLU()).named_children())
        [('0', ReLU())]
        """
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Iterates over the direct submodules, each once.

        Returns
        -------
        iterator of Modules
            An iterator over modules.

        Examples
        --------
        >>> list(nn.Sequential(nn.ReLU()).children())
        [ReLU()]
        """
        return (module for _, module in self.named_children())

    def _named(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]:
            for name, value in getattr(module, table).items():
                if value is None or (once and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterates over parameters with their names.

        Parameters
        ----------
        prefix : str, default ""
            What names begin with.
        recurse : bool, default True
            Whether the parameters of submodules are included.
        remove_duplicate : bool, default True
            Whether a parameter that occurs several times is named once.

        Returns
        -------
        iterator of tuple (str, Parameter)
            An iterator over pairs of name and parameter.

        Examples
        --------
        >>> [(name, p.shape) for name, p in nn.Linear(3, 2).named_parameters()]
        [('weight', torch.Size([2, 3])), ('bias', torch.Size([2]))]
        """
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterates over all parameters, each once.

        Parameters
        ----------
        recurse : bool, default True
            Whether the parameters of submodules are included.

        Returns
        -------
        iterator of Parameters
            An iterator over parameters.

        Examples
        --------
        >>> sum(p.numel() for p in nn.Linear(3, 2).parameters())
        8
        """
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterates over buffers with their names.

        Parameters
        ----------
        prefix : str, default ""
            What names begin with.
        recurse : bool, default True
            Whether the buffers of submodules are included.
        remove_duplicate : bool, default True
            Whether a buffer that occurs several times is named once.

        Returns
        -------
        iterator of tuple (str, Tensor)
            An iterator over pairs of name and tensor.

        Examples
        --------
        >>> [name for name, _ in nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterates over all buffers, each once.

        Parameters
        ----------
        recurse : bool, default True
            Whether the buffers of submodules are included.

        Returns
        -------
        iterator of Tensors
            An iterator over tensors.

        Examples
        --------
        >>> len(list(nn.BatchNorm1d(2).buffers()))
        3
        """
        return (value for _, value in self.named_buffers(recurse=recurse))

    def apply(self: M, fn: Callable[[Module], None]) -> M:
        """Calls a function with each submodule, then with this module.

        Parameters
        ----------
        fn : callable
            A function of a module.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> model = nn.Sequential(nn.ReLU()).apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: M, mode: bool = True) -> M:
        """Sets training mode, or evaluation mode, which dropout and normalization layers use.

        Parameters
        ----------
        mode : bool, default True
            Whether training mode is set.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self: M) -> M:
        """Sets evaluation mode.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Dropout().eval()(torch.ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Sets whether the parameters require gradients.

        Parameters
        ----------
        requires_grad : bool, default True
            Whether the parameters require gradients.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the parameters' gradients to None, or to 0.

        Parameters
        ----------
        set_to_none : bool, default True
            Whether gradients become None; they become 0 otherwise.

        Examples
        --------
        >>> layer = nn.Linear(3, 2)
        >>> layer(torch.ones(3)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = parameter.grad.detach()
                _core.t_update(parameter.grad, 0)

    # --- dtype and device
    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        done: set[int] = set()
        for module in self.modules() if recurse else [self]:
            for parameter in module._parameters.values():
                if parameter is None or id(parameter) in done:
                    continue
                done.add(id(parameter))
                gradient = parameter.grad
                parameter.data = fn(parameter.data)
                if gradient is not None:
                    parameter.grad = fn(gradient.detach())
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Casts parameters and buffers to another dtype or moves them to another device, in place.

        Parameters
        ----------
        *args : dtype, device or Tensor
            A dtype, a device or a tensor that has both.
        **kwargs : any
            `dtype`, `device`, `non_blocking` and `memory_format`.

        Returns
        -------
        Module
            The module itself.

        Raises
        ------
        TypeError
            For a dtype that is neither floating nor complex.

        Examples
        --------
        >>> nn.Linear(3, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype = _target(*args, **kwargs)
        layout = kwargs.get("memory_format")

        def moved(t: Tensor) -> Tensor:
            wide = dtype if t.is_floating_point() or t.is_complex() else None
            return t.to(device=device, dtype=wide, memory_format=layout if t.ndim in (4, 5) else None)

        return self._apply(moved)

    def float(self: M) -> M:
        """Casts parameters and buffers to float32.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).double().float().weight.dtype
        torch.float32
        """
        return self.to(_types.DTYPES["float32"])

    def double(self: M) -> M:
        """Casts parameters and buffers to float64.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).double().weight.dtype
        torch.float64
        """
        return self.to(_types.DTYPES["float64"])

    def half(self: M) -> M:
        """Casts parameters and buffers to float16.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).half().weight.dtype
        torch.float16
        """
        return self.to(_types.DTYPES["float16"])

    def bfloat16(self: M) -> M:
        """Casts parameters and buffers to bfloat16.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).bfloat16().weight.dtype
        torch.bfloat16
        """
        return self.to(_types.DTYPES["bfloat16"])

    def cuda(self: M, device: Any = None) -> M:
        """Moves the module to a GPU.

        Parameters
        ----------
        device : device or str, optional
            The GPU, by default the current one.

        Returns
        -------
        Module
            The module itself.

        Raises
        ------
        RuntimeError
            On a machine without a GPU.

        Examples
        --------
        >>> model = nn.Linear(3, 2)
        >>> model = model.cuda() if torch.cuda.is_available() else model
        """
        return self.to(_types.device("cuda" if device is None else device))

    def cpu(self: M) -> M:
        """Moves the module to host memory.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).cpu().weight.device
        device(type='cpu')
        """
        return self.to(_types.device("cpu"))

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Moves the module to another device without copying the values.

        Parameters
        ----------
        device : device or str
            The device.
        recurse : bool, default True
            Whether submodules are moved as well.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).to_empty(device="cpu").weight.shape
        torch.Size([2, 3])
        """

        def empty(t: Tensor) -> Tensor:
            if isinstance(t, Sharded):
                return cast(Tensor, t.like(empty_like(t._local, device=device)))
            return empty_like(t, device=device)

        return self._apply(empty, recurse)

    def share_memory(self: M) -> M:
        """Raises an error, because modules in shared memory are not supported.

        Returns
        -------
        Module
            The module itself.

        Raises
        ------
        NotImplementedError
            Always.

        Examples
        --------
        >>> nn.Linear(3, 2).share_memory()
        Traceback (most recent call last):
            ...
        NotImplementedError: [share_memory] modules in shared memory are not supported
        """
        raise NotImplementedError("[share_memory] modules in shared memory are not supported")

    def type(self: M, dst_type: Any) -> M:
        """Casts parameters and buffers to another dtype.

        Parameters
        ----------
        dst_type : dtype
            The dtype.

        Returns
        -------
        Module
            The module itself.

        Examples
        --------
        >>> nn.Linear(3, 2).type(torch.float64).weight.dtype
        torch.float64
        """
        return self._apply(lambda t: t.type(dst_type))

    # --- text
    #: The format of `extra_repr`.
    _repr = ""

    def extra_repr(self) -> str:
        """Returns the text that `repr` shows between the parentheses.

        Returns
        -------
        str

        Examples
        --------
        >>> nn.Linear(3, 2).extra_repr()
        'in_features=3, out_features=2, bias=True'
        """
        return self._repr.format(self=self)

    def _get_name(self) -> str:
        return type(self).__name__

    @property
    def _non_persistent_buffers_set(self) -> set[str]:
        """The names of buffers that are not saved, under the name by which libraries find them."""
        return self._non_persistent

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _target(
    *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> tuple[Any, Any]:
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, (str, int, _types.device)) and not isinstance(arg, bool):
            device = arg
        elif not isinstance(arg, bool) and arg is not None:
            dtype = arg
    if dtype is not None and not (_types.DTYPES[_types.dtype_name(dtype)].is_floating_point or "complex" in str(dtype)):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    return device, dtype
