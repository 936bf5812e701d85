"""A module's state: parameters and persistent buffers by name."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.autograd._hooks import RemovableHandle
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.nn.modules._hooks import registered
from cuprous.torch.nn.parameter import Parameter


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """Names that were missing from a state, and names that were not expected."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


#: The key of the value that `get_extra_state` returns.
_EXTRA_STATE_KEY = "_extra_state"


class State:
    """The part of `Module` that saves and loads its state."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent: set[str]
    #: Saved beside a state, so that `_load_from_state_dict` knows how old it is.
    _version = 1

    def get_extra_state(self) -> Any:
        """Returns additional state. A module that has any defines this method and `set_extra_state`.

        Returns
        -------
        object
            Any object that can be pickled.

        Raises
        ------
        RuntimeError
            If a subclass does not define it.

        Examples
        --------
        >>> class Counter(nn.Module):
        ...     steps = 0
        ...
        ...     def get_extra_state(self):
        ...         return {"steps": self.steps}
        >>> dict(Counter().state_dict())
        {'_extra_state': {'steps': 0}}
        """
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Restores the additional state that `get_extra_state` returned.

        Parameters
        ----------
        state : any
            What `get_extra_state` returned.

        Raises
        ------
        RuntimeError
            If a subclass does not define it.

        Examples
        --------
        >>> class Counter(nn.Module):
        ...     steps = 0
        ...
        ...     def get_extra_state(self):
        ...         return {"steps": self.steps}
        ...
        ...     def set_extra_state(self, state):
        ...         self.steps = state["steps"]
        >>> counter = Counter()
        >>> _ = counter.load_state_dict({"_extra_state": {"steps": 5}})
        >>> counter.steps
        5
        """
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Returns parameters and persistent buffers by name, as detached tensors.

        Parameters
        ----------
        *args : any
            PyTorch's older form: `destination`, `prefix` and `keep_vars`.
        destination : dict, optional
            A dict to write to.
        prefix : str, default ""
            What names begin with.
        keep_vars : bool, default False
            Whether to return the parameters themselves; detached tensors otherwise.

        Returns
        -------
        dict
            A dict of parameters and persistent buffers by name.

        Examples
        --------
        >>> {name: x.shape for name, x in nn.Linear(3, 2).state_dict().items()}
        {'weight': torch.Size([2, 3]), 'bias': torch.Size([2])}
        """
        if args:  # deprecated positional arguments
            old = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars} | old)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self.__dict__.get("_state_dict_pre_hooks", {}).values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            changed = hook(self, destination, prefix, metadata)
            destination = destination if changed is None else changed
        return destination

    def _persistent(self) -> list[tuple[dict[str, Any], str, Any]]:
        """Returns the module's own parameters and persistent buffers, each with its table and name."""
        tables = (self._parameters, self._buffers)
        rows = ((table, name, value) for table in tables for name, value in table.items())
        return [row for row in rows if row[2] is not None and row[1] not in self._non_persistent]

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Writes the module's own state, without that of its children. Subclasses may override it, as in PyTorch."""
        for _, name, value in self._persistent():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies values by name into parameters and buffers.

        Parameters
        ----------
        state_dict : mapping
            The values by name.
        strict : bool, default True
            Whether missing and unexpected names are errors.
        assign : bool, default False
            Whether the tensors replace parameters and buffers.

        Returns
        -------
        tuple
            The named tuple `(missing_keys, unexpected_keys)`.

        Raises
        ------
        TypeError
            If the state is not a mapping.
        RuntimeError
            Listing all names that are missing, unexpected (if strict) or of another shape.

        Examples
        --------
        >>> nn.Linear(3, 2).load_state_dict(nn.Linear(3, 2).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state: Any = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            state._metadata = metadata
        loading = _Loading(metadata or {}, assign)
        loading.load(self, state, "")
        # Hooks after the load see the new values and may change what is missing; without them nothing is half loaded.
        if loading.errors or not loading.hooked:
            loading.check(self, strict)
        with no_grad():
            for copy in loading.copies:
                copy()
        found = _IncompatibleKeys(loading.missing, loading.unexpected)
        for module in loading.hooked:
            for hook in module.__dict__["_load_post_hooks"].values():
                hook(module, found)
        loading.check(self, strict)
        return found

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Loads the module's own state, without that of its children. Subclasses may override it, as in PyTorch.

        Parameters
        ----------
        state_dict : dict
            The values by name; it may be changed.
        prefix : str
            What the names of this module begin with.
        local_metadata : dict
            What was saved beside the state of this module, such as its `version`.
        strict : bool
            Whether to find missing and unexpected names.
        missing_keys : list of str
            Names that are missing are added here.
        unexpected_keys : list of str
            Names that are not expected are added here.
        error_msgs : list of str
            Other problems are added here.
        """
        for hook in self.__dict__.get("_load_pre_hooks", {}).values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        self._before_load(state_dict, prefix, local_metadata.get("version"))
        copies, ready = local_metadata.get(_COPIES), []
        own = {prefix + name: (table, name, target) for table, name, target in self._persistent()}
        for key, (table, name, target) in own.items():
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(value)}"
                )
                continue
            if target.dims == () and value.dims == (1,):  # of the first versions of PyTorch
                value = value[0]
            if value.dims != target.dims:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {target.shape}."
                )
            else:
                assign = local_metadata.get("assign_to_params_buffers", False)
                ready.append(functools.partial(_load, table, name, target, value, assign))
        extra = prefix + _EXTRA_STATE_KEY
        has_extra = type(self).set_extra_state is not State.set_extra_state
        if has_extra and extra in state_dict:
            ready.append(functools.partial(self.set_extra_state, state_dict[extra]))
        elif has_extra and strict:
            missing_keys.append(extra)
        if strict:
            for key in state_dict:
                name = key.removeprefix(prefix)
                known = key in own or ("." in name and name.partition(".")[0] in self._modules)
                if key.startswith(prefix) and not known and not (has_extra and key == extra):
                    unexpected_keys.append(key)
        if copies is not None:
            copies += ready
            return
        with no_grad():
            for copy in ready:
                copy()

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Called before a layer's values are loaded: lazy layers take their shapes from them, and the state of an old
        version is made one of this version."""

    def _state_hook(self, table: str, hook: Any) -> RemovableHandle:
        return registered(self.__dict__.setdefault(table, {}), hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called after the state was saved.

        Parameters
        ----------
        hook : callable
            A function of the module, the dict, the prefix and the metadata.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: print(list(state)))
        >>> _ = layer.state_dict()
        ['weight', 'bias']
        """
        return self._state_hook("_state_dict_hooks", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called before the state is saved.

        Parameters
        ----------
        hook : callable
            A function of the module, the prefix, and whether parameters themselves are saved.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saves"))
        >>> _ = layer.state_dict()
        saves
        """
        return self._state_hook("_state_dict_pre_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called before a state is loaded. It may modify the dict, which is a copy.

        Parameters
        ----------
        hook : callable
            A function of the module, the dict, the prefix, the metadata, whether loading is strict, and the lists of
            missing and unexpected names and of errors.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_load_state_dict_pre_hook(lambda module, state, *_: print(list(state)))
        >>> _ = layer.load_state_dict(layer.state_dict())
        ['weight', 'bias']
        """
        return self._state_hook("_load_pre_hooks", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Registers `hook(state_dict, prefix, …)`, called before a state is loaded; with `with_module` the module comes
        first."""
        return self.register_load_state_dict_pre_hook(hook if with_module else lambda module, *args: hook(*args))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called after a state was loaded.

        Parameters
        ----------
        hook : callable
            A function of the module and the pair of missing and unexpected names.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: print(keys))
        >>> _ = layer.load_state_dict(layer.state_dict())
        <All keys matched successfully>
        """
        return self._state_hook("_load_post_hooks", hook)


def _load(table: dict[str, Any], name: str, target: Tensor, value: Tensor, assign: bool) -> None:
    """Copies a value into a parameter or buffer, or puts it in its place."""
    if not assign:
        target.copy_(value)
    elif isinstance(target, Parameter) and not isinstance(value, Parameter):
        table[name] = Parameter(value.detach(), requires_grad=target.requires_grad)
    else:
        table[name] = value


class _Loading:
    """What `load_state_dict` finds before it copies values, so that a state that does not fit changes nothing.

    A module with a `_load_from_state_dict` of its own loads its values when that is called.
    """

    def __init__(self, metadata: Mapping[str, Any], assign: bool) -> None:
        self.metadata, self.assign = metadata, assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        #: Functions that copy a value each.
        self.copies: list[Callable[[], Any]] = []
        #: Modules with hooks for after the load, children first.
        self.hooked: list[Any] = []

    def load(self, module: Any, state: dict[str, Any], prefix: str) -> None:
        """Visits a module and its children, each with the part of the state that has its prefix."""
        local = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local["assign_to_params_buffers"] = True
        if type(module)._load_from_state_dict is State._load_from_state_dict:
            local[_COPIES] = self.copies
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        parts: dict[str, dict[str, Any]] = {name: OrderedDict() for name in module._modules}
        for key, value in state.items():
            if key.startswith(prefix) and (part := parts.get(key[len(prefix) :].partition(".")[0])) is not None:
                part[key] = value
        for name, child in module._modules.items():
            if child is not None:
                self.load(child, parts[name], f"{prefix}{name}.")
        if module.__dict__.get("_load_post_hooks"):
            self.hooked.append(module)

    def check(self, module: Any, strict: bool) -> None:
        """Raises RuntimeError for what is wrong with the state, also other names than the module's if `strict`."""
        rows = (("Missing", self.missing), ("Unexpected", self.unexpected)) if strict else ()
        quoted = ((word, ", ".join(f'"{name}"' for name in names)) for word, names in rows if names)
        problems = [*(f"{word} key(s) in state_dict: {names}. " for word, names in quoted), *self.errors]
        if problems:
            text = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{text}")


#: The key of `_Loading.copies` in the metadata of a module.
_COPIES = "_copies"
