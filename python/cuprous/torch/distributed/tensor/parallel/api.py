"""Divides modules over ranks by a plan."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._dtensor import _mesh
from cuprous.torch.distributed.tensor.parallel.style import ParallelStyle
from cuprous.torch.nn.modules.module import Module


def parallelize_module(module: Module, device_mesh: DeviceMesh | None = None,
                       parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
                       src_data_rank: int | None = 0) -> Module:  # fmt: skip
    """Divides a module, or parts of it by name, over a mesh of one dimension, in place.

    Parameters
    ----------
    module : Module
        The module.
    device_mesh : DeviceMesh, optional
        The ranks.
    parallelize_plan : ParallelStyle or dict of str to ParallelStyle, optional
        A style, or styles by name of the submodule: dotted, with `*` for any name at one place.
    src_data_rank : int or None, default 0
        The rank whose parameters are taken; None means each rank its own.

    Raises
    ------
    ValueError
        For a mesh of several dimensions.
    TypeError
        For anything else than styles.

    See Also
    --------
    torch.distributed.tensor.parallel.ColwiseParallel, torch.distributed.tensor.parallel.RowwiseParallel,
    torch.distributed.tensor.parallel.SequenceParallel

    Examples
    --------
    >>> parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})  # doctest: +SKIP
    """
    mesh = _mesh(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module needs a mesh of one dimension, such as mesh['tp'], got {mesh!r}")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided, so the module stays as it is.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(f"the plan of {path!r} is not a ParallelStyle but {type(style).__name__}")
        found = _matching(module, path.split(".") if path else [])
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no matching submodule", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _matching(module: Any, path: list[str]) -> list[Module]:
    if not path:
        return [module]
    children = [child for name, child in module.named_children() if fnmatch(name, path[0])]
    return [found for child in children for found in _matching(child, path[1:])]


__all__ = ["parallelize_module"]
