"""Hooks: functions that are called before and after a module's `forward`, and when its gradients are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.autograd import Function
from cuprous.torch.autograd._hooks import RemovableHandle


def add(hooks: dict[int, Any], hook: Any, prepend: bool = False) -> int:
    """Adds a hook after (or with `prepend` before) all others, and returns its id."""
    number = max(hooks, default=0) + 1 if not prepend else min(hooks, default=0) - 1
    hooks[number] = hook
    if prepend:
        ordered = dict(sorted(hooks.items()))
        hooks.clear()
        hooks.update(ordered)
    return number


def registered(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    """Adds a hook after all others, and returns the handle that removes it."""
    number = add(hooks, hook)
    return RemovableHandle(lambda: hooks.pop(number, None))


class Hooks:
    """The part of `Module` that stores and calls hooks."""

    forward: Callable[..., Any]
    _forward_hooks: dict[int, Any]
    _forward_pre_hooks: dict[int, Any]
    _backward_hooks: dict[int, Any]
    _hooked: bool

    def _register(self, hooks: dict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
        number = add(hooks, hook, prepend)
        object.__setattr__(self, "_hooked", True)

        def remove_hook() -> None:
            hooks.pop(number, None)
            some = bool(self._forward_hooks or self._forward_pre_hooks or self._backward_hooks)
            object.__setattr__(self, "_hooked", some)

        return RemovableHandle(remove_hook)

    def register_forward_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:  # fmt: skip
        """Registers a function that is called after `forward`.

        It is called with the module, a tuple of the arguments and the result; a value that it returns replaces the
        result.

        Parameters
        ----------
        hook : callable
            The function.
        prepend : bool, default False
            Whether it is called before all others.
        with_kwargs : bool, default False
            Whether the dict of keyword arguments is passed after the arguments.
        always_call : bool, default False
            Whether it is also called, with None as the result, if `forward` raises.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, result: print(result.shape))
        >>> result = layer(torch.ones(2))
        torch.Size([2])
        """
        return self._register(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Registers a function that is called before `forward`.

        It is called with the module and a tuple of the arguments; a value that it returns replaces the arguments.

        Parameters
        ----------
        hook : callable
            The function.
        prepend : bool, default False
            Whether it is called before all others.
        with_kwargs : bool, default False
            Whether the dict of keyword arguments is passed after the arguments.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: print(args[0].shape))
        >>> result = layer(torch.ones(2))
        torch.Size([2])
        """
        return self._register(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Registers a function that is called when the gradients of the module's inputs are computed, or those of its
        outputs if no input requires one.

        It is called with the module and tuples of the gradients of inputs and outputs; a value that it returns
        replaces the gradients of inputs.

        Parameters
        ----------
        hook : callable
            The function.
        prepend : bool, default False
            Whether it is called before all others.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.ReLU()
        >>> handle = layer.register_full_backward_hook(lambda module, inputs, outputs: print(inputs[0]))
        >>> layer(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
        tensor([0., 1.])
        """
        return self._register(self._backward_hooks, (hook, False), prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Registers a function that is called when the gradients of the module's outputs are computed.

        It is called with the module and a tuple of the gradients; a value that it returns replaces them.

        Parameters
        ----------
        hook : callable
            The function.
        prepend : bool, default False
            Whether it is called before all others.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> layer = nn.ReLU()
        >>> handle = layer.register_full_backward_pre_hook(lambda module, outputs: print(outputs[0]))
        >>> layer(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
        tensor([1., 1.])
        """
        return self._register(self._backward_hooks, (hook, True), prepend)

    register_backward_hook = register_full_backward_hook

    def _with_hooks(self, args: Any, kwargs: Any) -> Any:
        """Calls `forward` with the hooks before and after it."""
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            replacement = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if replacement is not None and with_kwargs:
                args, kwargs = replacement
            elif replacement is not None:
                args = replacement if isinstance(replacement, tuple) else (replacement,)
        back = _BackwardHooks(self) if self._backward_hooks else None
        args = args if back is None else back.inputs(args)
        try:
            result = self.forward(*args, **kwargs)
        except Exception:
            for hook, with_kwargs, always in list(self._forward_hooks.values()):
                if always:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            raise
        for hook, with_kwargs, _ in list(self._forward_hooks.values()):
            replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if replacement is not None:
                result = replacement
        return result if back is None else back.outputs(result)


class _BackwardHooks:
    """The backward hooks of one call of a module: an identity before and one after `forward` observe the gradients."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] | None = None
        self.grad_input: tuple[Any, ...] | None = None
        self.waits = False

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        positions = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        if not any(args[k].requires_grad for k in positions):
            return args
        self.waits = True
        through = _GradientHook.apply(self._at_inputs, *(args[k] for k in positions))
        changed = list(args)
        for k, t in zip(positions, through if isinstance(through, tuple) else (through,), strict=True):
            changed[k] = t
        return tuple(changed)

    def outputs(self, result: Any) -> Any:
        several = isinstance(result, (tuple, list))
        parts = list(result) if several else [result]
        positions = [k for k, r in enumerate(parts) if isinstance(r, Tensor)]
        if not any(parts[k].requires_grad for k in positions):
            return result
        through = _GradientHook.apply(self._at_outputs, *(parts[k] for k in positions))
        for k, t in zip(positions, through if isinstance(through, tuple) else (through,), strict=True):
            parts[k] = t
        return type(result)(parts) if several else parts[0]

    def _at_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook, before in list(self.module._backward_hooks.values()):
            if before:
                replacement = hook(self.module, gradients)
                if replacement is not None:
                    gradients = replacement if isinstance(replacement, tuple) else (replacement,)
        self.grad_output = gradients
        if not self.waits:
            self._call((None,))
        return gradients

    def _at_inputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._call(gradients)

    def _call(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook, before in list(self.module._backward_hooks.values()):
            if not before:
                replacement = hook(self.module, gradients, self.grad_output)
                if replacement is not None:
                    gradients = replacement if isinstance(replacement, tuple) else (replacement,)
        return gradients


class _GradientHook(Function):
    """An identity whose backward pass passes the gradients through a callback."""

    @staticmethod
    def forward(ctx: Any, callback: Callable[..., Any], *tensors: Tensor) -> Any:
        """Returns views of the tensors."""
        ctx.callback = callback
        ctx.set_materialize_grads(False)
        views = tuple(t.view(t.dims) for t in tensors)
        return views if len(views) > 1 else views[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Returns the gradients that the callback returns."""
        return (None, *ctx.callback(gradients))
