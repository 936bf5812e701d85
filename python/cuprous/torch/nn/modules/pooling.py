"""Pooling layers. The classes for each number of dimensions are generated from one table."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules._generated import documented
from cuprous.torch.nn.modules.module import Module, names_layer


class _Pool(Module):
    """Base class of layers that call `_function`, with the number of dimensions appended to its name."""

    _rank, _function = 0, ""

    @names_layer
    def _of(self, *args: Any) -> Any:
        return getattr(F, self._function.format(self._rank))(*args)


class _MaxPool(_Pool):
    """A layer that returns the maximum of each window over the last dimensions.

    Parameters
    ----------
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of elements added on both sides, which are smaller than all others.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype; with `return_indices` a pair of tensors.

    See Also
    --------
    torch.nn.functional.max_pool{n}d, torch.nn.MaxUnpool{n}d

    Examples
    --------
    >>> nn.MaxPool{n}d(2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _repr = ("kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
             "dilation={self.dilation}, ceil_mode={self.ceil_mode}")  # fmt: skip
    _function = "max_pool{}d"

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Returns the maxima."""
        return self._of(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                        self.return_indices)  # fmt: skip


class _MaxUnpool(_Pool):
    """A layer that returns maxima at the indices where they were found, and zeros elsewhere.

    Parameters
    ----------
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of elements that were added on both sides.

    Shapes
    ------
    input
        The maxima, (N, C, ...) or (C, ...).
    indices
        Their int64 indices, of the same shape.
    output_size
        The extents of the result, by default the least possible.
    result
        (N, C, ...) or (C, ...), of the dtype of the maxima.

    See Also
    --------
    torch.nn.functional.max_unpool{n}d, torch.nn.MaxPool{n}d

    Examples
    --------
    >>> maxima, indices = nn.MaxPool{n}d(2, return_indices=True)(torch.ones(1, 1{four}))
    >>> nn.MaxUnpool{n}d(2)(maxima, indices).shape
    torch.Size([1, 1{four}])
    """

    _repr = "kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
    _function = "max_unpool{}d"

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (
            tuple(g) if isinstance(g, (tuple, list)) else (g,) * self._rank for g in given
        )

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Returns the values at their indices."""
        return self._of(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPool(_Pool):
    """A layer that returns the mean of each window over the last dimensions.

    Parameters
    ----------
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of zeros added on both sides.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.
    count_include_pad : bool, default True
        Whether padding counts in the mean.
    divisor_override : int, optional
        The number by which sums are divided instead; not for one dimension.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype.

    See Also
    --------
    torch.nn.functional.avg_pool{n}d, torch.nn.AdaptiveAvgPool{n}d

    Examples
    --------
    >>> nn.AvgPool{n}d(2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _repr = "kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
    _function = "avg_pool{}d"

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:  # fmt: skip
        super().__init__()
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        if self._rank == 1:  # as in PyTorch's repr
            if divisor_override is not None:
                raise TypeError("AvgPool1d.__init__() got an unexpected keyword argument 'divisor_override'")
            given = tuple(tuple(g) if isinstance(g, (tuple, list)) else (g,) for g in given)  # type: ignore[assignment]
        self.kernel_size, self.stride, self.padding = given
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Returns the means."""
        more = () if self._rank == 1 else (self.divisor_override,)
        return self._of(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                        *more)  # fmt: skip


class _LPPool(_Pool):
    """A layer that returns the p-norm of each window over the last dimensions.

    Parameters
    ----------
    norm_type : float
        p.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype.

    See Also
    --------
    torch.nn.functional.lp_pool{n}d

    Examples
    --------
    >>> nn.LPPool{n}d(2, 2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _repr = ("norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
             "ceil_mode={self.ceil_mode}")  # fmt: skip
    _function = "lp_pool{}d"

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Returns the norms."""
        return self._of(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveAvgPool(_Pool):
    """A layer that returns the means of a given number of windows that cover the last dimensions.

    Parameters
    ----------
    output_size : int or sequence of ints
        The number of windows, one number or one for each dimension; None keeps an extent.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype.

    See Also
    --------
    torch.nn.functional.adaptive_avg_pool{n}d, torch.nn.AvgPool{n}d

    Examples
    --------
    >>> nn.AdaptiveAvgPool{n}d(2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _repr = "output_size={self.output_size}"
    _function = "adaptive_avg_pool{}d"

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Returns the means."""
        return self._of(input, self.output_size)


class _AdaptiveMaxPool(_Pool):
    """A layer that returns the maxima of a given number of windows that cover the last dimensions.

    Parameters
    ----------
    output_size : int or sequence of ints
        The number of windows, one number or one for each dimension; None keeps an extent.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype; with `return_indices` a pair of tensors.

    See Also
    --------
    torch.nn.functional.adaptive_max_pool{n}d, torch.nn.MaxPool{n}d

    Examples
    --------
    >>> nn.AdaptiveMaxPool{n}d(2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _repr = "output_size={self.output_size}"
    _function = "adaptive_max_pool{}d"

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        """Returns the maxima."""
        return self._of(input, self.output_size, self.return_indices)


class _FractionalMaxPool(_Pool):
    """A layer that returns the maxima of windows at random positions over the last dimensions.

    Parameters
    ----------
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    output_size : int or sequence of ints, optional
        The number of windows, one number or one for each dimension.
    output_ratio : float or sequence of floats, optional
        The number of windows for each element, in (0, 1), in place of `output_size`.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.

    Shapes
    ------
    input
        (N, C, ...) or (C, ...), of a floating dtype.
    result
        (N, C, ...) or (C, ...), of the same dtype; with `return_indices` a pair of tensors.

    Raises
    ------
    ValueError
        Unless exactly one of `output_size` and `output_ratio` is given.

    See Also
    --------
    torch.nn.functional.fractional_max_pool{n}d

    Examples
    --------
    >>> nn.FractionalMaxPool{n}d(2, output_size=2)(torch.ones(1, 1{four})).shape
    torch.Size([1, 1{two}])
    """

    _function = "fractional_max_pool{}d"

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None:
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,)
            if not all(0 < ratio < 1 for ratio in ratios):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        """Returns the maxima."""
        return self._of(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                        self._random_samples)  # fmt: skip


__all__: list[str] = []
for _base in (_MaxPool, _MaxUnpool, _AvgPool, _LPPool, _AdaptiveAvgPool, _AdaptiveMaxPool, _FractionalMaxPool):
    for _n in (2, 3) if _base is _FractionalMaxPool else (1, 2, 3):
        _name = f"{_base.__name__[1:]}{_n}d"
        globals()[_name] = type(
            _name, (_base,), {"_rank": _n, "__doc__": documented(_base, _n), "__module__": __name__}
        )
        __all__.append(_name)
