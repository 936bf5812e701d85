"""Images lie with their channels last where a device computes convolutions so, and no program sees it.

A GPU does so by itself (`cuprous_autograd::conv`). Here every device does, and everything is compared with the same
program on row-major images.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
import cuprous.torch.nn.functional as F
from cuprous import _core
from cuprous.torch import nn

Tensor = torch.Tensor


@pytest.fixture(autouse=True)
def _channels_last() -> Iterator[None]:
    _core.set_always_channels_last(True)
    yield
    _core.set_always_channels_last(False)


def images(*shape: int) -> Tensor:
    return torch.randn(*(shape or (2, 3, 8, 6)), dtype=torch.float64)


def convolved(requires_grad: bool = False) -> Tensor:
    """A result of a convolution, (2, 4, 8, 6)."""
    torch.manual_seed(0)
    x, w = images(), images(4, 3, 3, 3)
    return F.conv2d(x.requires_grad_(requires_grad), w, padding=1)


def lies_channels_last(t: Tensor) -> bool:
    """True if the values are not row-major in memory. Nothing that a program can call says so, without changing it."""
    return _core.t_in_engine_order(t)


def in_both_orders(program: Callable[[], Any]) -> tuple[Any, Any]:
    results = []
    for on in (True, False):
        _core.set_always_channels_last(on)
        torch.manual_seed(0)
        results.append(program())
    _core.set_always_channels_last(True)
    return results[0], results[1]


def test_a_convolution_lies_so_and_elementwise_functions_keep_it() -> None:
    y = convolved()
    assert lies_channels_last(y)
    for kept in (y + 1, 2 * y, y.relu(), F.gelu(y), y * torch.randn(1, 4, 1, 1), y.to(torch.float32), y > 0, y + y):
        assert lies_channels_last(kept)
    assert lies_channels_last(F.max_pool2d(y, 2))
    assert lies_channels_last(nn.BatchNorm2d(4).double()(y))
    assert lies_channels_last(y.cumsum(2))
    assert not lies_channels_last(y.clone())
    assert not lies_channels_last(y.mean((0, 2, 3)))


def test_of_few_elements_it_is_row_major() -> None:
    y = F.conv2d(images(2, 3, 3, 3), images(4, 3, 3, 3))
    assert y.shape == (2, 4, 1, 1) and y.stride() == (4, 1, 1, 1) and not lies_channels_last(y)


@pytest.mark.parametrize(
    "look",
    [
        lambda y: y.stride(),
        lambda y: y.is_contiguous(),
        lambda y: y.storage_offset(),
        lambda y: y.view(2, -1).tolist(),
        lambda y: y.view(2, 4, 48).stride(),
        lambda y: y.reshape(-1)[:50].tolist(),
        lambda y: y.flatten(1).stride(),
        lambda y: y.permute(0, 2, 3, 1).stride(),
        lambda y: y.permute(0, 2, 3, 1).is_contiguous(),
        lambda y: y[0].stride(),
        lambda y: y[:, 1].tolist(),
        lambda y: y.sum(0).stride(),
        lambda y: y.sum(0).view(-1).tolist(),
        lambda y: y.sum(1).view(-1).tolist(),
        lambda y: y.sum((2, 3), keepdim=True).stride(),
        lambda y: y.amax(0, keepdim=True).view(-1).tolist(),
        lambda y: y.argmax(1).view(-1).tolist(),
        lambda y: y.argmax().item(),
        lambda y: y.cumsum(1).view(-1).tolist(),
        lambda y: y.sort(1)[0].stride(),
        lambda y: (y + 1).view(-1).tolist(),
        lambda y: (y > 0).view(-1).tolist(),
        lambda y: y.to(torch.float32).view(-1).tolist(),
        lambda y: y.cpu().numpy().strides,
        lambda y: y.cpu().numpy().tolist(),
        lambda y: np.from_dlpack(y.cpu()).strides,
        lambda y: y.as_strided((3,), (2,), 1).tolist(),
        lambda y: y.unfold(2, 2, 1).stride(),
        lambda y: y.T.stride(),
        lambda y: y.expand(3, 2, 4, 8, 6).stride(),
        lambda y: y.detach().stride(),
        lambda y: y.data.stride(),
        lambda y: torch.cat([y, y], 1).stride(),
        lambda y: torch.stack([y, y]).stride(),
        lambda y: torch.empty_like(y).stride(),
        lambda y: torch.where(y > 0, y, y + 1).view(-1).tolist(),
        lambda y: y.clone().stride(),
        lambda y: y.contiguous().stride(),
        lambda y: F.max_pool2d(y, 2).stride(),
        lambda y: F.max_pool2d(y, 2).view(-1).tolist(),
        lambda y: F.max_pool2d(y, 3, 2, 1).view(-1).tolist(),
        lambda y: F.avg_pool2d(y, 2).view(-1).tolist(),
        lambda y: F.adaptive_avg_pool2d(y, 1).stride(),
        lambda y: F.interpolate(y, scale_factor=2).view(-1).tolist(),
        lambda y: F.pixel_shuffle(y, 2).view(-1).tolist(),
        lambda y: F.softmax(y, 1).view(-1).tolist(),
        lambda y: F.layer_norm(y, (8, 6)).view(-1).tolist(),
        lambda y: F.group_norm(y, 2).view(-1).tolist(),
        lambda y: F.conv2d(y, y[:1, :, :3, :3]).view(-1).tolist(),
        lambda y: F.conv_transpose2d(y, y[:, :1, :3, :3][:1].repeat(4, 1, 1, 1)[:, :1]).view(-1).tolist(),
        lambda y: copy.deepcopy(y).stride(),
        lambda y: [t.stride() for t in y.split(2, 1)],
        lambda y: str(y),
        lambda y: y.untyped_storage().nbytes(),
        lambda y: y.tolist(),
        lambda y: torch.nonzero(y > 0).tolist(),
        lambda y: y[y > 0].tolist(),
        lambda y: y.gather(1, torch.zeros(2, 1, 8, 6, dtype=torch.int64)).tolist(),
        lambda y: torch.einsum("nchw,nchw->n", y, y).tolist(),
        lambda y: y.matmul(y.transpose(2, 3)).tolist(),
    ],
)  # fmt: skip
def test_whatever_looks_at_it_sees_it_row_major(look: Callable[[Tensor], Any]) -> None:
    last, row_major = in_both_orders(lambda: look(convolved()))
    if isinstance(last, list) and last and isinstance(last[0], float):
        np.testing.assert_allclose(last, row_major, rtol=1e-12)
    else:
        np.testing.assert_equal(last, row_major)


def test_looking_does_not_change_the_values_nor_part_views() -> None:
    y = convolved()
    z = y + 0
    first = y[:, 0]
    y.view(-1).mul_(2)
    np.testing.assert_array_equal(first.cpu().numpy(), 2 * z[:, 0].cpu().numpy())
    y.add_(1)
    np.testing.assert_array_equal(first.cpu().numpy(), 2 * z[:, 0].cpu().numpy() + 1)


def test_what_shares_memory_does_so_in_any_order_of_looking() -> None:
    y = convolved()
    aliases = [y.detach(), y.data, y.view(2, 192), y.permute(0, 2, 3, 1), y[0]]
    y.fill_(3)
    assert all((alias.cpu().numpy() == 3).all() for alias in aliases)
    y = convolved()
    y.mul_(0)  # in place, before anything has looked
    assert lies_channels_last(y) and (y.cpu().numpy() == 0).all()
    y.view(-1)[5] = 1
    assert y.sum().item() == 1 and y[0, 0, 0, 5].item() == 1


def test_in_place_functions_keep_the_graph() -> None:
    def program() -> list[Any]:
        x, w = images().requires_grad_(), images(4, 3, 3, 3).requires_grad_()
        y = F.conv2d(x, w, padding=1)
        y += 1
        F.relu(y, inplace=True)
        y[:, 1] *= 3
        y.view(2, -1).mul_(0.5)
        (y * y).sum().backward()
        assert x.grad is not None and w.grad is not None
        return [x.grad.cpu().numpy(), w.grad.cpu().numpy(), x.grad.stride(), w.grad.stride()]

    for got, expected in zip(*in_both_orders(program), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("when", ["before", "between", "after"])
@pytest.mark.parametrize("how", ["grad", "retain", "hook"])
def test_gradients_of_a_value_before_and_after_it_was_looked_at(when: str, how: str) -> None:
    def program() -> list[Any]:
        y = convolved(requires_grad=True)
        seen: list[Tensor] = []
        if how == "hook":
            y.register_hook(lambda g: seen.append(g))
        if how == "retain":
            y.retain_grad()
        if when == "before":
            y.view(-1)
        z = y * y
        if when == "between":
            y.view(-1)
        z = z + 3 * y + y[:, :1] + y.mean((2, 3), keepdim=True)
        total = (z * torch.arange(48.0, dtype=torch.float64).view(8, 6)).sum()
        if when == "after":
            y.view(-1)
        if how == "grad":
            seen += torch.autograd.grad(total, y)
        else:
            total.backward()
        if how == "retain":
            assert y.grad is not None
            seen.append(y.grad)
        assert y.grad_fn is not None and y.grad_fn.name() == "ConvolutionBackward0"
        return [seen[0].view(-1).cpu().numpy(), seen[0].stride()]

    for got, expected in zip(*in_both_orders(program), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_the_gradient_of_an_input_can_be_changed_in_place() -> None:
    x = images().requires_grad_()
    F.conv2d(x, images(4, 3, 3, 3)).sum().backward()
    assert x.grad is not None
    before = x.grad.clone()
    x.grad.view(-1).mul_(2)
    np.testing.assert_array_equal(x.grad.cpu().numpy(), 2 * before.cpu().numpy())
    F.conv2d(x, torch.zeros(4, 3, 3, 3, dtype=torch.float64)).sum().backward()
    np.testing.assert_array_equal(x.grad.cpu().numpy(), 2 * before.cpu().numpy())


def test_a_gradient_that_a_hook_returned_can_be_changed_in_place() -> None:
    y = convolved(requires_grad=True)
    y.register_hook(lambda g: convolved())
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad is not None and y.grad.abs().sum().item() > 0
    y.grad.view(-1).zero_()
    assert y.grad.abs().sum().item() == 0


class Residual(nn.Module):
    """Convolutions, norms, a sum with the input, pooling, sampling up and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.down = nn.Conv2d(4, 4, 1, bias=False), nn.Conv2d(4, 8, 3, stride=2, groups=2)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.first(x)))
        x = x + torch.sigmoid(self.second(x)) * 0.5
        x = F.max_pool2d(x, 2)
        deep = F.silu(self.up(F.leaky_relu(self.down(x))))
        x = torch.cat([x[:, :, :2, :2], deep[:, :, :2, :2]], 1)
        return self.last(F.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1), 0.0))


