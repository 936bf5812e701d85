"""einops' layers for this package's modules: `from cuprous.torch.einops import Rearrange`, instead of
`einops.layers.torch`.

einops' functions (such as `einops.rearrange`) accept tensors directly.
"""

from __future__ import annotations

from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from cuprous.torch import _creation
from cuprous.torch._products import einsum
from cuprous.torch.nn.modules.linear import Identity
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class Rearrange(RearrangeMixin, Module):
    """A layer that applies `einops.rearrange` with a pattern.

    See Also
    --------
    torch.einops.Reduce, torch.einops.EinMix

    Examples
    --------
    >>> from cuprous.torch.einops import Rearrange
    >>> Rearrange("b c -> c b")(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """

    def forward(self, input: Any) -> Any:
        """Returns the rearranged input."""
        return self._apply_recipe(input)


class Reduce(ReduceMixin, Module):
    """A layer that applies `einops.reduce` with a pattern and a reduction.

    See Also
    --------
    torch.einops.Rearrange, torch.einops.EinMix

    Examples
    --------
    >>> from cuprous.torch.einops import Reduce
    >>> Reduce("b c -> b", "sum")(torch.ones(2, 3))
    tensor([3., 3.])
    """

    def forward(self, input: Any) -> Any:
        """Returns the reduced input."""
        return self._apply_recipe(input)


class EinMix(_EinmixMixin, Module):
    """A linear map given by an einops pattern; weight and bias are initialized uniformly.

    See Also
    --------
    torch.einops.Rearrange, torch.einops.Reduce

    Examples
    --------
    >>> from cuprous.torch.einops import EinMix
    >>> EinMix("b c -> b d", weight_shape="c d", c=3, d=4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float) -> None:
        for name, shape, bound in (("weight", weight_shape, weight_bound), ("bias", bias_shape, bias_bound)):
            made = None if shape is None else Parameter(_creation.empty(shape).uniform_(-bound, bound))
            self.register_parameter(name, made)

    def _create_rearrange_layers(self, pre_reshape_pattern: str | None, pre_reshape_lengths: Any,
                                 post_reshape_pattern: str | None, post_reshape_lengths: Any) -> None:  # fmt: skip
        self.pre_rearrange = _rearrange(pre_reshape_pattern, pre_reshape_lengths)
        self.post_rearrange = _rearrange(post_reshape_pattern, post_reshape_lengths)

    def forward(self, input: Any) -> Any:
        """Returns the linear map of the input."""
        mixed = einsum(self.einsum_pattern, self.pre_rearrange(input), self.weight)
        return self.post_rearrange(mixed if self.bias is None else mixed + self.bias)


def _rearrange(pattern: str | None, lengths: Any) -> Module:
    return Identity() if pattern is None else Rearrange(pattern, **lengths)


__all__ = ["EinMix", "Rearrange", "Reduce"]
