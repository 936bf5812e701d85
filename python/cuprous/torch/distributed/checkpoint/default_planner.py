"""The default planners: all of a state, each value written once."""

from __future__ import annotations

import dataclasses
import io
import math
from bisect import bisect_right, insort
from collections import ChainMap
from typing import Any, cast

from cuprous._core import Tensor
from cuprous.torch import serialization
from cuprous.torch.distributed import _objects
from cuprous.torch.distributed.checkpoint import _nested, _wire, planner_helpers
from cuprous.torch.distributed.checkpoint._plan_cache import PlanCache
from cuprous.torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from cuprous.torch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)

#: By class and options of planners.
_CACHES: dict[Any, PlanCache] = {}


class DefaultSavePlanner(SavePlanner):
    """Saves all of a state; what several ranks have is saved by one of them.

    Parameters
    ----------
    flatten_state_dict : bool, default True
        Saves nested dicts and lists entry by entry. With False no value may contain tensors.
    flatten_sharded_tensors : bool, default True
        Has no effect, because DTensors do not contain each other.
    dedup_replicated_tensors : bool, optional
        Has no effect; what several ranks have is always saved once.
    dedup_save_to_lowest_rank : bool, default False
        The lowest of the ranks that have a tensor saves it, instead of that of them which has least to write.
    enable_plan_caching : bool, default False
        What a rank has planned is sent and combined again only if it has changed since the last save by a planner of
        this class with these options. All ranks give the same value.

    See Also
    --------
    torch.distributed.checkpoint.SavePlanner, torch.distributed.checkpoint.DefaultLoadPlanner

    Examples
    --------
    >>> planner = dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=True)  # doctest: +SKIP
    >>> dcp.save(state, checkpoint_id="step100", planner=planner)  # doctest: +SKIP
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
                 enable_plan_caching: bool = False) -> None:  # fmt: skip
        self.flatten_state_dict = bool(flatten_state_dict)
        self.flatten_sharded_tensors = bool(flatten_sharded_tensors)
        self.dedup_save_to_lowest_rank = bool(dedup_save_to_lowest_rank)
        #: By name: where a value is in the nested state.
        self.mappings: dict[str, _nested.Path] = {}
        self.state_dict: dict[str, Any] = {}
        self.is_coordinator = False
        #: False if each rank saves for itself: a plan is not that of all parts then.
        self.plans_for_all = True
        self._is_cached = bool(enable_plan_caching)

    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:  # fmt: skip
        self.state_dict, self.mappings = _flat(state_dict, self.flatten_state_dict)
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        self.plan = dataclasses.replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan
        return self._cache().to_send(self.plan, _wire.modules_of(self)) if self._is_cached else self.plan

    def _cache(self) -> PlanCache:
        key = type(self), self.flatten_state_dict, self.dedup_save_to_lowest_rank, self.plans_for_all
        return _CACHES.setdefault(key, PlanCache())

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        if not self._is_cached:
            return self._combine(all_plans)
        self.global_plan, self.metadata = self._cache().combine(all_plans, self._combine, _wire.modules_of(self))
        return self.global_plan, self.metadata

    def _combine(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        own = dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)
        self.global_plan, contents = create_default_global_save_plan(own)
        if self.flatten_state_dict:
            contents.planner_data = dict(ChainMap(*(plan.planner_data or {} for plan in self.global_plan)))
        _check_parts(contents, self.plans_for_all)
        self.metadata = contents
        return self.global_plan, contents

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = self._cache().received(new_plan, _wire.modules_of(self)) if self._is_cached else new_plan
        return self.plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """Returns a value of the state; of a distributed tensor, this rank's part.

        Parameters
        ----------
        index : MetadataIndex
            Its name.
        """
        return _lookup(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Returns what is written for a value: tensors as they are, others as `torch.save` writes them.

        Parameters
        ----------
        write_item : WriteItem
            Its item.
        object : object
            The value.

        Raises
        ------
        TypeError
            For an object that would have to be pickled.
        """
        return PlainBytes(object) if write_item.type == WriteItemType.BYTE_IO else object


