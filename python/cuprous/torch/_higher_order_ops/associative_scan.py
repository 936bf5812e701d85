"""Running combinations of elements by an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch._joining import cat
from cuprous.torch.utils._pytree import tree_flatten, tree_unflatten


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
                     combine_mode: str = "pointwise") -> Any:  # fmt: skip
    """Returns the running combinations of elements along a dimension, in as many rounds as the extent has bits.

    Parameters
    ----------
    combine_fn : callable
        Combines two elements; it is called with many pairs at once.
    xs : Tensor
        A tensor, or a container of tensors.
    dim : int
        The dimension.
    reverse : bool, default False
        Whether to begin at the end.
    combine_mode : str, default "pointwise"
        Chooses PyTorch's implementation.

    Raises
    ------
    ValueError
        For another mode.
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = tree_flatten(xs)
    dim = dim % leaves[0].ndim
    parts = [leaf.flip([dim]) if reverse else leaf for leaf in leaves]
    count = parts[0].shape[dim]
    step = 1
    while step < count:
        left = [part.narrow(dim, 0, count - step) for part in parts]
        right = [part.narrow(dim, step, count - step) for part in parts]
        combined = tree_flatten(combine_fn(tree_unflatten(left, spec), tree_unflatten(right, spec)))[0]
        parts = [cat([part.narrow(dim, 0, step), new], dim) for part, new in zip(parts, combined, strict=True)]
        step *= 2
    return tree_unflatten([part.flip([dim]) if reverse else part for part in parts], spec)


__all__ = ["associative_scan"]