@pytest.mark.parametrize("style", ["plain", "checkpoint", "autocast", "deep copy", "state", "compiled"])
def test_training_a_network(style: str) -> None:
    def program() -> list[Any]:
        model = Residual() if style == "autocast" else Residual().double()
        if style == "deep copy":
            model = copy.deepcopy(model)
        run: Callable[..., Tensor] = torch.compile(model) if style == "compiled" else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x, target = images(6, 3, 8, 6).requires_grad_(), torch.randint(0, 5, (6,))
        losses = []
        for step in range(4):
            if style == "state" and step == 2:
                file = io.BytesIO()
                torch.save(model.state_dict(), file)
                file.seek(0)
                model.load_state_dict(torch.load(file))
            optimizer.zero_grad()
            if style == "checkpoint":
                out = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
            elif style == "autocast":
                with torch.autocast(x.device.type, dtype=torch.bfloat16):
                    out = run(x.float())
            else:
                out = run(x)
            loss = F.cross_entropy(out.to(torch.float64), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert x.grad is not None
        return [losses, x.grad.cpu().numpy(), *(p.detach().cpu().numpy() for p in model.parameters())]

    tolerance = 0.05 if style == "autocast" else 1e-10
    for got, expected in zip(*in_both_orders(program), strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_second_derivatives() -> None:
    def program() -> list[Any]:
        x, w = images(1, 2, 5, 4).requires_grad_(), images(3, 2, 3, 3).requires_grad_()
        y = F.max_pool2d(torch.tanh(F.conv2d(x, w, padding=1)), 2)
        (gx, gw) = torch.autograd.grad((y**2).sum(), [x, w], create_graph=True)
        (gx**2).sum().add((gw * gw).sum()).backward()
        assert x.grad is not None and w.grad is not None
        return [gx.detach().cpu().numpy(), gw.detach().cpu().numpy(), x.grad.cpu().numpy(), w.grad.cpu().numpy()]

    for got, expected in zip(*in_both_orders(program), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_functions_of_a_user_get_it_and_can_save_it() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, y: Tensor) -> Tensor:
            ctx.save_for_backward(y)
            return 2 * y

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            (y,) = ctx.saved_tensors
            assert y.view(2, -1).shape == (2, 192) and g.is_contiguous() and g.view(-1).shape == (384,)
            return 2 * g

    y = convolved(requires_grad=True)
    z = Double.apply(y)
    (g,) = torch.autograd.grad((z * z).sum(), y)
    np.testing.assert_allclose(g.cpu().numpy(), 8 * y.detach().cpu().numpy(), rtol=1e-12)


def test_an_output_that_a_function_of_a_user_kept_is_the_one_that_it_returned() -> None:
    kept = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            kept.append(2 * x)
            return kept[0]

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return 2 * grad

    y = Keep.apply(convolved(requires_grad=True))
    assert y.data_ptr() == kept[0].data_ptr()
    with torch.no_grad():
        kept[0].fill_(3)
    assert (y == 3).all()


def test_without_gradients_and_as_a_leaf() -> None:
    with torch.no_grad():
        y = convolved(requires_grad=True)
        assert not y.requires_grad and y.view(-1).shape == (384,)
    y = convolved()
    y.requires_grad_()
    (y * y).sum().backward()
    assert y.grad is not None and y.grad.stride() == (192, 48, 6, 1)
    np.testing.assert_allclose(y.grad.cpu().numpy(), 2 * y.detach().cpu().numpy())
