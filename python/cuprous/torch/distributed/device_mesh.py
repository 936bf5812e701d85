"""Ranks in a grid, with a group for each row of each dimension."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch.distributed._groups import GroupMember, ProcessGroup, get_rank, get_world_size, group, new_group
from cuprous.torch.distributed._options import backends_by_device
from cuprous.torch.distributed._subgroups import new_subgroups_by_enumeration


class DeviceMesh:
    """A grid of ranks. `init_device_mesh` returns one; all ranks of the job create the same ones.

    Parameters
    ----------
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".
    mesh : Tensor or list
        The ranks, as a tensor or nested lists.
    mesh_dim_names : tuple of str, optional
        Names of the dimensions.

    Raises
    ------
    NotImplementedError
        For another device.
    RuntimeError
        For a device with an index.
    ValueError
        If ranks are repeated, or the names do not fit the dimensions.

    See Also
    --------
    torch.distributed.init_device_mesh

    Examples
    --------
    >>> mesh = dist.DeviceMesh("cpu", [0])
    >>> mesh.size()
    1
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None,
                 _groups: list[Any] | None = None) -> None:  # fmt: skip
        if not device_type.isalpha():
            raise RuntimeError(
                f"Device type with index is not supported but got {device_type}; "
                f"pass {device_type.partition(':')[0]!r}. torch.cuda.set_device says which GPU a rank has"
            )
        if device_type not in ("cpu", "cuda"):
            raise NotImplementedError(
                f'[DeviceMesh] {device_type!r} is not supported: a mesh has ranks of "cpu" or "cuda"'
            )
        if device_type == "cuda":
            _choose_gpu()
        self.device_type = device_type
        self._ranks = np.asarray(mesh.tolist() if isinstance(mesh, Tensor) else mesh, dtype=np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if len(set(self._ranks.ravel().tolist())) != self._ranks.size:
            raise ValueError(f"[DeviceMesh] ranks are repeated: {self._ranks.tolist()}")
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self._ranks.ndim:
            raise ValueError(
                f"[DeviceMesh] {len(self.mesh_dim_names)} names do not fit a mesh of {self._ranks.ndim} dimensions"
            )
        self._dim_groups = [self._make(dim) for dim in range(self._ranks.ndim)] if _groups is None else _groups
        #: The mesh of which this one has some dimensions.
        self._parent = self
        #: Dimensions that `_flatten` made of several, by name.
        self._flattened: dict[str, DeviceMesh] = {}

    def _make(self, dim: int) -> Any:
        """Returns this rank's group of a dimension. All ranks make all groups, in the same order."""
        if self._ranks.ravel().tolist() == list(range(get_world_size())) and self._ranks.size == self._ranks.shape[dim]:
            return group.WORLD
        own = GroupMember.NON_GROUP_MEMBER
        for row in np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim]).tolist():
            made = new_group(row)
            if made is not GroupMember.NON_GROUP_MEMBER:
                own = made
        return own

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return _creation.tensor(self._ranks.tolist(), device="cpu")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """Returns the number of ranks, of one dimension or of all.

        Examples
        --------
        >>> dist.DeviceMesh("cpu", [0]).size()
        1
        """
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def _dim(self, given: int | str | None) -> int:
        if given is None:
            if self.ndim != 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be "
                    "specified when device_mesh.ndim > 1."
                )
            return 0
        if isinstance(given, str):
            names = self.mesh_dim_names or ()
            if given not in names:
                raise KeyError(f"Mesh dimension {given!r} does not exist. Available mesh dimensions are: {names}")
            return names.index(given)
        return given

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Returns this rank's group of a dimension.

        Examples
        --------
        >>> dist.DeviceMesh("cpu", [0]).get_group().size()
        1
        """
        found: ProcessGroup = self._dim_groups[self._dim(mesh_dim)]
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """Returns this rank's groups of all dimensions.

        Examples
        --------
        >>> len(dist.DeviceMesh("cpu", [0]).get_all_groups())
        1
        """
        return list(self._dim_groups)

    def get_rank(self) -> int:
        """Returns this process's rank in the job.

        Examples
        --------
        >>> dist.DeviceMesh("cpu", [0]).get_rank()
        0
        """
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Returns this rank's position in the mesh; None if it is not in it.

        Examples
        --------
        >>> dist.DeviceMesh("cpu", [0]).get_coordinate()
        (0,)
        """
        found = np.argwhere(self._ranks == get_rank()).tolist()
        return tuple(int(k) for k in found[0]) if found else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Returns this rank's position in a dimension.

        Raises
        ------
        RuntimeError
            If this rank is not in the mesh.

        Examples
        --------
        >>> dist.DeviceMesh("cpu", [0]).get_local_rank()
        0
        """
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError(f"[DeviceMesh] rank {get_rank()} is not in {self!r}")
        return place[self._dim(mesh_dim)]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Returns the mesh of some dimensions, by name, in which this rank is."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if len(names) == 1 and names[0] in self._flattened:
            return self._flattened[names[0]]
        dims = [self._dim(name) for name in names]
        if dims != sorted(set(dims)):
            raise KeyError(f"Mesh dimensions must be in the order of the mesh: {self.mesh_dim_names}, got {names}")
        return self._part(dims)

    def _part(self, dims: list[int]) -> DeviceMesh:
        """Returns the mesh of some dimensions, in that order, in which this rank is."""
        place = self.get_coordinate() or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if k in dims else place[k] for k in range(self.ndim))]
        part = part.transpose([sorted(dims).index(k) for k in dims])
        names = None if self.mesh_dim_names is None else tuple(self.mesh_dim_names[k] for k in dims)
        groups = [self._dim_groups[k] for k in dims]
        mesh = DeviceMesh(self.device_type, part.tolist(), mesh_dim_names=names, _groups=groups)
        mesh._parent = self._parent
        return mesh

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """Returns the mesh of one dimension that consists of all of this mesh, which the whole mesh then has by name.
        All ranks of the whole mesh call it."""
        if backend_override is not None:
            raise NotImplementedError(f"[DeviceMesh] backend_override={backend_override!r} is not supported")
        whole = self._parent
        if self.mesh_dim_names is None or whole.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        if name in whole._flattened or (self.ndim == 1 and name == self.mesh_dim_names[0]):
            return whole._flattened.get(name, self)
        if name in whole.mesh_dim_names:
            raise ValueError(f"{name} already exists for submesh of the {whole}")
        dims = [whole._dim(each) for each in self.mesh_dim_names]
        others = [k for k in range(whole.ndim) if k not in dims]
        rows = whole._ranks.transpose(others + dims).reshape(-1, self.size())
        made, _ = new_subgroups_by_enumeration(rows.tolist())
        row = next((row for row in rows.tolist() if get_rank() in row), rows[0].tolist())
        own = DeviceMesh(self.device_type, row, mesh_dim_names=(name,), _groups=[made])
        whole._flattened[name] = own
        return own

    def _joined(self, other: DeviceMesh) -> DeviceMesh | None:
        """Returns the mesh of the dimensions of two parts of one mesh; None if they are not such parts."""
        parent, names = self._parent, [*(self.mesh_dim_names or ()), *(other.mesh_dim_names or ())]
        if other._parent is not parent or len(set(names)) < self.ndim + other.ndim:
            return None
        return parent._part([parent._dim(name) for name in names])

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self._ranks.tolist()}{names})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and np.array_equal(self._ranks, other._ranks)
            and self.mesh_dim_names == other.mesh_dim_names
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self._ranks.tobytes(), self._ranks.shape, self.mesh_dim_names))


def _choose_gpu() -> None:
    """Makes this rank's GPU of its host the current one, unless the program has chosen one."""
    local = os.environ.get("LOCAL_RANK", "")
    if not _types.is_gpu_chosen() and local.isdigit() and int(local) < _core.device_count():
        _types.set_current_gpu(int(local))


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None,
                     backend_override: Any = None) -> DeviceMesh:  # fmt: skip
    """Returns a mesh of all ranks in their order. All ranks call it.

    On "cuda" each rank has the GPU that `torch.cuda.set_device` chose; without it, that of `LOCAL_RANK`.

    Raises
    ------
    RuntimeError
        If the mesh does not have as many places as there are ranks, or names are repeated.
    NotImplementedError
        For another device than "cpu" and "cuda".

    See Also
    --------
    torch.distributed.new_group, torch.distributed.new_subgroups, torch.distributed.new_subgroups_by_enumeration,
    torch.distributed.DeviceMesh

    Examples
    --------
    >>> mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))  # doctest: +SKIP
    >>> mesh["shard"].get_group()  # doctest: +SKIP
    """
    if backend_override is not None:
        for override in backend_override.values():
            backends_by_device("init_device_mesh", override)
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in {mesh_dim_names}")
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(mesh_dim_names)} and len(mesh_shape): {len(mesh_shape)}."
        )
    world = get_world_size()
    if math.prod(mesh_shape) != world:
        raise RuntimeError(f"Mesh should not be bigger or smaller than the {world} ranks, got shape {mesh_shape}")
    ranks = np.arange(world).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks.tolist(), mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
