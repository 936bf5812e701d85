"""Layers and functions with inputs, as expressions of `nn` and `F` that run with PyTorch and Cuprous."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Layers by the shapes of their inputs: (expression, shape, shape, …).
LAYERS: list[tuple[Any, ...]] = [
    ("nn.Linear(3, 4)", (2, 3)), ("nn.Bilinear(3, 4, 2)", (5, 3), (5, 4)),
    ("nn.Sequential(nn.Flatten(), nn.Linear(6, 2), nn.Unflatten(1, (2, 1)))", (3, 2, 3)),
    # normalization
    ("nn.BatchNorm1d(3)", (4, 3)), ("nn.BatchNorm1d(3, affine=False, momentum=None)", (4, 3, 2)),
    ("nn.BatchNorm2d(2, eps=1e-3, momentum=0.3)", (3, 2, 2, 2)),
    ("nn.BatchNorm3d(2, track_running_stats=False)", (2, 2, 1, 2, 2)), ("nn.BatchNorm2d(2).eval()", (3, 2, 2, 2)),
    ("nn.InstanceNorm1d(3)", (2, 3, 4)), ("nn.InstanceNorm2d(2, affine=True, track_running_stats=True)", (3, 2, 2, 3)),
    ("nn.InstanceNorm3d(2, track_running_stats=True).eval()", (2, 2, 1, 2, 3)), ("nn.GroupNorm(2, 4)", (2, 4, 3)),
    ("nn.LayerNorm((2, 3), bias=False)", (4, 2, 3)), ("nn.RMSNorm(4, eps=1e-5)", (3, 4)),
    ("nn.LocalResponseNorm(3, alpha=0.1)", (2, 4, 3)),
    # convolutions and pooling
    ("nn.Conv1d(2, 4, 3, padding='same', dilation=2, groups=2)", (2, 2, 6)),
    ("nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), bias=False)", (2, 2, 4, 5)),
    ("nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect')", (1, 2, 4, 3)),
    ("nn.Conv3d(2, 2, 2, padding_mode='circular', padding=(1, 0, 1))", (1, 2, 2, 3, 2)),
    ("nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1)", (2, 2, 4)),
    ("nn.ConvTranspose2d(2, 4, 3, stride=2, groups=2, dilation=(1, 2), bias=False)", (1, 2, 3, 2)),
    ("nn.ConvTranspose3d(1, 2, 2)", (1, 1, 2, 2, 2)), ("nn.MaxPool1d(2)", (2, 2, 5)),
    ("nn.MaxPool2d(3, 2, padding=1, ceil_mode=True)", (1, 2, 4, 5)), ("nn.MaxPool3d(2, 1)", (1, 1, 3, 3, 2)),
    ("nn.AvgPool1d(2, 1)", (2, 5)), ("nn.AvgPool2d((2, 3), 2, 1, count_include_pad=False)", (1, 2, 4, 5)),
    ("nn.AvgPool3d(2)", (1, 1, 4, 2, 2)), ("nn.LPPool2d(2, 2)", (1, 2, 4, 4)), ("nn.AdaptiveAvgPool1d(3)", (2, 2, 7)),
    ("nn.AdaptiveAvgPool2d((1, 1))", (2, 2, 3, 4)), ("nn.AdaptiveMaxPool2d((2, None))", (2, 2, 5, 3)),
    # recurrences
    ("nn.RNN(3, 4, 2)", (5, 2, 3)), ("nn.RNN(3, 4, 1, 'relu', False, bidirectional=True)", (5, 2, 3), (2, 2, 4)),
    ("nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True)", (2, 5, 3)),
    ("nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True)", (5, 2, 3), ((4, 2, 2), (4, 2, 4))), ("nn.LSTM(3, 4)", (5, 3)),
    ("nn.GRU(3, 4, 2, bias=False)", (5, 2, 3)),
    ("nn.GRU(3, 4, batch_first=True, bidirectional=True)", (2, 5, 3), (2, 2, 4)),
    ("nn.RNNCell(3, 4, nonlinearity='relu')", (2, 3)), ("nn.LSTMCell(3, 4)", (2, 3), ((2, 4), (2, 4))),
    ("nn.GRUCell(3, 4, bias=False)", (2, 3), (2, 4)),
    # attention
    ("nn.MultiheadAttention(4, 2)", (3, 2, 4), (5, 2, 4), (5, 2, 4)),
    ("nn.MultiheadAttention(4, 2, bias=False, add_bias_kv=True, add_zero_attn=True, batch_first=True)",
     (2, 3, 4), (2, 5, 4), (2, 5, 4)),
    ("nn.MultiheadAttention(4, 2, kdim=3, vdim=5)", (3, 4), (5, 3), (5, 5)),
    ("nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, norm_first=True, bias=False)", (3, 2, 4)),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0, 'gelu'), 2, nn.LayerNorm(4))", (3, 2, 4)),
    ("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True), 2)", (2, 3, 4), (2, 5, 4)),
    ("nn.Transformer(4, 2, 1, 1, 6, 0.0)", (5, 2, 4), (3, 2, 4)),
    # shapes
    ("nn.ConstantPad1d((1, 2), 0.5)", (2, 3)), ("nn.ZeroPad2d((1, -1, 0, 2))", (2, 3, 3)),
    ("nn.ReflectionPad1d(2)", (2, 3)), ("nn.ReflectionPad2d((1, 2, 0, 1))", (1, 2, 3, 3)),
    ("nn.ReplicationPad3d((1, 2, 0, 1, 3, 0))", (1, 2, 2, 2, 3)), ("nn.CircularPad2d((1, 2, 3, 0))", (1, 2, 3, 3)),
    ("nn.SyncBatchNorm(3)", (2, 3, 4)), ("nn.PixelShuffle(2)", (1, 8, 2, 3)), ("nn.PixelUnshuffle(2)", (1, 2, 4, 2)),
    ("nn.ChannelShuffle(2)", (1, 4, 2, 2)),
    ("nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=(2, 1))", (2, 2, 4, 5)),
    ("nn.Fold((4, 5), (2, 3), padding=1, stride=2)", (2, 12, 9)), ("nn.Upsample(scale_factor=2)", (1, 2, 3)),
    ("nn.Upsample((5, 4))", (1, 2, 3, 3)), ("nn.Upsample(scale_factor=1.7, mode='linear')", (1, 2, 5)),
    ("nn.Upsample((5, 2), mode='bilinear')", (1, 2, 3, 4)), ("nn.UpsamplingBilinear2d(scale_factor=2)", (1, 2, 3, 3)),
    ("nn.Upsample(scale_factor=(1.5, 2), mode='bicubic')", (1, 2, 4, 3)),
    ("nn.Upsample((3, 5, 4), mode='trilinear', align_corners=True)", (1, 1, 2, 3, 3)),
    # activations with parameters or over several elements
    ("nn.PReLU(3)", (2, 3, 2)), ("nn.Softmax2d()", (2, 3, 2, 2)), ("nn.RReLU().eval()", (2, 3)),
    ("nn.Threshold(0.1, 0.5)", (2, 3)), ("nn.Hardshrink()", (2, 3)), ("nn.Softshrink(0.3)", (2, 3)),
    ("nn.Tanhshrink()", (2, 3)), ("nn.GLU()", (2, 4)),
    ("nn.Embedding(5, 3, padding_idx=1, scale_grad_by_freq=True)", [1, 0, 4, 0]),
    ("nn.Embedding(5, 3, max_norm=0.4)", [[1, 0, 4]]), ("nn.EmbeddingBag(5, 3)", [[1, 0], [4, 4]]),
    ("nn.EmbeddingBag(5, 3, mode='sum', padding_idx=1)", [1, 0, 4, 2], [0, 1, 1]),
    ("nn.EmbeddingBag(5, 3, mode='max', include_last_offset=True)", [1, 0, 4, 2], [0, 1, 4]),
    ("nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6], div_value=2.0, head_bias=True)", (5, 4), [0, 9, 4, 2, 6]),
    ("nn.CosineSimilarity()", (3, 4), (3, 4)), ("nn.PairwiseDistance(3.0, keepdim=True)", (3, 4), (3, 4)),
]  # fmt: skip

#: Functions of tensors a, b, … of the shapes behind them; a list is a tensor of integers.
FUNCTIONS: list[tuple[Any, ...]] = [
    ("F.poisson_nll_loss(a, b.exp(), full=True)", (3, 2), (3, 2)),
    ("F.poisson_nll_loss(a.exp(), b.exp(), log_input=False, reduction='sum')", (3, 2), (3, 2)),
    ("F.gaussian_nll_loss(a, b, c.exp(), full=True)", (3, 2), (3, 2), (3, 1)),
    ("F.margin_ranking_loss(a, b, c.sign(), margin=0.3)", (4,), (4,), (4,)),
    ("F.hinge_embedding_loss(a, b.sign(), reduction='none')", (4,), (4,)),
    ("F.cosine_embedding_loss(a, b, c.sign(), margin=-0.2)", (4, 3), (4, 3), (4,)),
    ("F.soft_margin_loss(a, b.sign().detach())", (4, 3), (4, 3)),
    ("F.multilabel_soft_margin_loss(a, (b > 0).double(), c.exp())", (4, 3), (4, 3), (3,)),
    ("F.multi_margin_loss(a, b, p=2, margin=0.7, weight=c.double())", (3, 4), [1, 0, 3], [1, 2, 3, 4]),
    ("F.multilabel_margin_loss(a, b, reduction='none')", (2, 4), [[3, 0, -1, 1], [-1, 2, 2, 2]]),
    ("F.triplet_margin_loss(a, b, c, swap=True, p=2)", (3, 4), (3, 4), (3, 4)),
    ("F.triplet_margin_with_distance_loss(a, b, c, margin=0.5)", (3, 4), (3, 4), (3, 4)),
    ("F.ctc_loss(F.log_softmax(a, 2), b, (6, 5), (3, 2))", (6, 2, 4), [[1, 1, 2], [3, 2, 0]]),
    ("F.ctc_loss(F.log_softmax(a, 2), b, (6, 2, 4), (3, 2, 0), reduction='none', zero_infinity=True)",
     (6, 3, 4), [1, 1, 2, 3, 3]),
    ("F.ctc_loss(F.log_softmax(a, 1), b, torch.tensor(5), torch.tensor(2), blank=3, reduction='sum')",
     (5, 4), [1, 0]),
    ("F.scaled_dot_product_attention(a, b, c, is_causal=True, enable_gqa=True)",
     (1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 4)),
    ("F.scaled_dot_product_attention(a, b, c, attn_mask=torch.tensor([[True, False], [False, False]]), scale=0.3)",
     (1, 2, 3), (1, 2, 3), (1, 2, 2)),
    ("F.scaled_dot_product_attention(a, b, c, attn_mask=d)", (2, 2, 3), (2, 4, 3), (2, 4, 2), (2, 4)),
    ("F.interpolate(a, (4, 2), mode='nearest-exact')", (1, 2, 3, 5)),
    ("F.interpolate(a, scale_factor=0.6, mode='bicubic', align_corners=True, recompute_scale_factor=True)",
     (1, 1, 5, 7)),
    ("F.grid_sample(a, b * 1.5, align_corners=False)", (2, 2, 3, 4), (2, 2, 3, 2)),
    ("F.grid_sample(a, b * 1.5, padding_mode='border', align_corners=True)", (2, 2, 3, 4), (2, 2, 3, 2)),
    ("F.grid_sample(a, b * 2, padding_mode='reflection', align_corners=False)", (1, 2, 2, 3, 3), (1, 1, 2, 2, 3)),
    ("F.grid_sample(a, b.detach(), 'nearest', align_corners=False)", (2, 2, 3, 4), (2, 2, 3, 2)),
    ("F.grid_sample(a, b * 1.5, 'bicubic', align_corners=False)", (2, 2, 3, 4), (2, 2, 3, 2)),
    ("F.grid_sample(a, b * 1.5, 'bicubic', 'border', align_corners=True)", (2, 2, 4, 5), (2, 2, 3, 2)),
    ("F.grid_sample(a, b * 2, 'bicubic', 'reflection', align_corners=False)", (2, 2, 4, 5), (2, 2, 3, 2)),
    ("F.affine_grid(a, (2, 1, 3, 4), align_corners=False)", (2, 2, 3)),
    ("F.affine_grid(a, (1, 1, 2, 3, 1), align_corners=True)", (1, 3, 4)),
    ("F.pdist(a, 3)", (4, 3)),
    ("torch.cdist(a, b)", (2, 4, 3), (2, 5, 3)),
    ("F.normalize(a, 3, (0, 1))", (4, 3)),
    ("F.local_response_norm(a, 2)", (2, 3, 4, 2)),
    ("F.fractional_max_pool2d(a, 2, (3, 4), _random_samples=b.detach().abs(), return_indices=True)",
     (2, 3, 7, 8), (2, 3, 2)),
    ("F.fractional_max_pool3d(a, (2, 1, 2), output_ratio=0.5, _random_samples=b.detach().abs())",
     (1, 2, 5, 4, 6), (1, 2, 3)),
    ("a.scatter_reduce(1, c, b, 'prod')", (3, 4), (3, 4), [[0, 1, 1, 3], [2, 2, 2, 0], [0, 0, 0, 0]]),
    ("a.scatter_reduce(1, c, b, 'amax', include_self=False)", (3, 4), (3, 4), [[0, 1, 1, 3], [2, 2, 2, 0], [0] * 4]),
    ("a.scatter_reduce(0, c, b, 'amin')", (3, 4), (2, 4), [[0, 1, 1, 2], [2, 2, 2, 0]]),
    ("a.scatter_reduce(0, c, b, 'mean')", (3, 4), (2, 4), [[0, 1, 1, 2], [2, 2, 2, 0]]),
    ("torch.index_reduce(a, 1, c, b, 'prod', include_self=False)", (3, 4), (3, 5), [0, 3, 3, 1, 0]),
    ("a.clone().index_reduce_(0, c, b, 'mean')", (3, 4), (2, 4), [2, 2]),
    ("F.embedding_bag(b, a, torch.tensor([0, 1, 3]), mode='sum', per_sample_weights=c)",
     (5, 3), [1, 0, 4, 2], (4,)),
]  # fmt: skip


def tensor(torch: Any, spec: Any, seed: int) -> Any:
    """Returns a tensor of a shape, or of the integers of a list; a tuple of tensors for a tuple of shapes."""
    if isinstance(spec, list):
        return torch.tensor(spec)
    if spec and isinstance(spec[0], tuple):
        return tuple(tensor(torch, each, seed + 50 + k) for k, each in enumerate(spec))
    values = np.random.RandomState(seed).uniform(-1, 1, spec)
    return torch.tensor(values, dtype=torch.float64).requires_grad_()


def tensors(nested: Any) -> list[Any]:
    """Returns the float tensors in nested tuples."""
    if isinstance(nested, (tuple, list)):
        return [x for part in nested for x in tensors(part)]
    return [nested] if hasattr(nested, "dtype") and nested.is_floating_point() else []


def layer(torch: Any, expression: str) -> Any:
    """Returns a layer with known weights."""
    module = eval(expression, {"nn": torch.nn}).double()
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(torch.tensor(np.random.RandomState(100 + k).uniform(-0.5, 0.5, tuple(p.shape))))
    return module


def call(torch: Any, expression: str, inputs: list[Any], module: Any = None) -> Any:
    """Evaluates a layer or expression; returns the weighted sum of its outputs, and the outputs."""
    if module is None:
        names = dict(zip("abcd", inputs, strict=False))
        outputs = tensors(eval(expression, {"F": torch.nn.functional, "torch": torch, **names}))
    else:
        outputs = tensors(module(*inputs))
    total = sum((y * torch.arange(1.0, y.numel() + 1, dtype=torch.float64).cos().reshape(y.shape)).sum()
                for y in outputs)  # fmt: skip
    return total, outputs


def results(torch: Any, row: tuple[Any, ...], is_layer: bool) -> dict[str, Any]:
    """Returns everything that must be equal: outputs, gradients, buffers, repr and keys."""
    expression, *specs = row
    inputs = [tensor(torch, spec, 7 + k) for k, spec in enumerate(specs)]
    module = layer(torch, expression) if is_layer else None
    total, outputs = call(torch, expression, inputs, module)
    total.backward()
    found: dict[str, Any] = {"outputs": outputs, "gradients": [x.grad for x in tensors(inputs) if x.grad is not None]}
    if module is not None:
        found["gradients"] += [p.grad for p in module.parameters() if p.grad is not None]
        found |= {"buffers": list(module.buffers()), "text": repr(module), "keys": list(module.state_dict())}
    return found


def _sums(tensors: list[Any]) -> list[float]:
    """Reduces each tensor to one number that depends on the position of every element."""
    found = []
    for t in tensors:
        values = np.asarray(t.detach().cpu().tolist(), float).ravel()
        found.append(float(f"{(values * np.sin(np.arange(1.0, values.size + 1))).sum():.8g}"))
    return found


def golden_of(torch: Any, row: tuple[Any, ...], is_layer: bool) -> dict[str, Any]:
    """Returns the results of one row, short enough for a file."""
    found = results(torch, row, is_layer)
    return {key: _sums(value) if key in ("outputs", "gradients", "buffers") else value for key, value in found.items()}


def golden(torch: Any) -> dict[str, Any]:
    """Returns the results of all rows."""
    tables = ((LAYERS, True), (FUNCTIONS, False))
    return {row[0]: golden_of(torch, row, is_layer) for table, is_layer in tables for row in table}