class DefaultLoadPlanner(LoadPlanner):
    """Loads all of a state, whatever ranks have saved it.

    Parameters
    ----------
    flatten_state_dict : bool, default True
        Loads nested dicts and lists entry by entry. With False no value may contain tensors.
    flatten_sharded_tensors : bool, default True
        Has no effect, because DTensors do not contain each other.
    allow_partial_load : bool, default False
        Leaves entries that the checkpoint lacks as they are; otherwise they are an error.

    See Also
    --------
    torch.distributed.checkpoint.LoadPlanner, torch.distributed.checkpoint.DefaultSavePlanner

    Examples
    --------
    >>> planner = dcp.DefaultLoadPlanner(allow_partial_load=True)  # doctest: +SKIP
    >>> dcp.load(state, checkpoint_id="step100", planner=planner)  # doctest: +SKIP
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 allow_partial_load: bool = False) -> None:  # fmt: skip
        self.flatten_state_dict = bool(flatten_state_dict)
        self.flatten_sharded_tensors = bool(flatten_sharded_tensors)
        self.allow_partial_load = bool(allow_partial_load)
        #: What is changed in place, and its leaves by name.
        self.original_state_dict: dict[str, Any] = {}
        self.state_dict: dict[str, Any] = {}
        self.mappings: dict[str, _nested.Path] = {}
        self.metadata: Metadata | None = None
        self.is_coordinator = False

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:  # fmt: skip
        self.original_state_dict = state_dict
        self.state_dict, self.mappings = _flat(state_dict, self.flatten_state_dict)
        self.metadata, self.is_coordinator = metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None, "set_up_planner was called without the contents of the checkpoint"
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        loaded, name = serialization.load(value), read_item.dest_index.fqn
        if self.flatten_state_dict:
            _nested.put(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Does nothing: `resolve_tensor` returns memory of the state.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        tensor : Tensor
            What `resolve_tensor` has returned.
        """

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """Returns a tensor of the state; of a distributed one, this rank's part.

        Parameters
        ----------
        index : MetadataIndex
            Its name.
        """
        return cast(Tensor, _lookup(self.state_dict, index))

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """Returns the part of a tensor into which an item is copied.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        tensor : Tensor
            What `lookup_tensor` has returned.
        """
        return planner_helpers.narrow(tensor, read_item.dest_offsets, read_item.lengths)


class PlainBytes(io.BytesIO):
    """A plain value as `torch.save` writes it.

    Parameters
    ----------
    value : number
        The value.

    Raises
    ------
    TypeError
        For an object that would have to be pickled, and whose loading would run code.
    """

    def __init__(self, value: Any) -> None:
        #: The value as JSON.
        self.packed = _objects._pack(value, [], False)
        super().__init__()
        serialization.save(value, self)
        self.seek(0)


def _flat(state: dict[str, Any], flatten: bool) -> tuple[dict[str, Any], dict[str, _nested.Path]]:
    if flatten:
        return _nested.flatten(state)
    _nested.check_flat(state)
    return state, {}


def _lookup(state: dict[str, Any], index: MetadataIndex) -> Any:
    if index.fqn not in state:
        raise KeyError(f"the state has no entry {index.fqn!r}")
    value = state[index.fqn]
    return planner_helpers.local_tensor(value) if isinstance(value, Tensor) else value


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """Returns the items of a flat state: each value that this rank has, or a part of it.

    Parameters
    ----------
    state_dict : dict
        The state.
    is_coordinator : bool
        Has no effect, because values of several ranks are reduced to one later.
    """
    here = ((name, value) for name, value in state_dict.items() if planner_helpers.is_here(value))
    return SavePlan([item for name, value in here for item in planner_helpers.write_items(name, value)])


def dedup_save_plans(all_plans: list[SavePlan], save_to_lowest_rank: bool = False) -> list[SavePlan]:
    """Returns plans in which each item is written by one rank.

    Parameters
    ----------
    all_plans : list of SavePlan
        The plans of the ranks.
    save_to_lowest_rank : bool, default False
        By the lowest that has it, instead of by the one that has least to write. Values that are no tensors are always
        written by the lowest.

    Raises
    ------
    ValueError
        If a tensor differs between ranks in dtype or shape.
    """
    holders: dict[MetadataIndex, list[int]] = {}
    first: dict[str, WriteItem] = {}
    for rank, plan in enumerate(all_plans):
        for item in plan.items:
            _check_same(first.setdefault(item.index.fqn, item), item)
            holders.setdefault(item.index, []).append(rank)
    load, own = [0] * len(all_plans), [set[MetadataIndex]() for _ in all_plans]
    sizes = {item.index: item.tensor_storage_size() for plan in all_plans for item in plan.items}
    for index, ranks in holders.items():
        by_load = sizes[index] is not None and not save_to_lowest_rank
        rank = min(ranks, key=lambda rank: (load[rank] if by_load else 0, rank))
        load[rank] += sizes[index] or 0
        own[rank].add(index)
    return [dataclasses.replace(plan, items=[item for item in plan.items if item.index in own[rank]])
            for rank, plan in enumerate(all_plans)]  # fmt: skip


