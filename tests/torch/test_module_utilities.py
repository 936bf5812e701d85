"""Tests module utilities: containers, hooks, state, initialization, parametrized weights."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

nn = torch.nn
utils = nn.utils


def _numbers(x: Any) -> Any:
    return x.detach().cpu().numpy()


def test_containers() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU()) + nn.Sequential(nn.Linear(3, 1))
    assert [type(m).__name__ for m in net] == ["Linear", "ReLU", "Linear"] and net[-1] is net[2]
    assert list(net[1:].state_dict()) == ["2.weight", "2.bias"]
    net[1] = nn.Tanh()
    removed = net.pop(1)
    assert isinstance(removed, nn.Tanh) and list(net._modules) == ["0", "1"]
    with pytest.raises(IndexError, match="out of range"):
        _ = net[5]
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert repr(layers) == "ModuleList(\n  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n)"
    with pytest.raises(NotImplementedError, match="ModuleList"):
        layers(torch.ones(2))
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1, 2)), 3])
    assert len(values) == 3 and values[2] == 3 and len(list(values.parameters())) == 2
    values += [torch.ones(1)]
    assert [n for n, _ in values.named_parameters()] == ["0", "1", "3"] and len(values[1:]) == 3
    assert "(0): Parameter containing: [torch.float32 of size 2" in repr(values)
    named = nn.ParameterDict({"a": torch.ones(2)})
    named["b"] = torch.zeros(3)
    assert list(named) == ["a", "b"] and list(named.state_dict()) == ["a", "b"] and named.pop("a").shape == (2,)
    assert "a" not in named and named.get("a") is None
    module = nn.Module()
    module.seen = nn.Buffer(torch.ones(2))
    module.scratch = nn.Buffer(torch.ones(2), persistent=False)
    assert [n for n, _ in module.named_buffers()] == ["seen", "scratch"] and list(module.state_dict()) == ["seen"]


def test_backward_hooks_see_and_change_gradients() -> None:
    layer = nn.Linear(2, 3)
    seen: list[Any] = []
    pre = layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    post = layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)) or (gi[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    ((inner,), (outer,)) = seen[0]
    assert outer.tolist() == [[2, 2, 2]]
    np.testing.assert_allclose(_numbers(inner), 2 * _numbers(layer.weight).sum(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(_numbers(x.grad), 10 * _numbers(inner), rtol=1e-6)
    assert layer.bias.grad.tolist() == [2, 2, 2]
    pre.remove()
    post.remove()
    layer(x).sum().backward()
    assert len(seen) == 1
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    layer(torch.ones(1, 2)).sum().backward()
    assert seen[1][0] == (None,) and seen[1][1][0].tolist() == [[1, 1, 1]]


def test_forward_hooks_with_names_and_after_errors() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any, by: float = 1.0) -> Any:
            return x * by

    layer, calls = Scaled(), []
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": 3.0}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: calls.append(kwargs), with_kwargs=True, always_call=True)
    assert layer(torch.ones(1), by=2.0).item() == 3 and calls == [{"by": 3.0}]
    with pytest.raises(TypeError):
        layer(None)
    assert len(calls) == 2


def test_state_with_extras_hooks_and_assignment() -> None:
    class Counter(nn.Linear):
        count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    a, b = nn.Sequential(Counter(2, 2)), nn.Sequential(Counter(2, 2))
    a[0].count = 5
    state = a.state_dict()
    assert list(state) == ["0.weight", "0.bias", "0._extra_state"]
    b[0].register_load_state_dict_pre_hook(lambda m, state, prefix, *_: state.pop(prefix + "old", None))
    seen: list[Any] = []
    b.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.missing_keys))
    b.load_state_dict({**state, "0.old": torch.ones(1)})
    assert b[0].count == 5 and seen == [[]] and torch.equal(a[0].weight, b[0].weight)
    double = {k: v.double() if isinstance(v, torch.Tensor) else v for k, v in state.items()}
    b.load_state_dict(double, assign=True)
    assert b[0].weight.dtype == torch.float64 and isinstance(b[0].weight, nn.Parameter)
    with pytest.raises(AttributeError, match="missing"):
        a.get_submodule("0.missing")
    with pytest.raises(AttributeError, match="not an nn"):
        a.get_parameter("0.nothing")
    assert a.get_parameter("0.bias") is a[0].bias
    with pytest.raises(TypeError, match="dict-like"):
        a.load_state_dict([1])


def test_functional_call_leaves_the_module_as_it_was() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight
    given = {"weight": torch.full((1, 2), 3.0), "bias": torch.zeros(1)}
    assert utils.stateless.functional_call(layer, given, torch.ones(1, 2)).item() == 6
    assert layer.weight is before
    with pytest.raises(KeyError, match="other"):
        utils.stateless.functional_call(layer, {"other": torch.ones(1)}, torch.ones(1, 2))


def test_orthogonal_dirac_and_sparse_initialization() -> None:
    for shape in ((3, 5), (5, 3), (4, 2, 2)):
        q = _numbers(nn.init.orthogonal_(torch.empty(shape), gain=2)).reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)
    conv = nn.Conv1d(4, 4, 3, padding=1, groups=2, bias=False)
    nn.init.dirac_(conv.weight, groups=2)
    x = torch.randn(1, 4, 5)
    np.testing.assert_allclose(_numbers(conv(x)), _numbers(x), atol=1e-6)
    columns = _numbers(nn.init.sparse_(torch.empty(10, 4), 0.3))
    assert (np.sum(columns == 0, axis=0) == 3).all()
    with pytest.raises(ValueError, match="2 or more dimensions"):
        nn.init.orthogonal_(torch.empty(3))


@pytest.mark.parametrize("make", ["weight_norm", "parametrizations.weight_norm"])
def test_weight_norm(make: str) -> None:
    layer = nn.Linear(3, 4)
    before = _numbers(layer.weight).copy()
    new = make.startswith("param")
    (utils.parametrizations if new else utils).weight_norm(layer)
    lengths, directions = (getattr(layer.parametrizations.weight, f"original{k}") for k in (0, 1)) if new else (
        layer.weight_g, layer.weight_v)  # fmt: skip
    np.testing.assert_allclose(_numbers(lengths), np.linalg.norm(before, axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(_numbers(layer.weight), before, rtol=1e-6)
    layer(torch.ones(1, 3)).sum().backward()
    # The gradient of the length is the weight's gradient along the direction; the direction's is orthogonal to it.
    unit = before / np.linalg.norm(before, axis=1, keepdims=True)
    np.testing.assert_allclose(_numbers(lengths.grad), unit.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose((_numbers(directions.grad) * before).sum(1), 0, atol=1e-5)
    with torch.no_grad():
        lengths *= 2
    np.testing.assert_allclose(_numbers(layer(torch.eye(3)) - layer.bias).T, 2 * before, rtol=1e-5, atol=1e-6)
    if new:
        other = nn.Linear(3, 4)
        utils.parametrizations.weight_norm(other).load_state_dict(layer.state_dict())
        layer.weight = torch.ones(4, 3)
        np.testing.assert_allclose(_numbers(layer.weight), 1, rtol=1e-6)
        utils.parametrize.remove_parametrizations(layer, "weight")
        assert type(layer) is nn.Linear and not utils.parametrize.is_parametrized(layer)
    else:
        utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and isinstance(layer.weight, nn.Parameter)


@pytest.mark.parametrize("new", [False, True])
def test_spectral_norm(new: bool) -> None:
    layer = nn.Conv2d(3, 5, 2)
    before = _numbers(layer.weight).reshape(5, -1)
    (utils.parametrizations if new else utils).spectral_norm(layer, n_power_iterations=30)
    layer(torch.ones(1, 3, 4, 4)).sum().backward()
    made = _numbers(layer.weight).reshape(5, -1)
    np.testing.assert_allclose(made, before / np.linalg.norm(before, 2), rtol=1e-3, atol=1e-4)
    layer.eval()
    assert torch.equal(layer(torch.ones(1, 3, 4, 4)), layer(torch.ones(1, 3, 4, 4)))


def test_custom_parametrization() -> None:
    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).T

    layer = nn.Linear(3, 3)
    utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.T) and type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)
    with pytest.raises(ValueError, match="does not have a parameter"):
        utils.parametrize.register_parametrization(layer, "nothing", Symmetric())
    layers = copy.deepcopy(nn.Sequential(nn.BatchNorm1d(2), nn.GRU(2, 2)))
    assert layers.half()[1].weight_ih_l0.dtype == torch.float16 and layers[0].num_batches_tracked.dtype == torch.int64
    assert layers.to_empty(device="cpu")[0].weight.shape == (2,)


class Shifted(nn.Module):
    """Adds one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


