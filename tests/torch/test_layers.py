"""Compares every layer and function of the table with finite differences, and recurrences and attention with NumPy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from tests.support import assert_errors
from tests.torch import layers

nn, F = torch.nn, torch.nn.functional
rnn = nn.utils.rnn


def _slope(row: tuple[Any, ...], is_layer: bool) -> tuple[float, float]:
    """Returns the derivative along a random direction of all inputs, by differences and by gradients."""
    expression, *specs = row
    inputs = [layers.tensor(torch, spec, 7 + k) for k, spec in enumerate(specs)]
    module = layers.layer(torch, expression) if is_layer else None
    moved = layers.tensors(inputs) + ([] if module is None else list(module.parameters()))
    total, _ = layers.call(torch, expression, inputs, module)
    total.backward()
    rng = np.random.default_rng(3)
    starts = [x.detach().clone() for x in moved]
    ways = [torch.tensor(rng.uniform(-1, 1, tuple(x.shape))) for x in moved]
    ends = []
    with torch.no_grad():
        for by in (1e-6, -1e-6):
            for x, start, way in zip(moved, starts, ways, strict=True):
                x.copy_(start + by * way)
            ends.append(float(layers.call(torch, expression, inputs, module)[0]))
    exact = sum(float((x.grad * way).sum()) for x, way in zip(moved, ways, strict=True) if x.grad is not None)
    return (ends[0] - ends[1]) / 2e-6, exact


#: Layers without a comparable derivative: rows are renormalized in place, or gradients are divided.
_UNUSUAL = ("max_norm", "scale_grad_by_freq")


@pytest.mark.parametrize("row", layers.LAYERS, ids=lambda row: row[0])
def test_gradients_of_layers(row: tuple[Any, ...]) -> None:
    if any(word in row[0] for word in _UNUSUAL):
        pytest.skip("has a test of its own")
    slope, exact = _slope(row, True)
    assert exact == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("row", layers.FUNCTIONS, ids=lambda row: row[0])
def test_gradients_of_functions(row: tuple[Any, ...]) -> None:
    slope, exact = _slope(row, False)
    assert exact == pytest.approx(slope, rel=1e-5, abs=1e-7)


FILE = Path(os.environ.get("CUPROUS_GOLDEN", Path(__file__).parent)) / "golden_layers.json"
GOLDEN = json.loads(FILE.read_text()) if FILE.exists() else {}


@pytest.mark.parametrize("row", layers.LAYERS + layers.FUNCTIONS, ids=lambda row: row[0])
def test_as_pytorch(row: tuple[Any, ...]) -> None:
    if row[0] not in GOLDEN:
        pytest.skip("golden_layers.json is written by make_golden.py where PyTorch is installed")
    is_layer = row in layers.LAYERS
    found, expected = layers.golden_of(torch, row, is_layer), GOLDEN[row[0]]
    for key, value in expected.items():
        if key in ("text", "keys"):
            assert found[key] == value
        else:
            assert found[key] == pytest.approx(value, rel=1e-7, abs=1e-9, nan_ok=True), key


# --- against NumPy


def _numbers(x: Any) -> Any:
    return x.detach().cpu().numpy()


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _step(mode: str, x: Any, h: Any, c: Any, p: dict[str, Any]) -> tuple[Any, Any]:
    a, b = x @ p["weight_ih"].T + p["bias_ih"], h @ p["weight_hh"].T + p["bias_hh"]
    if mode == "RNN":
        return np.tanh(a + b), c
    if mode == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(c), c
    (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
    r, z = _sigmoid(ar + br), _sigmoid(az + bz)
    return (1 - z) * np.tanh(an + r * bn) + z * h, c


def _recurrence(module: Any, mode: str, x: Any) -> tuple[Any, Any]:
    """Runs a sequence (T, F) through all layers and directions from zero states; returns outputs and last states."""
    last = []
    for layer in range(module.num_layers):
        sides = []
        for suffix in ("", "_reverse"):
            p = {n: _numbers(getattr(module, f"{n}_l{layer}{suffix}"))
                 for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}  # fmt: skip
            h = c = np.zeros(module.hidden_size)
            out = []
            for row in x if not suffix else x[::-1]:
                h, c = _step(mode, row, h, c, p)
                out.append(h)
            sides.append(np.array(out if not suffix else out[::-1]))
            last.append(h)
        x = np.concatenate(sides, 1)
    return x, np.array(last)


@pytest.mark.parametrize("mode", ["RNN", "LSTM", "GRU"])
def test_recurrences_of_padded_and_packed_sequences(mode: str) -> None:
    module = layers.layer(torch, f"nn.{mode}(3, 4, 2, bidirectional=True, batch_first=True)")
    x = np.random.default_rng(0).normal(size=(3, 5, 3))
    whole, state = module(torch.tensor(x))
    lengths = [2, 5, 4]
    packed = rnn.pack_padded_sequence(torch.tensor(x), lengths, batch_first=True, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 2, 1] and packed.data.shape == (11, 3)
    output, end = module(packed)
    padded, found = rnn.pad_packed_sequence(output, batch_first=True, padding_value=-7.0, total_length=6)
    assert found.tolist() == lengths and padded.shape == (3, 6, 8)
    state, end = (s[0] if mode == "LSTM" else s for s in (state, end))
    for k, n in enumerate(lengths):
        expected, last = _recurrence(module, mode, x[k])
        np.testing.assert_allclose(_numbers(whole[k]), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(_numbers(state[:, k]), last, rtol=1e-10, atol=1e-12)
        expected, last = _recurrence(module, mode, x[k, :n])
        np.testing.assert_allclose(_numbers(padded[k, :n]), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(_numbers(end[:, k]), last, rtol=1e-10, atol=1e-12)
        assert (_numbers(padded[k, n:]) == -7).all()
    # Gradients of packed sequences equal those of the single sequences.
    module.zero_grad()
    (padded[:, :5].cos() * torch.tensor(np.arange(5) < np.array(lengths)[:, None])[..., None]).sum().backward()
    together = [_numbers(p.grad) for p in module.parameters()]
    module.zero_grad()
    for k, n in enumerate(lengths):
        module(torch.tensor(x[k, :n]))[0].cos().sum().backward()
    for a, p in zip(together, module.parameters(), strict=True):
        np.testing.assert_allclose(a, _numbers(p.grad), rtol=1e-9, atol=1e-12)


def test_sequences_are_padded_and_packed() -> None:
    parts = [torch.arange(float(n)) + 10 * n for n in (3, 1, 2)]
    block = rnn.pad_sequence(parts, batch_first=True, padding_value=-1)
    assert block.tolist() == [[30, 31, 32], [10, -1, -1], [20, 21, -1]]
    assert rnn.pad_sequence(parts, padding_side="left").tolist() == [[30, 0, 0], [31, 0, 20], [32, 10, 21]]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.data.tolist() == [30, 20, 10, 31, 21, 32] and packed.sorted_indices.tolist() == [0, 2, 1]
    assert [x.tolist() for x in rnn.unpack_sequence(packed)] == [x.tolist() for x in parts]
    with pytest.raises(RuntimeError, match="decreasing order"):
        rnn.pack_sequence(parts)
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(block.T, [0, 1, 2], enforce_sorted=False)


def test_batch_statistics_are_remembered() -> None:
    x = np.random.default_rng(0).normal(2, 3, size=(8, 3, 4))
    plain, mean_of_all = nn.BatchNorm1d(3, momentum=0.2).double(), nn.BatchNorm1d(3, momentum=None).double()
    expected, means = np.array([np.zeros(3), np.ones(3)]), []
    for k in range(3):
        batch = x * (k + 1)
        y = _numbers(plain(torch.tensor(batch)))
        np.testing.assert_allclose(y.mean((0, 2)), 0, atol=1e-12)
        np.testing.assert_allclose(y.var((0, 2)), 1, atol=1e-4)
        seen = np.array([batch.mean((0, 2)), batch.transpose(1, 0, 2).reshape(3, -1).var(1, ddof=1)])
        expected = 0.8 * expected + 0.2 * seen
        means.append(seen)
        mean_of_all(torch.tensor(batch))
    for layer, values in ((plain, expected), (mean_of_all, np.mean(means, 0))):
        np.testing.assert_allclose(_numbers(layer.running_mean), values[0], rtol=1e-6)
        np.testing.assert_allclose(_numbers(layer.running_var), values[1], rtol=1e-6)
        assert layer.num_batches_tracked.item() == 3
    frozen = _numbers(plain.eval()(torch.tensor(x)))
    wide = expected[:, None, :, None]
    np.testing.assert_allclose(frozen, (x - wide[0]) / np.sqrt(wide[1] + 1e-5), rtol=1e-6)
    assert plain.num_batches_tracked.item() == 3


def test_masks_of_attention() -> None:
    module = layers.layer(torch, "nn.MultiheadAttention(4, 2, batch_first=True)")
    x = torch.tensor(np.random.default_rng(0).normal(size=(2, 5, 4)))
    later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    padding = torch.tensor([[False, False, False, True, True], [False] * 5])
    out, weights = module(x, x, x, padding, attn_mask=later, average_attn_weights=False)
    assert weights.shape == (2, 2, 5, 5) and float(weights[0, :, :, 3:].abs().max()) == 0
    np.testing.assert_allclose(_numbers(weights.sum(-1)), 1, rtol=1e-12)
    assert float((weights * later.double()).abs().max()) == 0
    added = nn.Transformer.generate_square_subsequent_mask(5)
    same, none = module(x, x, x, padding, False, added)
    assert none is None
    np.testing.assert_allclose(_numbers(same), _numbers(out), rtol=1e-12)
    short = module(x[:1, :3], x[:1, :3], x[:1, :3], None, False, later[:3, :3], is_causal=True)[0]
    np.testing.assert_allclose(_numbers(short), _numbers(out[:1, :3]), rtol=1e-12)


def test_max_norm_and_scaled_embedding_gradients() -> None:
    table = nn.Embedding(4, 3, max_norm=1.0, scale_grad_by_freq=True)
    with torch.no_grad():
        table.weight.fill_(2.0)
    table(torch.tensor([0, 2, 2, 2])).sum().backward()
    np.testing.assert_allclose(np.linalg.norm(_numbers(table.weight), axis=1), [1, 12**0.5, 1, 12**0.5], rtol=1e-5)
    np.testing.assert_allclose(_numbers(table.weight.grad), np.array([1, 0, 1, 0])[:, None] * np.ones(3), rtol=1e-6)


def test_interpolation_keeps_lines_and_whole_factors() -> None:
    line = torch.arange(5, dtype=torch.float64).reshape(1, 1, 5)
    found = F.interpolate(line, 9, mode="linear", align_corners=True).flatten().tolist()
    assert found == pytest.approx(np.arange(9) / 2)
    grid = torch.arange(4.0).reshape(1, 1, 2, 2)
    assert F.interpolate(grid, scale_factor=2)[0, 0].tolist() == [[0, 0, 1, 1]] * 2 + [[2, 2, 3, 3]] * 2
    assert torch.equal(F.pixel_unshuffle(F.pixel_shuffle(torch.arange(24.0).reshape(1, 8, 1, 3), 2), 2),
                       torch.arange(24.0).reshape(1, 8, 1, 3))  # fmt: skip


def test_output_sizes_of_transposed_convolutions_and_unpooling() -> None:
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    assert layer(torch.ones(1, 1, 2, 2)).shape == (1, 1, 5, 5)
    assert layer(torch.ones(1, 1, 2, 2), output_size=(6, 5)).shape == (1, 1, 6, 5)
    x = torch.tensor([[[1.0, 5.0, 2.0, 3.0]]])
    values, places = nn.MaxPool1d(2, return_indices=True)(x)
    assert nn.MaxUnpool1d(2)(values, places).tolist() == [[[0, 5, 0, 3]]]


#: Calls that must fail, with words of the message about the layer and the shapes.
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "linear": (lambda: nn.Linear(3, 2)(torch.ones(2, 4)), RuntimeError, r"Linear\(in_features=3.*\[2, 4\]"),
    "dtype": (lambda: nn.Linear(3, 2)(torch.ones(2, 3, dtype=torch.float64)), RuntimeError,
              r"Linear\(in_features=3.*float64"),
    "batch norm": (lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)), ValueError,
     r"expected 4D input.*BatchNorm2d\(3.*\[2, 3\]"),
    "channels": (lambda: nn.BatchNorm1d(3)(torch.ones(2, 4)), RuntimeError,
     r"BatchNorm1d\(3.*4 elements not 3.*\[2, 4\]"),
    "one value": (lambda: nn.BatchNorm1d(3)(torch.ones(1, 3)), ValueError, "more than 1 value per channel"),
    "convolution": (lambda: nn.Conv2d(3, 8, 3)(torch.ones(2, 4, 5, 5)), RuntimeError,
                    r"Conv2d\(3, 8.*\[8, 3, 3, 3\].*\[2, 4, 5, 5\]"),
    "transposed": (lambda: nn.ConvTranspose1d(3, 8, 3)(torch.ones(2, 4, 5)), RuntimeError, r"ConvTranspose1d\(3, 8"),
    "output size": (lambda: nn.ConvTranspose1d(1, 1, 3, 2)(torch.ones(1, 1, 2), (7,)), ValueError, "from 5 to 6"),
    "pool": (lambda: nn.MaxPool2d(2)(torch.ones(4)), RuntimeError, r"MaxPool2d\(kernel_size=2.*\[4\]"),
    "groups": (lambda: nn.GroupNorm(2, 3), ValueError, "divisible by num_groups"),
    "layer norm": (lambda: nn.LayerNorm(3)(torch.ones(2, 4)), RuntimeError, r"\[\*, 3\].*\[2, 4\]"),
    "features": (lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 2)), RuntimeError,
     r"LSTM\(3, 4\).*Expected 3, got 2.*\[5, 2, 2\]"),
    "state": (lambda: nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.ones(1, 3, 4)), RuntimeError,
              r"GRU\(3, 4\).*hidden size \(1, 2, 4\), got \[1, 3, 4\]"),
    "cell": (lambda: nn.LSTMCell(3, 4)(torch.ones(2, 5)), RuntimeError, r"LSTMCell\(3, 4\).*got 5 expected 3"),
    "attention": (lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 2, 6)] * 3), AssertionError,
                  r"MultiheadAttention\(embed_dim=4.*dimension of 4, but got 6.*\[3, 2, 6\]"),
    "mask": (lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 2, 4)] * 3, attn_mask=torch.ones(2, 2)), RuntimeError,
             r"attn_mask is \[2, 2\], but should be \(3, 3\)"),
    "transformer": (lambda: nn.Transformer(4, 2, 1, 1)(torch.ones(3, 2, 4), torch.ones(3, 1, 4)), RuntimeError,
                    r"batch number.*src \[3, 2, 4\], tgt \[3, 1, 4\]"),
    "reflection": (lambda: nn.ReflectionPad1d(3)(torch.ones(1, 2, 3)), RuntimeError,
     r"less than.*\(3, 3\).*\[1, 2, 3\]"),
    "pixels": (lambda: nn.PixelShuffle(2)(torch.ones(1, 3, 2, 2)), RuntimeError, "divisible by the square"),
    "sizes": (lambda: F.interpolate(torch.ones(1, 1, 3)), ValueError, "either size or scale_factor"),
    "mode": (lambda: F.interpolate(torch.ones(1, 1, 3), 4, mode="bilinear"), NotImplementedError, "got 3D"),
    "target": (lambda: nn.MultiMarginLoss()(torch.ones(2, 3), torch.zeros(3, dtype=torch.int64)), RuntimeError,
               r"target size \[3\] for input \[2, 3\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_layer_and_shapes(name: str) -> None:
    function, kind, text = WRONG[name]
    with pytest.raises(kind, match=f"(?s){text}"):
        function()


# --- ties, products with zeros, and aliases of layers


def test_scatter_reduce_shares_and_zeros() -> None:
    index = torch.tensor([0, 0, 1, 1, 1])
    x, src = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([2.0, 2.0, 0.0, 4.0, 5.0], requires_grad=True)
    x.scatter_reduce(0, index, src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [1 / 3, 0.0])
    np.testing.assert_allclose(src.grad.tolist(), [1 / 3, 1 / 3, 0, 0, 1])
    x.grad = src.grad = None
    x.scatter_reduce(0, index, src, "prod").sum().backward()
    assert x.grad.tolist() == [4.0, 0.0] and src.grad.tolist() == [4.0, 4.0, 60.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="sum, prod, mean, amax or amin"):
        x.scatter_reduce(0, index, src, "median")
    with pytest.raises(RuntimeError, match="dtype"):
        x.scatter_reduce(0, index, src.double(), "sum")


def test_fractional_pooling() -> None:
    pool = nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.75), return_indices=True)
    x = torch.randn(2, 3, 8, 8)
    y, places = pool(x)
    assert y.shape == (2, 3, 4, 6) and pool(x[0])[0].shape == (3, 4, 6)
    assert torch.equal(y.flatten(2), x.flatten(2).gather(2, places.flatten(2)))
    assert nn.FractionalMaxPool3d(2, 3)(torch.randn(1, 2, 5, 6, 7)).shape == (1, 2, 3, 3, 3)
    for wrong in ({}, {"output_size": 3, "output_ratio": 0.5}, {"output_ratio": 1.5}):
        with pytest.raises(ValueError):
            nn.FractionalMaxPool2d(2, **wrong)
    with pytest.raises(RuntimeError, match="too large"):
        nn.FractionalMaxPool2d(3, output_size=7)(x)


def test_synchronised_normalisation_is_the_plain_one() -> None:
    model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm2d(3)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(converted[1], nn.SyncBatchNorm) and isinstance(converted[2][0], nn.SyncBatchNorm)
    assert converted(torch.randn(4, 2, 3, 3)).shape == (4, 3, 3, 3) and int(converted[1].num_batches_tracked) == 1
    assert list(converted.state_dict()) == list(model.state_dict())
    assert_errors(
        (lambda: nn.SyncBatchNorm(3)(torch.ones(3)), ValueError, "at least 2D"),
        (lambda: nn.parallel.DistributedDataParallel(model), ValueError, "make sure to call init_process_group"),
    )


@pytest.mark.parametrize("layer", ["LSTM(3, 4, 2, bidirectional=True)", "GRU(3, 4)", "RNN(3, 4, nonlinearity='relu')"])
def test_recurrences_as_a_whole_and_step_by_step(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of equal length have a dedicated backward pass; second derivatives go through the steps."""
    from cuprous.torch.nn import _recurrent

    module = eval(f"nn.{layer}").double()
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)

    def gradients() -> list[Any]:
        outputs, last = module(x)
        last = last if isinstance(last, tuple) else (last,)
        loss = (outputs**2).sum() + sum((h**3).sum() for h in last)
        return list(torch.autograd.grad(loss, [x, *module.parameters()]))

    whole = gradients()
    # cuDNN's gradient has no derivative, as in PyTorch.
    with torch.backends.cudnn.flags(enabled=False):
        assert torch.autograd.gradgradcheck(lambda x: module(x)[0], [x])

    def plainly(mode: str, x: Any, sizes: Any, first: Any, weights: Any, reverse: bool) -> Any:
        gates = _recurrent.project(mode, x, weights)
        return _recurrent._step_by_step(mode, gates, sizes, first, weights, reverse)

    monkeypatch.setattr(_recurrent, "direction", plainly)
    for a, b in zip(whole, gradients(), strict=True):
        np.testing.assert_allclose(a.cpu().numpy(), b.cpu().numpy(), rtol=1e-12, atol=1e-14)