def _check_same(one: WriteItem, other: WriteItem) -> None:
    def text(item: WriteItem) -> str:
        data = item.tensor_data
        return "a value" if data is None else f"{data.properties.dtype.name}{list(data.size)}"

    if text(one) != text(other) or one.type != other.type:
        kinds = f"{text(one)} and {text(other)}"
        if text(one) == text(other):
            kinds = f"a {one.type.name.lower()} and a {other.type.name.lower()} {text(one)}"
        raise ValueError(f"{one.index.fqn!r} differs between ranks: {kinds}")


def create_default_global_save_plan(all_plans: list[SavePlan],
                                    rewrite_index_hints: bool = True) -> tuple[list[SavePlan], Metadata]:  # fmt: skip
    """Returns plans, and the contents of the checkpoint that they write.

    Parameters
    ----------
    all_plans : list of SavePlan
        The plans of the ranks, in which each item occurs once.
    rewrite_index_hints : bool, default True
        Gives each part of a tensor its position among them.

    Raises
    ------
    ValueError
        If a value that is no part of a tensor occurs twice.
    """
    found: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name, data, index = item.index.fqn, item.tensor_data, item.index
            if item.type != WriteItemType.SHARD and name in found:
                raise ValueError(f"two ranks would write {name!r}")
            if data is None:
                found[name] = BytesStorageMetadata()
            else:
                tensor = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
                assert isinstance(tensor, TensorStorageMetadata)
                if rewrite_index_hints:
                    index = dataclasses.replace(index, index=len(tensor.chunks))
                tensor.chunks.append(data.chunk)
            items.append(dataclasses.replace(item, index=index))
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


def _check_parts(contents: Metadata, are_all: bool) -> None:
    """Raises unless the parts of each tensor are inside of it, each element once, and all of it if they `are_all`."""
    for name, tensor in contents.state_dict_metadata.items():
        if isinstance(tensor, BytesStorageMetadata):
            continue
        chunks = tensor.chunks
        for chunk in chunks:
            ends = zip(chunk.offsets, chunk.sizes, tensor.size, strict=True)
            if any(at < 0 or size < 0 or at + size > n for at, size, n in ends):
                raise ValueError(f"a part of {name!r} is not inside of it: {chunk}")
        both = _overlapping(chunks)
        if both:
            raise ValueError(f"two parts of {name!r} overlap: {both[0]} and {both[1]}")
        missing = math.prod(tensor.size) - sum(math.prod(chunk.sizes) for chunk in chunks)
        if missing and are_all:
            raise ValueError(f"no rank writes {missing} elements of {name!r}")


def _overlapping(chunks: list[ChunkStorageMetadata]) -> tuple[ChunkStorageMetadata, ChunkStorageMetadata] | None:
    """Returns two parts that have an element in common, if there are such, in the order of the dimension in which the
    parts lie most widely."""
    if len(chunks) < 2 or not chunks[0].offsets:
        return (chunks[0], chunks[1]) if len(chunks) > 1 else None
    dim = max(range(len(chunks[0].offsets)), key=lambda d: len({chunk.offsets[d] for chunk in chunks}))
    current: list[tuple[int, int]] = []
    for at in sorted(range(len(chunks)), key=lambda k: chunks[k].offsets[dim]):
        start = chunks[at].offsets[dim]
        del current[: bisect_right(current, (start, len(chunks)))]
        for _, other in current:
            if planner_helpers.overlap(chunks[at], chunks[other]):
                return chunks[other], chunks[at]
        insort(current, (start + chunks[at].sizes[dim], at))
    return None


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """Returns the items that a flat state needs.

    Parameters
    ----------
    state_dict : dict
        The state.
    metadata : Metadata
        The contents of the checkpoint.
    strict : bool, default True
        An entry that the checkpoint lacks is an error; otherwise it is left out.

    Raises
    ------
    RuntimeError
        For an entry that the checkpoint lacks.
    ValueError
        For a tensor of another shape, or of which the checkpoint lacks elements.
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        saved = metadata.state_dict_metadata.get(name)
        is_missing = saved is None or (isinstance(value, Tensor) and isinstance(saved, BytesStorageMetadata))
        if is_missing and strict:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if is_missing or not planner_helpers.is_here(value):
            continue
        if isinstance(saved, TensorStorageMetadata) and isinstance(value, Tensor):
            sizes, current = list(saved.size), list(value.dims)
            if sizes != current:
                raise ValueError(f"Size mismatch between saved {sizes} and current: {current} for {name}")
        items += planner_helpers.read_items(name, saved, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """Returns the plans as they are: no rank needs to know what others read.

    Parameters
    ----------
    all_plans : list of LoadPlan
        The plans of the ranks.
    """
    return all_plans


__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
           "create_default_global_save_plan", "create_default_local_load_plan", "create_default_local_save_plan",
           "dedup_save_plans"]  # fmt: skip
