"""A module's state: parameters and persistent buffers by name."""

from __future__ import annotations

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

    def get_extra_state(self) -> Any:
        """Returns additional state. A module that has any defines this method and `set_extra_state`.

        Returns:
            Any object that can be pickled.

        Raises:
            RuntimeError: if a subclass does not define it.

        Examples:
            >>> class Counter(nn.Module):
            ...     steps = 0
            ...
            ...     def get_extra_state(self):
            ...         return {"steps": self.steps}
            >>> Counter().state_dict()
            OrderedDict([('_extra_state', {'steps': 0})])
        """
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Restores the additional state that `get_extra_state` returned.

        Args:
            state: what `get_extra_state` returned.

        Raises:
            RuntimeError: if a subclass does not define it.

        Examples:
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

        Args:
            *args: PyTorch's older form: `destination`, `prefix` and `keep_vars`.
            destination: a dict to write to.
            prefix: what names begin with.
            keep_vars: whether to return the parameters themselves; detached tensors otherwise.

        Returns:
            A dict of parameters and persistent buffers by name.

        Examples:
            >>> {name: x.shape for name, x in nn.Linear(3, 2).state_dict().items()}
            {'weight': torch.Size([2, 3]), 'bias': torch.Size([2])}
        """
        if args:  # deprecated positional arguments
            old = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars} | old)
        result: dict[str, Any] = OrderedDict() if destination is None else destination
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and name not in self._non_persistent:
                    result[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=result, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        if type(self).get_extra_state is not State.get_extra_state:
            result[prefix + _EXTRA_STATE_KEY] = self.get_extra_state()
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            changed = hook(self, result, prefix, {})
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies values by name into parameters and buffers.

        Args:
            state_dict: the values by name.
            strict: whether missing and unexpected names are errors.
            assign: whether the tensors replace parameters and buffers.

        Returns:
            The named tuple `(missing_keys, unexpected_keys)`.

        Raises:
            TypeError: if the state is not a mapping.
            RuntimeError: listing all names that are missing, unexpected (if strict) or of another shape.

        Examples:
            >>> nn.Linear(3, 2).load_state_dict(nn.Linear(3, 2).state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state = OrderedDict(state_dict)
        for module, prefix in self._each_with_prefix():
            for hook in module.__dict__.get("_load_pre_hooks", {}).values():
                hook(module, state, prefix, {}, strict, [], [], [])
            module._before_load(state, prefix)
        own: dict[str, tuple[Any, str, Any]] = {}
        extra = {}
        for module, prefix in self._each_with_prefix():
            for table in (module._parameters, module._buffers):
                for name, value in table.items():
                    if value is not None and name not in module._non_persistent:
                        own[prefix + name] = (table, name, value)
            if type(module).set_extra_state is not State.set_extra_state:
                extra[prefix + _EXTRA_STATE_KEY] = module
        missing = [name for name in (*own, *extra) if name not in state]
        unexpected = [name for name in state if name not in own and name not in extra]
        problems = []
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ". ")
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ". ")
        for name, (_, _, target) in own.items():
            if name not in state:
                continue
            if not isinstance(state[name], Tensor):
                problems.append(
                    f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(state[name])}"
                )
            elif state[name].dims != target.dims:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {state[name].shape} from checkpoint, "
                    f"the shape in current model is {target.shape}."
                )
        if problems:
            text = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        with no_grad():
            for name, (table, key, target) in own.items():
                if name not in state:
                    continue
                if assign:
                    table[key] = _replacement(target, state[name])
                else:
                    target.copy_(state[name])
        for name, module in extra.items():
            if name in state:
                module.set_extra_state(state[name])
        found = _IncompatibleKeys(missing, unexpected)
        for module, _ in self._each_with_prefix():
            for hook in module.__dict__.get("_load_post_hooks", {}).values():
                hook(module, found)
        return found

    def _before_load(self, state: Mapping[str, Any], prefix: str) -> None:
        """Called before a layer's values are loaded; lazy layers take their shapes from them."""

    def _each_with_prefix(self, prefix: str = "") -> list[tuple[Any, str]]:
        """Returns this module and all submodules with the prefixes of their names; a shared module appears once for
        each name."""
        found: list[tuple[Any, str]] = [(self, prefix)]
        for name, module in self._modules.items():
            if module is not None:
                found += module._each_with_prefix(f"{prefix}{name}.")
        return found

    def _state_hook(self, table: str, hook: Any) -> RemovableHandle:
        return registered(self.__dict__.setdefault(table, {}), hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called after the state was saved.

        Args:
            hook: a function of the module, the dict, the prefix and the metadata.

        Returns:
            A handle whose `remove` removes the function.

        Examples:
            >>> layer = nn.Linear(3, 2)
            >>> handle = layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: print(list(state)))
            >>> _ = layer.state_dict()
            ['weight', 'bias']
        """
        return self._state_hook("_state_dict_hooks", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a function that is called before a state is loaded. It may modify the dict, which is a copy.

        Args:
            hook: a function of the module, the dict, the prefix, the metadata, whether loading is strict, and the lists
                of missing and unexpected names and of errors.

        Returns:
            A handle whose `remove` removes the function.

        Examples:
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

        Args:
            hook: a function of the module and the pair of missing and unexpected names.

        Returns:
            A handle whose `remove` removes the function.

        Examples:
            >>> layer = nn.Linear(3, 2)
            >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: print(keys))
            >>> _ = layer.load_state_dict(layer.state_dict())
            <All keys matched successfully>
        """
        return self._state_hook("_load_post_hooks", hook)


def _replacement(target: Tensor, value: Tensor) -> Tensor:
    """Returns the tensor that replaces a parameter or buffer."""
    if isinstance(target, Parameter) and not isinstance(value, Parameter):
        return Parameter(value.detach(), requires_grad=target.requires_grad)
    return value
