"""`vmap`: maps a function over a dimension of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _joining, _pytree, _shape
from cuprous.torch._args import wrap_dim
from cuprous.torch._random_numbers import get_rng_state, set_rng_state


def _spread(dims: Any, tree: Any) -> list[Any]:
    """Returns a dimension (or None) for each leaf of a nested structure."""
    if isinstance(dims, int) or dims is None:
        return [dims] * len(_pytree.leaves(tree))
    if isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)) and len(dims) == len(tree):
        return [d for part, of in zip(dims, tree, strict=True) for d in _spread(part, of)]
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        return [d for key in tree for d in _spread(dims[key], tree[key])]
    raise ValueError(f"vmap: in_dims={dims!r} is not compatible with the structure of inputs")


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:  # fmt: skip
    """Returns a function that calls `func` for each index of a dimension of its arguments, and stacks the results.

    The calls are recorded one after another and fused. A function that processes whole batches costs less to record.

    Parameters
    ----------
    func : callable
        Takes tensors without that dimension; it must not write to tensors of other calls.
    in_dims : int or sequence of ints, default 0
        The dimension of each argument (with the nesting of the arguments); None passes an argument to all calls as is.
    out_dims : int or sequence of ints, default 0
        The position of the dimension in each result.
    randomness : str, default "error"
        With "error" and "different", calls draw different random numbers; with "same", equal ones.
    chunk_size : int, optional
        PyTorch's limit on memory, which has no effect.

    Returns
    -------
    callable
        A function of tensors that have the dimension.

    Raises
    ------
    ValueError
        When called, if no argument has such a dimension or the extents differ.

    See Also
    --------
    torch.func.grad

    Examples
    --------
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    def called(*args: Any, **kwargs: Any) -> Any:
        contents = _pytree.leaves(args)
        dims = _spread(in_dims if isinstance(in_dims, int) else list(in_dims), list(args))
        extents = set()
        for x, d in zip(contents, dims, strict=True):
            if d is None:
                continue
            if not isinstance(x, Tensor) or not x.ndim:
                raise ValueError(
                    f"vmap: got in_dim={d} for an input that is not a tensor with dimensions; use in_dim=None"
                )
            extents.add(x.dims[wrap_dim(d, x.ndim)])
        if len(extents) != 1:
            raise ValueError(
                "vmap: at least one input must be mapped over" if not extents else
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(extents)}"
            )  # fmt: skip
        state = get_rng_state() if randomness == "same" else None
        results = []
        for position in range(extents.pop()):
            if state is not None:
                set_rng_state(state)
            parts = [x if d is None else _shape.select(x, d, position) for x, d in zip(contents, dims, strict=True)]
            results.append(func(*_pytree.unflatten(args, parts), **kwargs))
        if not results:
            raise NotImplementedError("[vmap] a dimension of extent 0 is not supported")
        columns = zip(*(_pytree.leaves(result) for result in results), strict=True)
        targets = _spread(out_dims, results[0]) if not isinstance(out_dims, tuple) else list(out_dims)
        stacked = []
        for column, d in zip(columns, targets, strict=True):
            if not all(isinstance(y, Tensor) for y in column):
                raise ValueError("vmap: the function must return tensors, got " + type(column[0]).__name__)
            stacked.append(column[0] if d is None else _joining.stack(column, d))
        return _pytree.unflatten(results[0], stacked)

    return called
