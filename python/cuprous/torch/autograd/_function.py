"""`autograd.Function`: operations with a user-defined backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd._modes import no_grad


class FunctionCtx:
    """The context object, through which `forward` passes values to `backward`.

    Examples
    --------
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()  # set while forward runs
        #: Once forward has run: pairs of a saved value and the index of the output that it is, if any.
        self._saved_values: list[tuple[Any, int | None]] | None = None
        self._count = 0
        self._node: Any = None  # set while backward runs
        self._not_differentiable: set[int] = set()
        self._materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for the backward pass, where they are `saved_tensors`.

        Parameters
        ----------
        *tensors : Tensor or None
            Tensors, or None.

        Examples
        --------
        >>> torch.autograd.function.FunctionCtx().save_for_backward(torch.ones(2))
        """
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, with the values that they had when `forward` returned. Outputs are part of the graph.

        Raises
        ------
        RuntimeError
            If the graph has been freed.
        """
        if self._saved_values is None:
            return self._saved
        if len(self._saved_values) < self._count:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time "
                "or if you need to access saved tensors after calling backward."
            )
        return tuple(self._restored(saved, output) for saved, output in self._saved_values)

    def _restored(self, saved: Any, output: int | None) -> Any:
        if saved is None:
            return None
        t = saved.tensor()
        return t if output is None or self._node is None else self._node.output(t, output)

    def _save_values(self, saved: list[Any], outputs: dict[int, int], made: list[Tensor]) -> None:
        """Saves the current values of tensors. `outputs` maps the ids of outputs to their positions in `made`."""
        assert self._saved_values is not None
        for t in saved:
            output = outputs.get(id(t))
            # Detached, because an output that keeps its own graph alive would be a reference cycle.
            t = t if output is None else made[output].detach()
            self._saved_values.append((None if t is None else _core.t_save(t), output))
        self._count, self._saved = len(saved), ()

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Marks outputs that have no gradient.

        Parameters
        ----------
        *outputs : Tensor
            The outputs.

        Examples
        --------
        >>> class Split(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         index = x.argsort()
        ...         ctx.mark_non_differentiable(index)
        ...         return x[index], index
        >>> Split.apply(torch.ones(2, requires_grad=True))[1].requires_grad
        False
        """
        self._not_differentiable |= {id(output) for output in outputs}

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Raises an error, because outputs that are inputs are not supported. Return a new tensor instead of writing
        into an input.

        Parameters
        ----------
        *inputs : Tensor
            The inputs.

        Raises
        ------
        NotImplementedError
            Always.

        Examples
        --------
        >>> torch.autograd.function.FunctionCtx().mark_dirty(torch.ones(2))
        Traceback (most recent call last):
            ...
        NotImplementedError: [Function] mark_dirty is not supported: return a new tensor
        """
        raise NotImplementedError("[Function] mark_dirty is not supported: return a new tensor")

    def set_materialize_grads(self, value: bool) -> None:
        """Sets whether missing gradients are passed to `backward` as zeros rather than None.

        Parameters
        ----------
        value : bool
            Whether they are.

        Examples
        --------
        >>> torch.autograd.function.FunctionCtx().set_materialize_grads(False)
        """
        self._materialize = value


class Function:
    """Base class of operations with a backward pass of their own.

    Subclasses define the static methods `forward(ctx, *args)` and `backward(ctx, *gradients)`, and are called with
    `apply`.

    See Also
    --------
    torch.autograd.gradcheck

    Examples
    --------
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2.])
    """

    #: False if nothing but the caller gets an output, which then stays in the order that an engine chose for it.
    _may_keep_outputs: bool = True

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs. Subclasses define it.

        Parameters
        ----------
        *args : any
            The context and the arguments; with `setup_context` the arguments alone.
        **kwargs : any
            Has no effect.

        Returns
        -------
        Tensor
            A tensor, or a tuple of tensors.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.

        Examples
        --------
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients with respect to the arguments. Subclasses define it.

        Parameters
        ----------
        ctx : object
            The context.
        *grad_outputs : Tensor
            The gradients of the outputs.

        Returns
        -------
        tuple of Tensors
            The gradient of each argument, or None.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.

        Examples
        --------
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad(Double.apply(x).sum(), x)
        (tensor([2., 2.]),)
        """
        raise NotImplementedError("You must implement the backward function for your custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls `forward`, and records `backward` in the graph for the tensors among the arguments.

        Parameters
        ----------
        *args : any
            The arguments.

        Returns
        -------
        Tensor
            The outputs.

        Examples
        --------
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
        """
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        setup = getattr(cls, "setup_context", None)
        before = _core.set_grad_enabled(False)
        try:
            if setup is None:
                outputs = cls.forward(ctx, *args)
            else:
                outputs = cls.forward(*args)
                setup(ctx, args, outputs)
        finally:
            _core.set_grad_enabled(before)
        single = not isinstance(outputs, tuple)
        results = [outputs] if single else list(outputs)
        positions = [k for k, out in enumerate(results) if isinstance(out, Tensor)]
        if not (before and any(ctx.needs_input_grad)):
            return outputs
        tensors = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        differentiable = [k for k in positions if id(results[k]) not in ctx._not_differentiable]
        ctx._saved_values = []
        made = _core.t_custom(
            f"{cls.__name__}Backward", [results[k] for k in differentiable], [args[k] for k in tensors],
            _backward_function(cls, ctx, results, differentiable, len(args), tensors), ctx._saved_values,
            cls._may_keep_outputs,
        )  # fmt: skip
        ctx._save_values(list(ctx._saved), {id(results[k]): n for n, k in enumerate(differentiable)}, made)
        for k, out in zip(differentiable, made, strict=True):
            results[k] = out
        return results[0] if single else tuple(results)


def _backward_function(cls: type[Function], ctx: FunctionCtx, results: list[Any], differentiable: list[int], n: int,
              tensors: list[int]) -> Callable[[list[Any], Any], tuple[Any, ...]]:  # fmt: skip
    shapes = [(list(out.dims), out.dtype_name, out.device_name) if isinstance(out, Tensor) else None for out in results]

    def backward(gradients: list[Any], node: Any) -> tuple[Any, ...]:
        full: list[Any] = [None] * len(shapes)
        for k, g in zip(differentiable, gradients + [None] * (len(differentiable) - len(gradients)), strict=True):
            full[k] = g
        if ctx._materialize:
            full = [
                _core.t_full(shape[0], 0, shape[1], shape[2]) if g is None and shape is not None else g
                for g, shape in zip(full, shapes, strict=True)
            ]
        ctx._node = node
        try:
            input_grads = cls.backward(ctx, *full)
        finally:
            ctx._node = None
        input_grads = input_grads if isinstance(input_grads, tuple) else (input_grads,)
        if len(input_grads) > n and all(g is None for g in input_grads[n:]):
            input_grads = input_grads[:n]
        if len(input_grads) != n:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {n}, got "
                f"{len(input_grads)})"
            )
        return tuple(input_grads[k] for k in tensors)

    return backward


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a `backward` that cannot be differentiated itself. It is a decorator.

    Parameters
    ----------
    function : callable
        The method.

    Returns
    -------
    callable
        The method.

    Examples
    --------
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.grad(Double.apply(x).sum(), x)
    (tensor([2., 2.]),)
    """

    return no_grad()(function)
