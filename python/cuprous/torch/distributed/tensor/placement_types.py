"""How a dimension of a mesh holds a tensor."""

from __future__ import annotations

from dataclasses import dataclass

#: The reductions of `Partial`, which are those of `ReduceOp` under the same names.
REDUCTIONS = ("sum", "avg", "product", "min", "max")


class Placement:
    """Base class of `Shard`, `Replicate` and `Partial`.

    See Also
    --------
    torch.distributed.tensor.Shard, torch.distributed.tensor.Replicate, torch.distributed.tensor.Partial

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> isinstance(dt.Shard(0), dt.Placement)
    True
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Returns True for `Shard`, of dimension `dim` if it is given.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> dt.Shard(0).is_shard(0)
        True
        """
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Returns True for `Replicate`.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> dt.Replicate().is_replicate()
        True
        """
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Returns True for `Partial`, of the reduction `reduce_op` if it is given.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> dt.Partial().is_partial()
        True
        """
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along a dimension, of the sizes of `torch.chunk`: the last ranks may have less or nothing.

    See Also
    --------
    torch.distributed.tensor.Replicate, torch.distributed.tensor.Partial, torch.distributed.tensor.Placement

    Examples
    --------
    >>> Shard(0)
    Shard(dim=0)
    """

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole tensor.

    See Also
    --------
    torch.distributed.tensor.Partial, torch.distributed.tensor.Placement, torch.distributed.tensor.Shard

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> dt.Replicate()
    Replicate()
    """


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank has a tensor of the whole shape. The value is their reduction: "sum", "avg", "product", "min" or
    "max".

    See Also
    --------
    torch.distributed.tensor.Placement, torch.distributed.tensor.Shard, torch.distributed.tensor.Replicate

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> dt.Partial()
    Partial(sum)
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __post_init__(self) -> None:
        if self.reduce_op not in REDUCTIONS:
            raise ValueError(f"Partial() needs one of the reductions {', '.join(REDUCTIONS)}, got {self.reduce_op!r}")


class _StridedShard(Shard):
    """A dimension that is divided from right to left, as FSDP2 and tensor parallelism do together in PyTorch. It exists
    for `isinstance`: here dimensions of the mesh divide a tensor one after another."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        raise NotImplementedError("[_StridedShard] is not supported; use Shard for each dimension of the mesh")


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
