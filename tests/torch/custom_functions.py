"""Custom autograd functions."""

from __future__ import annotations

from typing import Any

import cuprous.torch as torch


class Exp(torch.autograd.Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class Square(torch.autograd.Function):
    """Saves its operand."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


class Mixed(torch.autograd.Function):
    """Saves operands, a result and another tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        sine = torch.sin(x)
        product = sine * y
        ctx.save_for_backward(x, y, sine, product)
        return product, product * product

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y, sine, product = ctx.saved_tensors
        g = g + 2 * h * product
        # With a graph, the sine must be computed from a tensor that requires a gradient.
        sine = torch.sin(x) if torch.is_grad_enabled() else sine
        return g * torch.cos(x) * y, g * sine


class Spread(torch.autograd.Function):
    """Its result is an expanded view."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return (x * 2).expand(2, *x.shape)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.sum(0) * 2
