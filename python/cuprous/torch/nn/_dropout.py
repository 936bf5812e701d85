"""Dropout: elements set to zero at random during training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _random_numbers
from cuprous.torch.nn._activation import written

_map = _core.t_map


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Returns the input with elements set to 0 with probability p, and the others divided by 1 - p.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : float, default 0.5
        The probability with which an element is dropped.
    training : bool, default True
        Whether elements are dropped; the input is returned otherwise.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.functional.dropout1d, torch.nn.functional.dropout2d, torch.nn.functional.dropout3d,
    torch.nn.functional.alpha_dropout, torch.nn.functional.feature_alpha_dropout

    Examples
    --------
    >>> F.dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _dropped(input, p, training, inplace, input.dims)


def check_probability(p: float) -> None:
    """Raises ValueError unless `p` is a probability."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Tensor, p: float, training: bool, shape: Sequence[int]) -> Tensor | None:
    """Returns at random which elements remain; None if all do."""
    check_probability(p)
    return _map("greater_equal", _random_numbers.draw_unit(input, shape), p) if training and p else None


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    keep = _kept(input, p, training, shape)
    return input if keep is None else written(input, scaled_where(keep, input, p), inplace)


def scaled_where(keep: Tensor, input: Tensor, p: float) -> Tensor:
    """Returns the elements to keep divided by 1 - p, and 0 for the others."""
    return _map("where", keep, _map("multiply", input, 1.0 / (1.0 - p) if p < 1 else 0.0), 0)


def _channels(function: str, ndim: int) -> Callable[..., Tensor]:
    def drop(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        lead = 2 if input.ndim == ndim + 2 else 1
        return _dropped(input, p, training, inplace, [*input.dims[:lead], *(1 for _ in input.dims[lead:])])

    shape = "1, 2" + ", 3" * ndim
    return named(
        drop,
        function,
        f"""Returns the input with channels set to 0 with probability p, and the others divided by 1 - p.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...) with {ndim} dimension{"s" * (ndim > 1)} after the channels.
    p : float, default 0.5
        The probability with which a channel is dropped.
    training : bool, default True
        Whether channels are dropped; the input is returned otherwise.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    {related_names(function, "dropout dropout1d dropout2d dropout3d", "torch.nn.functional")}

    Examples
    --------
    >>> F.{function}(torch.ones({shape}), training=False).shape
    torch.Size([{shape}])
    """,
    )


dropout1d, dropout2d, dropout3d = (_channels(f"dropout{n}d", n) for n in (1, 2, 3))


#: The limit of SELU for large negative numbers, by which alpha dropout replaces dropped elements.
_SELU_LIMIT = -1.7580993408473766


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Returns the input after dropout that preserves mean 0 and variance 1 of SELU's outputs (Klambauer et al., 2017).

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : float, default 0.5
        The probability with which an element is dropped.
    training : bool, default False
        Whether elements are dropped; the input is returned otherwise.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.functional.feature_alpha_dropout, torch.nn.functional.dropout, torch.nn.functional.dropout1d,
    torch.nn.functional.dropout2d, torch.nn.functional.dropout3d

    Examples
    --------
    >>> F.alpha_dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _alpha(input, p, training, inplace, input.dims)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Returns the input after `alpha_dropout` of whole channels.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    p : float, default 0.5
        The probability with which an element is dropped.
    training : bool, default False
        Whether elements are dropped; the input is returned otherwise.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.functional.dropout, torch.nn.functional.dropout1d, torch.nn.functional.dropout2d,
    torch.nn.functional.dropout3d, torch.nn.functional.alpha_dropout

    Examples
    --------
    >>> F.feature_alpha_dropout(torch.ones(1, 2, 3), training=False).shape
    torch.Size([1, 2, 3])
    """
    return _alpha(input, p, training, inplace, [*input.dims[:2], *(1 for _ in input.dims[2:])])


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    keep = _kept(input, p, training, shape)
    if keep is None:
        return input
    scale = ((1 - p) * (1 + p * _SELU_LIMIT**2)) ** -0.5 if p < 1 else 0.0
    kept = _map("where", keep, input, _SELU_LIMIT)
    return written(input, _map("subtract", _map("multiply", kept, scale), scale * _SELU_LIMIT * p), inplace)


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
