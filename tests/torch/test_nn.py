"""Tests modules: submodules by name, state, hooks, initialization, dropout, and layers against formulas."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

nn = torch.nn
F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super(Net, self).__init__()  # noqa: UP008 - as many programs write it
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(OrderedDict(act=nn.ReLU(), last=nn.Linear(4, 2, bias=False)))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.tied = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x))


def test_submodules_by_name() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["tied", "first.bias", "rest.last.weight"]
    assert list(net.state_dict()) == ["tied", "seen", "first.weight", "first.bias", "rest.last.weight"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.act", "rest.last"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    assert len(list(net.buffers())) == 2 and net.get_submodule("rest.last") is net.rest.last
    assert net.rest[0] is net.rest.act and len(net.rest) == 2
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = net.missing
    with pytest.raises(TypeError, match="as parameter"):
        net.first.weight = torch.ones(4, 3)
    del net.first
    assert not hasattr(net, "first")


def test_load_state_dict_between_modules() -> None:
    a, b = Net(), Net()
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    x = torch.randn(5, 3)
    assert torch.equal(a(x), b(x)) and a.first.weight is not b.first.weight
    state = a.state_dict()
    del state["first.bias"]
    state["more"] = torch.ones(1)
    state["first.weight"] = torch.ones(2, 2)
    with pytest.raises(
        RuntimeError, match=r"(?s)Missing.*first.bias.*Unexpected.*more.*size mismatch for first.weight"
    ):
        b.load_state_dict(state)
    c = copy.deepcopy(a)
    with torch.no_grad():
        c.first.weight.zero_()
    assert not torch.equal(a.first.weight, c.first.weight) and c.tied is c.first.weight


def test_modes_dtypes_and_apply() -> None:
    net = Net()
    assert not net.eval().rest.act.training and net.train().training
    names = []
    net.apply(lambda m: names.append(type(m).__name__))
    assert names == ["Linear", "ReLU", "Linear", "Sequential", "Net"]
    weight = net.first.weight
    assert net.double().first.weight is weight and weight.dtype == net.seen.dtype == torch.float64
    net(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    assert weight.grad.dtype == torch.float64
    net.zero_grad()
    assert weight.grad is None
    net.requires_grad_(False)
    assert not net(torch.ones(1, 3, dtype=torch.float64)).requires_grad
    with pytest.raises(TypeError, match="floating point"):
        net.to(torch.int64)


def test_hooks_see_and_change() -> None:
    layer = nn.Linear(2, 2)
    seen: list[Any] = []
    pre = layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    post = layer.register_forward_hook(lambda m, args, out: seen.append(out))
    assert torch.equal(layer(torch.ones(1, 2))[0], layer.bias) and len(seen) == 1
    pre.remove()
    post.remove()
    layer(torch.ones(1, 2))
    assert len(seen) == 1


def test_a_wrong_shape_names_the_layer() -> None:
    with pytest.raises(RuntimeError, match=r"Linear\(in_features=10.*3x4 and 10x2.*shape \[3, 4\]"):
        nn.Linear(10, 2)(torch.ones(3, 4))


@pytest.mark.parametrize(
    ("make", "std", "bound"),
    [
        (lambda: nn.Linear(50, 400).weight, 1 / math.sqrt(3 * 50), 1 / math.sqrt(50)),
        (lambda: nn.Linear(50, 4000).bias, 1 / math.sqrt(3 * 50), 1 / math.sqrt(50)),
        (lambda: nn.Embedding(200, 100).weight, 1.0, None),
        (lambda: nn.init.xavier_uniform_(torch.empty(100, 300)), math.sqrt(2 / 400), math.sqrt(6 / 400)),
        (lambda: nn.init.xavier_normal_(torch.empty(100, 300), gain=2), 2 * math.sqrt(2 / 400), None),
        (lambda: nn.init.kaiming_normal_(torch.empty(100, 300), nonlinearity="relu"), math.sqrt(2 / 300), None),
        (
            lambda: nn.init.kaiming_uniform_(torch.empty(100, 30, 3), mode="fan_out"),
            math.sqrt(2 / 300),
            math.sqrt(6 / 300),
        ),
        (lambda: nn.init.trunc_normal_(torch.empty(100, 300), std=1.0, a=-1, b=1), 0.5397, 1.0),
    ],
)
def test_initial_values(make: Any, std: float, bound: float | None) -> None:
    values = make().detach().cpu().numpy()
    assert values.std() == pytest.approx(std, rel=0.03) and abs(values.mean()) < 0.03 * std * 3
    if bound is not None:
        assert 0.97 * bound < np.abs(values).max() <= bound * (1 + 1e-6)


def test_dropout() -> None:
    x = torch.ones(200, 100, requires_grad=True)
    layer = nn.Dropout(0.25)
    y = layer(x)
    y.sum().backward()
    kept = y.detach().cpu().numpy()
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.75)} and abs((kept == 0).mean() - 0.25) < 0.02
    assert torch.equal(x.grad, y.detach()) and not torch.equal(layer(x), y)
    assert layer.eval()(x) is x
    channels = nn.Dropout2d(0.5)(torch.ones(8, 16, 3, 3)).reshape(128, 9).cpu().numpy()
    assert ((channels == channels[:, :1]).all(1)).all() and 0.3 < (channels[:, 0] == 0).mean() < 0.7


def test_layer_norm_and_attention_by_formula() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    t = torch.tensor(x)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(t, (4,)).cpu().numpy(), expected, rtol=1e-10)
    scores = x @ x.transpose(0, 2, 1) / 2 + np.triu(np.full((3, 3), -np.inf), 1)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    ours = F.scaled_dot_product_attention(t, t, t, is_causal=True)
    np.testing.assert_allclose(ours.cpu().numpy(), weights @ x, rtol=1e-10)


def test_unsupported_arguments_raise() -> None:
    for call in (
        lambda: nn.Embedding(3, 4, sparse=True),
        lambda: F.pad(torch.ones(1, 1, 3), (1, 1), mode="wrap"),
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_clipping_and_vectors() -> None:
    net = nn.Linear(2, 2)
    (net(torch.full((1, 2), 10.0)).sum() * 3).backward()
    before = math.sqrt(sum(float((p.grad**2).sum()) for p in net.parameters()))
    assert float(nn.utils.clip_grad_norm_(net.parameters(), 1.0)) == pytest.approx(before, rel=1e-6)
    assert math.sqrt(sum(float((p.grad**2).sum()) for p in net.parameters())) == pytest.approx(1.0, rel=1e-5)
    nn.utils.clip_grad_value_(net.parameters(), 0.1)
    assert max(float(p.grad.abs().max()) for p in net.parameters()) <= 0.1 + 1e-7
    vector = nn.utils.parameters_to_vector(net.parameters())
    nn.utils.vector_to_parameters(torch.zeros_like(vector), net.parameters())
    assert float(nn.utils.parameters_to_vector(net.parameters()).abs().sum()) == 0


def test_repr_of_parameters_and_key_errors() -> None:
    assert (
        str(nn.Parameter(torch.ones(2, device="cpu"))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )
    found = nn.Linear(1, 1, bias=False).load_state_dict({"a": torch.ones(1)}, strict=False)
    assert str(found) == "_IncompatibleKeys(missing_keys=['weight'], unexpected_keys=['a'])"
    assert type(found).__name__ == "_IncompatibleKeys"
