"""Planners, which say what of a state is saved or loaded: PyTorch's default ones, with their options."""

from __future__ import annotations

from typing import Any

from cuprous.torch.distributed._options import unsupported


class DefaultSavePlanner:
    """Saves all of a state; a plain tensor that several ranks have is saved by one of them.

    Args:
        flatten_state_dict: True: nested dicts and lists are saved entry by entry.
        flatten_sharded_tensors: has no effect, because DTensors do not contain each other.
        dedup_replicated_tensors: has no effect; plain tensors of several ranks are always saved once.
        dedup_save_to_lowest_rank: the lowest of the ranks that have a plain tensor saves it, instead of that of them
            which has least to write.
        enable_plan_caching: False.

    Raises:
        NotImplementedError: for `flatten_state_dict=False` or `enable_plan_caching=True`.

    Example:
        >>> planner = dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=True)  # doctest: +SKIP
        >>> dcp.save(state, checkpoint_id="step100", planner=planner)  # doctest: +SKIP
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
                 enable_plan_caching: bool = False) -> None:  # fmt: skip
        _check_flat("DefaultSavePlanner", flatten_state_dict)
        unsupported("DefaultSavePlanner", enable_plan_caching=enable_plan_caching)
        self.dedup_save_to_lowest_rank = bool(dedup_save_to_lowest_rank)


class DefaultLoadPlanner:
    """Loads all of a state.

    Args:
        flatten_state_dict: True: nested dicts and lists are loaded entry by entry.
        flatten_sharded_tensors: has no effect, because DTensors do not contain each other.
        allow_partial_load: leaves entries that the checkpoint lacks as they are; otherwise they are an error.

    Raises:
        NotImplementedError: for `flatten_state_dict=False`.

    Example:
        >>> planner = dcp.DefaultLoadPlanner(allow_partial_load=True)  # doctest: +SKIP
        >>> dcp.load(state, checkpoint_id="step100", planner=planner)  # doctest: +SKIP
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 allow_partial_load: bool = False) -> None:  # fmt: skip
        _check_flat("DefaultLoadPlanner", flatten_state_dict)
        self.allow_partial_load = bool(allow_partial_load)


def _check_flat(name: str, flatten_state_dict: bool) -> None:
    if not flatten_state_dict:
        raise NotImplementedError(f"[{name}] flatten_state_dict=False is not supported: pass a flat state")


def given(function: str, planner: Any, kind: type[Any]) -> Any:
    """Returns the planner of an argument, a new one for None.

    Raises:
        NotImplementedError: for another planner, whose methods would not be called.
    """
    if planner is None:
        return kind()
    if type(planner) is not kind:
        raise NotImplementedError(f"[{function}] planner={planner!r} is not supported; pass a {kind.__name__} or None")
    return planner


__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]
