"""Normalization by statistics of a batch, or of each sample's channels; running statistics for evaluation."""

from __future__ import annotations

from typing import Any

from cuprous._common.naming import documented
from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._types import DTYPES
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.modules.normalization import Affine

_documented = documented({
    "num_features : int": "The number C of channels.",
    "eps : float": "What is added to the variance before its root is taken.",
    "momentum : float":
        "The part of the batch's statistics in the running ones; None for plain means over all batches.",
    "affine : bool": "Whether there are a learned scale and shift for each channel.",
    "track_running_stats : bool": "Whether there are running statistics, which evaluation uses.",
    "device : device or str": "The device of the parameters, by default the default device.",
    "dtype : dtype": "The dtype of the parameters, by default the default dtype.",
})  # fmt: skip


class _NormBase(Affine):
    """Base class with a scale and a shift for each channel, and running statistics."""

    _repr = ("{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
             "track_running_stats={self.track_running_stats}")  # fmt: skip
    _dims: tuple[int, ...] = ()
    _version = 2  # since when there is num_batches_tracked

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add_affine(num_features, affine, affine, device, dtype)
        for name, make, size, kind in (("running_mean", _creation.zeros, num_features, dtype),
                                       ("running_var", _creation.ones, num_features, dtype),
                                       ("num_batches_tracked", _creation.zeros, (), DTYPES["int64"])):  # fmt: skip
            self.register_buffer(name, make(size, dtype=kind, device=device) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Resets the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        super()._before_load(state, prefix, version)
        if self.track_running_stats and (version is None or version < 2):
            state.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Resets the running statistics, the scale to 1 and the shift to 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if self._dims and input.ndim not in self._dims:
            wanted = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input): [{self!r}] met an input of shape "
                             f"{list(input.dims)}")  # fmt: skip


class _BatchNorm(_NormBase):
    """Normalizes each channel to mean 0 and variance 1: by the batch in training, otherwise by running statistics.

    With `momentum=None` the running statistics are plain means over all batches so far.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input."""
        self._check_input_dim(input)
        if input.dims[1] != self.num_features:
            raise RuntimeError(f"[{self!r}] running_mean should contain {input.dims[1]} elements not "
                               f"{self.num_features}: the input has shape {list(input.dims)}")  # fmt: skip
        tracked = self.training and self.track_running_stats
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        if tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked
        by_batch = self.training or self.running_mean is None
        keep = tracked or not by_batch
        return self._normalize(input, self.running_mean if keep else None, self.running_var if keep else None,
                               by_batch, momentum)  # fmt: skip

    def _normalize(self, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, by_batch: bool,
                   momentum: Any) -> Tensor:  # fmt: skip
        return F.batch_norm(input, running_mean, running_var, self.weight, self.bias, by_batch, momentum, self.eps)


@_documented
class BatchNorm1d(_BatchNorm):
    """Batch normalization of vectors or signals (Ioffe and Szegedy, 2015).

    Shapes
    ------
    input
        (N, C) or (N, C, L), of the dtype of the parameters.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm, torch.nn.LayerNorm

    Examples
    --------
    >>> nn.BatchNorm1d(2)(torch.tensor([[1.0, 5.0], [3.0, 5.0]])).detach()
    tensor([[-1.0000,  0.0000],
            [ 1.0000,  0.0000]])
    """

    _dims = (2, 3)


@_documented
class BatchNorm2d(_BatchNorm):
    """Batch normalization of images (Ioffe and Szegedy, 2015).

    Shapes
    ------
    input
        (N, C, H, W), of the dtype of the parameters.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm, torch.nn.LayerNorm, torch.nn.BatchNorm1d

    Examples
    --------
    >>> nn.BatchNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _dims = (4,)


@_documented
class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes (Ioffe and Szegedy, 2015).

    Shapes
    ------
    input
        (N, C, D, H, W), of the dtype of the parameters.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.SyncBatchNorm, torch.nn.LayerNorm, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d

    Examples
    --------
    >>> nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (5,)


@_documented
class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all ranks of a process group.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        The group; without one the batch of this process is used.

    Shapes
    ------
    input
        (N, C, ...), of the dtype of the parameters.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.LayerNorm, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d

    Examples
    --------
    >>> nn.SyncBatchNorm(3)(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    def _normalize(self, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, by_batch: bool,
                   momentum: Any) -> Tensor:  # fmt: skip
        from cuprous.torch.nn import _sync_batch_norm

        if not (by_batch and self.training and _sync_batch_norm.has_ranks(self.process_group)):
            return super()._normalize(input, running_mean, running_var, by_batch, momentum)
        return _sync_batch_norm.sync_batch_norm(
            input, running_mean, running_var, self.weight, self.bias, momentum, self.eps, self.process_group
        )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Returns the module with each batch normalization replaced by a `SyncBatchNorm` of the same parameters and
        statistics.

        Parameters
        ----------
        module : Module
            The module, which is changed.
        process_group : ProcessGroup, optional
            The group of the new layers.

        Returns
        -------
        Module
            The module; a new layer if it is a batch normalization itself.

        Examples
        --------
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
        'SyncBatchNorm'
        """
        if isinstance(module, _BatchNorm):
            result = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                         process_group)  # fmt: skip
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
            return result
        for name, child in list(module.named_children()):
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample to mean 0 and variance 1."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input, which may lack the batch dimension."""
        self._check_input_dim(input)
        single = input.ndim == self._dims[0]
        channels = input.dims[0 if single else 1]
        if channels != self.num_features and (self.affine or self.track_running_stats):
            raise ValueError(f"expected input's size at dim={0 if single else 1} to match num_features "
                             f"({self.num_features}), but got: {channels}: [{self!r}] met an input of shape "
                             f"{list(input.dims)}")  # fmt: skip
        result = F.instance_norm(
            input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return result.squeeze(0) if single else result


@_documented
class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of signals (Ulyanov et al., 2016).

    Shapes
    ------
    input
        (N, C, L) or (C, L), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.InstanceNorm2d, torch.nn.InstanceNorm3d, torch.nn.GroupNorm

    Examples
    --------
    >>> nn.InstanceNorm1d(1)(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    _dims = (2, 3)


@_documented
class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images (Ulyanov et al., 2016).

    Shapes
    ------
    input
        (N, C, H, W) or (C, H, W), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.InstanceNorm3d, torch.nn.GroupNorm, torch.nn.InstanceNorm1d

    Examples
    --------
    >>> nn.InstanceNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _dims = (3, 4)


@_documented
class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes (Ulyanov et al., 2016).

    Shapes
    ------
    input
        (N, C, D, H, W) or (C, D, H, W), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.GroupNorm, torch.nn.InstanceNorm1d, torch.nn.InstanceNorm2d

    Examples
    --------
    >>> nn.InstanceNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (4, 5)


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "SyncBatchNorm"
]  # fmt: skip
