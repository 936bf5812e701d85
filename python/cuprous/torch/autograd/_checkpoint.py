"""Gradient checkpointing (`torch.utils.checkpoint`): intermediate values are recomputed instead of saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import unsupported
from cuprous.torch._pytree import leaves, tree_map, unflatten
from cuprous.torch._random_numbers import get_rng_state, set_rng_state
from cuprous.torch.random import fork_rng


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Any = None, determinism_check: str = "default", debug: bool = False,
               early_stop: bool = True, preserve_rng_state: bool = True, **kwargs: Any) -> Any:  # fmt: skip
    """Calls a function without saving its intermediate values.

    The backward pass calls it again, with the same random numbers. Tensors that it uses from outside, such as
    parameters, get gradients too.

    Parameters
    ----------
    function : callable
        The function; it returns tensors, or a tuple of tensors and other objects.
    *args : any
        Its positional arguments.
    use_reentrant : bool, optional
        Has no effect: both of PyTorch's implementations give the same results, and here there is one.
    context_fn : callable, optional
        For PyTorch's signature; only None.
    determinism_check : {"default", "none"}, default "default"
        "default" or "none"; shapes are compared in either case.
    debug : bool, default False
        For PyTorch's signature; only False.
    early_stop : bool, default True
        Has no effect; the second call runs to its end.
    preserve_rng_state : bool, default True
        Whether the second call draws the random numbers of the first.
    **kwargs : any
        Its keyword arguments.

    Returns
    -------
    Tensor
        The result of the function.

    Raises
    ------
    NotImplementedError
        For `context_fn`.
    RuntimeError
        In the backward pass, if the second call gives results of other shapes.

    See Also
    --------
    torch.utils.checkpoint.checkpoint_sequential, torch.autograd.graph.save_on_cpu

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    unsupported("checkpoint", context_fn=(context_fn, None), debug=(debug, False))
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check must be 'default' or 'none', not {determinism_check!r}")
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    state = get_rng_state() if preserve_rng_state else None
    # Inputs may be overwritten before the backward pass needs them.
    saved: list[Any] = [_core.t_save(a) if isinstance(a, Tensor) else a for a in leaves((args, kwargs))]
    form = tree_map(lambda _: None, (args, kwargs))
    start = _core.t_mark()
    outputs = function(*args, **kwargs)
    del args, kwargs
    single = isinstance(outputs, Tensor)
    results = [outputs] if single else list(outputs)
    positions = [k for k, out in enumerate(results) if isinstance(out, Tensor)]

    def recompute() -> list[Tensor]:
        args, kwargs = unflatten(form, [a.tensor() if isinstance(a, _core.Saved) else a for a in saved])
        with fork_rng(enabled=state is not None):
            if state is not None:
                set_rng_state(state)
            made = function(*args, **kwargs)
        made = [made] if isinstance(made, Tensor) else list(made)
        return [made[k] for k in positions]

    made = _core.t_checkpoint([results[k] for k in positions], start, recompute, saved)
    for k, out in zip(positions, made, strict=True):
        results[k] = out
    return results[0] if single else tuple(results)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:  # fmt: skip
    """Runs modules one after another in segments, of which all but the last are checkpointed.

    Parameters
    ----------
    functions : Sequential or list of Modules
        The modules, a `Sequential` or a list.
    segments : int
        The number of segments.
    input : Tensor
        The input of the first module.
    use_reentrant : bool, optional
        Has no effect.
    **kwargs : any
        Further keywords of `checkpoint`.

    Returns
    -------
    Tensor
        The result of the last module.

    See Also
    --------
    torch.utils.checkpoint.checkpoint, torch.nn.Sequential

    Examples
    --------
    >>> model = nn.Sequential(nn.ReLU(), nn.Tanh())
    >>> torch.utils.checkpoint.checkpoint_sequential(model, 2, torch.zeros(2))
    tensor([0., 0.])
    """
    layers = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(len(layers) // segments, 1)

    def run(part: Sequence[Any]) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for layer in part:
                x = layer(x)
            return x

        return forward

    end = size * max(segments - 1, 0)
    for start in range(0, end, size):
        input = checkpoint(run(layers[start : start + size]), input, use_reentrant=use_reentrant, **kwargs)
    return run(layers[end:])(input)
