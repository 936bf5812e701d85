"""Divisions of ranks into groups."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from cuprous import _core
from cuprous.torch.distributed._groups import get_process_group_ranks, get_rank, new_group


def new_subgroups(group_size: int | None = None, group: Any = None, timeout: timedelta | None = None,
                  backend: str | None = None, pg_options: Any = None,
                  group_desc: str | None = None) -> tuple[Any, list[Any]]:  # fmt: skip
    """Divides the ranks of a group into groups of neighbors. All ranks of the job call it.

    Parameters
    ----------
    group_size : int, optional
        The ranks of each group; None is the number of GPUs of this host.
    group : ProcessGroup, optional
        The group to divide; None is all ranks.
    timeout : timedelta, optional
        See `new_group`.
    backend : str, optional
        See `new_group`.
    pg_options : object, optional
        Not supported.
    group_desc : str, optional
        The description of each group.

    Returns
    -------
    tuple
        The group that this rank is in, and all groups.

    Raises
    ------
    ValueError
        If the size is not positive or does not divide the ranks, or there is no GPU and no size.

    See Also
    --------
    torch.distributed.new_subgroups_by_enumeration, torch.distributed.init_device_mesh, torch.distributed.new_group

    Examples
    --------
    >>> group, groups = dist.new_subgroups(1)
    >>> group.size(), len(groups)
    (1, 1)
    """
    if group_size is None:
        group_size = _core.device_count()
        if not group_size:
            raise ValueError("Default group size only takes effect when CUDA is available; pass group_size")
    ranks = get_process_group_ranks(group)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    divided = [ranks[first : first + group_size] for first in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(divided, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
                                 backend: str | None = None, pg_options: Any = None,
                                 group_desc: str | None = None) -> tuple[Any, list[Any]]:  # fmt: skip
    """Makes groups of ranks that are given. All ranks of the job call it.

    Parameters
    ----------
    ranks_per_subgroup_list : sequence of sequence of ints
        The ranks of each group, none of which is in two of them.
    timeout : timedelta, optional
        See `new_group`.
    backend : str, optional
        See `new_group`.
    pg_options : object, optional
        Not supported.
    group_desc : str, optional
        The description of each group.

    Returns
    -------
    tuple
        The group that this rank is in, None if there is none, and all groups.

    Raises
    ------
    ValueError
        If there is no group, or a rank is in two of them.

    See Also
    --------
    torch.distributed.init_device_mesh, torch.distributed.new_group, torch.distributed.new_subgroups

    Examples
    --------
    >>> group, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> group.size(), len(groups)
    (1, 1)
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list
    ]
    own = next((made for made, ranks in zip(groups, ranks_per_subgroup_list, strict=True) if get_rank() in ranks), None)
    return own, groups