@pytest.mark.parametrize("name", ["weight", "bias"])
@pytest.mark.parametrize("make", [lambda: nn.Linear(2, 2), lambda: nn.LayerNorm(2)])
def test_either_parameter_may_be_parametrized(make: Any, name: str) -> None:
    layer, x = make(), torch.tensor([[1.0, 3.0]])
    parameters = {"weight": layer.weight.detach().clone(), "bias": layer.bias.detach().clone()}
    utils.parametrize.register_parametrization(layer, name, Shifted())
    parameters[name] = parameters[name] + 1
    expected = torch.func.functional_call(make(), parameters, (x,))
    assert torch.allclose(layer(x), expected)


def test_lazy_layers_become_plain_ones() -> None:
    net = nn.Sequential(nn.LazyConv2d(4, 3, groups=2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    assert repr(net[3]) == "LazyLinear(in_features=0, out_features=5, bias=True)" and isinstance(net[3], nn.Linear)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(2, 6, 4, 4)
    net(x).sum().backward()
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert net[0].weight.shape == (4, 3, 3, 3) and net[1].running_var.shape == (4,) and net[3].in_features == 16
    before = _numbers(net[3].bias).copy()
    optimizer.step()
    np.testing.assert_allclose(_numbers(net[3].bias), before - 0.2, rtol=1e-6)
    other = nn.Sequential(nn.LazyConv2d(4, 3, groups=2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    other.load_state_dict(net.state_dict())
    assert torch.equal(other.eval()(x), net.eval()(x)) and repr(other) == repr(net)
    assert nn.LazyConvTranspose1d(3, 2)(torch.ones(5, 4)).shape == (3, 5)
