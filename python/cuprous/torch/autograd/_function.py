"""`autograd.Function`: operations with a way back of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor


class FunctionCtx:
    """What forward leaves for backward."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._outputs: dict[int, int] = {}  # which of those are outputs, and which
        self._node: Any = None  # while backward runs
        self._not_differentiable: set[int] = set()
        self._materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward, where they are `saved_tensors`."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept; outputs come with their place in the graph, which is not kept while nobody asks."""
        if self._node is None:
            return self._saved
        return tuple(
            self._node.output(t, self._outputs[k]) if k in self._outputs else t for k, t in enumerate(self._saved)
        )

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Outputs that have no gradient."""
        self._not_differentiable |= {id(output) for output in outputs}

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Not supported: return a new tensor instead of writing into an input."""
        raise NotImplementedError("[Function] mark_dirty is not supported: return a new tensor")

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients arrive as zeros rather than None."""
        self._materialize = value


class Function:
    """Subclass with static methods `forward(ctx, *args)` and `backward(ctx, *gradients)`; call `apply`."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments."""
        raise NotImplementedError("You must implement the backward function for your custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls `forward`, and notes `backward` for the gradients of the tensors among the arguments."""
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
        places = [k for k, out in enumerate(results) if isinstance(out, Tensor)]
        if not (before and any(ctx.needs_input_grad)):
            return outputs
        tensors = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        smooth = [k for k in places if id(results[k]) not in ctx._not_differentiable]
        made = _core.t_custom(
            f"{cls.__name__}Backward", [results[k] for k in smooth], [args[k] for k in tensors],
            _way_back(cls, ctx, results, smooth, len(args), tensors),
        )  # fmt: skip
        for k, out in zip(smooth, made, strict=True):
            results[k] = out
        before_ids = {id(outputs if single else outputs[k]): n for n, k in enumerate(smooth)}
        ctx._outputs = {k: before_ids[id(t)] for k, t in enumerate(ctx._saved) if id(t) in before_ids}
        ctx._saved = tuple(t.detach() if k in ctx._outputs else t for k, t in enumerate(ctx._saved))
        return results[0] if single else tuple(results)


def _way_back(cls: type[Function], ctx: FunctionCtx, results: list[Any], smooth: list[int], n: int,
              tensors: list[int]) -> Callable[[list[Any], Any], tuple[Any, ...]]:  # fmt: skip
    shapes = [(list(out.dims), out.dtype_name, out.device_name) if isinstance(out, Tensor) else None for out in results]

    def back(gradients: list[Any], node: Any) -> tuple[Any, ...]:
        full: list[Any] = [None] * len(shapes)
        for k, g in zip(smooth, gradients + [None] * (len(smooth) - len(gradients)), strict=True):
            full[k] = g
        if ctx._materialize:
            full = [
                _core.t_full(shape[0], 0, shape[1], shape[2]) if g is None and shape is not None else g
                for g, shape in zip(full, shapes, strict=True)
            ]
        ctx._node = node
        try:
            answer = cls.backward(ctx, *full)
        finally:
            ctx._node = None
        answer = answer if isinstance(answer, tuple) else (answer,)
        if len(answer) > n and all(g is None for g in answer[n:]):
            answer = answer[:n]
        if len(answer) != n:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {n}, got "
                f"{len(answer)})"
            )
        return tuple(answer[k] for k in tensors)

    return back


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `backward` of which there is no derivative."""

    def once(ctx: Any, *gradients: Any) -> Any:
        before = _core.set_grad_enabled(False)
        try:
            return function(ctx, *gradients)
        finally:
            _core.set_grad_enabled(before)

    return once
