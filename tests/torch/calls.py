"""Calls of each name in `names.py`; golden_calls.json has the results of PyTorch.

Expressions are separated by `; ` or lines. They use what `given` makes: `x`, `y`, `p` (3, 4; `p` positive), `i` (3, 4,
int64), `m` (3, 4, bool), `v` (4), `s` (4, 4), `z` (2, complex), `img` (2, 4, 6, 6),
`seq` (5, 2, 4), `w` (3, 4, requires a gradient).
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import warnings
from typing import Any

import numpy as np

from tests.torch import more_calls

LINES = """
torch.cat([x, y], 1); torch.stack([x, y]); torch.hstack([x, y]); torch.vstack([x, y]); torch.tile(v, (2, 2))
torch.randn(3, 4).shape; torch.rand(2).dtype; torch.randint(0, 5, (7,)).dtype; torch.randn_like(x).shape
torch.randperm(5).sort().values; torch.normal(0.0, torch.zeros(5)); torch.bernoulli(torch.ones(3))
torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True); torch.no_grad()(lambda: (w * 2).requires_grad)()
torch.enable_grad()(lambda: (w * 2).requires_grad)(); torch.inference_mode()(lambda: (w * 2).requires_grad)()
torch.set_grad_enabled(True) and None; torch.device("cuda:1").index; torch.device("cpu")
torch.set_default_device("cpu"); torch.set_default_dtype(torch.float32); torch.zeros(2, 3); torch.ones(2)
torch.full((2,), 7.0); torch.zeros_like(i); torch.ones_like(x); torch.full_like(x, 3); torch.empty(2, 3).shape
torch.eye(3); torch.arange(1, 10, 2); torch.linspace(0, 1, 5); torch.tensor([[1, 2], [3, 4]])
torch.as_tensor([1.5, 2]); torch.from_numpy(numpy.arange(3)); torch.tensor(1.0, dtype=torch.float16)
torch.tril_indices(3, 3); torch.triu_indices(2, 4); torch.meshgrid(v, v[:2], indexing="ij")
torch.Tensor(2, 3).shape; torch.Size([1, 2]); torch.FloatTensor([1, 2]); torch.LongTensor([1, 2])
torch.IntTensor([1]); torch.DoubleTensor([1]); torch.ByteTensor([1]); torch.HalfTensor([1])
torch.BoolTensor([True, False]); saved(torch.save, torch.load, x); torch.float32; torch.long; torch.bool
torch.float64; torch.bfloat16; torch.float16; torch.complex64; torch.double; torch.float; torch.half; torch.int
torch.int32; torch.int64; torch.uint8; torch.finfo(torch.float16).max; torch.tensor([True]).dtype is torch.bool
torch.manual_seed(3).initial_seed(); torch.Generator().manual_seed(2).initial_seed()
type(torch.default_generator).__name__; torch.get_default_dtype(); torch.set_printoptions(precision=4)
torch.matmul(x, y.T); torch.mm(x, y.t()); torch.bmm(seq, seq.transpose(1, 2)); torch.dot(v, v); torch.ger(v, v[:2])
torch.outer(v, v); torch.einsum("ij,kj->ik", x, y); torch.baddbmm(seq[:, :, :2], seq, seq.transpose(1, 2), beta=0.5)
torch.addmm(v[:3], x, y.T, alpha=2); torch.kron(x[:2, :2], y[:2, :2]); torch.cross(x[:, :3], y[:, :3], dim=1)
torch.cdist(x, y); torch.tensordot(x, y, dims=2) if hasattr(torch, "tensordot") else 0; torch.norm(x)
torch.norm(x, dim=1); torch.max(x); torch.max(x, 1); torch.max(x, y); torch.min(x, dim=0)
torch.mean(x, 1, keepdim=True); torch.sum(x); torch.sum(x, (0, 1)); torch.var(x); torch.var(x, 1, unbiased=False)
torch.std(x, dim=0); torch.prod(x, 1); torch.median(x); torch.quantile(x, 0.3); torch.argmax(x, 1); torch.all(m)
torch.any(m, 1); torch.logsumexp(x, 1); torch.cumsum(x, 0); torch.cumprod(x, 1); torch.topk(x, 2)
torch.sort(x, 1, descending=True); torch.unique(i); torch.unique(i, return_counts=True, return_inverse=True)
torch.bincount(i.reshape(-1)); torch.searchsorted(torch.sort(v).values, x); torch.diff(x); torch.numel(x)
torch.equal(x, x); torch.log(p); torch.log2(p); torch.exp(x); torch.sqrt(p); torch.square(x); torch.sin(x)
torch.cos(x); torch.tanh(x); torch.sigmoid(x); torch.relu(x); torch.abs(x); torch.sign(x); torch.floor(x * 3)
torch.ceil(x * 3); torch.round(x * 3); torch.clamp(x, -0.5, 0.5); torch.clamp(x, min=0); torch.pow(p, 2.5)
torch.pow(2, x); torch.fmod(x, 0.3); torch.atan2(x, y); torch.add(x, y, alpha=2); torch.sub(x, y); torch.mul(x, 2)
torch.minimum(x, y); torch.maximum(x, y); torch.where(m, x, y); torch.isnan(x / 0 * 0); torch.isinf(x / 0)
torch.isfinite(x); torch.is_tensor(x); torch.is_floating_point(i); torch.logical_and(m, ~m); torch.logical_not(m)
torch.logical_or(m, ~m); torch.masked_fill(x, m, 0.0); torch.log_softmax(x, 1); torch.softmax(x, dim=-1)
torch.unsqueeze(x, 1).shape; torch.squeeze(x[None]).shape; torch.flatten(img, 1).shape; torch.reshape(x, (2, -1))
torch.transpose(x, 0, 1); torch.permute(seq, (2, 0, 1)).shape; torch.chunk(x, 2, 1); torch.split(x, [1, 3], dim=1)
torch.unbind(x); torch.roll(x, 1, 1); torch.flip(x, [1]); torch.rot90(x); torch.movedim(seq, 0, 2).shape
torch.swapaxes(x, 0, 1).shape; torch.narrow(x, 1, 1, 2); torch.broadcast_to(v, (2, 4))
torch.broadcast_tensors(v, x)[0].shape; torch.repeat_interleave(v, 2); torch.gather(x, 1, i[:, :2])
torch.scatter(x, 1, i[:, :1], 9.0); torch.index_select(x, 1, i[0, :2]); torch.take_along_dim(x, i, 1)
torch.nonzero(m); torch.diag(v); torch.diag(s, 1); torch.tril(s); torch.triu(s, 1); torch.polar(p[0], v)
torch.view_as_real(z); torch.view_as_complex(p[:, :2].contiguous()); torch.promote_types(torch.int32, torch.float16)
torch.result_type(i, 1.5); torch.compile(nn.Linear(2, 2))(torch.zeros(1, 2)).shape; made(nn.Linear(4, 2))(x)
made(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout(0.0)))(x); nn.ReLU()(x); nn.Identity()(x)
made(nn.Conv2d(4, 2, 3, stride=2, padding=1, groups=2))(img)
made(nn.Conv1d(4, 2, 3, dilation=1))(seq.permute(1, 2, 0)); made(nn.Conv3d(2, 1, 2))(img.reshape(1, 2, 4, 6, 6))
made(nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1))(img)
made(nn.ConvTranspose1d(4, 2, 3))(seq.permute(1, 2, 0)); isinstance(nn.ModuleList([nn.Tanh()])[0], nn.Module)
nn.Parameter(v); nn.GELU()(x); nn.GELU(approximate="tanh")(x); made(nn.LayerNorm(4))(x)
made(nn.BatchNorm2d(4))(img); made(nn.BatchNorm1d(4))(x); made(nn.BatchNorm3d(2))(img.reshape(1, 2, 4, 6, 6))
made(nn.GroupNorm(2, 4))(img); made(nn.RMSNorm(4))(x); nn.Softmax(dim=1)(x)
made(nn.InstanceNorm2d(4, affine=True))(img); nn.InstanceNorm1d(4)(seq.permute(1, 2, 0)); nn.LogSoftmax(1)(x)
nn.Tanh()(x); nn.MSELoss()(x, y); nn.CrossEntropyLoss(label_smoothing=0.1)(x, i[:, 0])
nn.NLLLoss(weight=p[0])(F.log_softmax(x, 1), i[:, 0]); nn.BCELoss()(p / 3, m.float())
nn.BCEWithLogitsLoss(pos_weight=p[0])(x, m.float()); nn.L1Loss(reduction="sum")(x, y)
nn.SmoothL1Loss(beta=0.5)(x, y); nn.HuberLoss(delta=0.3)(x, y)
nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x, 1), p)
nn.CosineEmbeddingLoss(margin=0.1)(x, y, torch.tensor([1, -1, 1])); nn.TripletMarginLoss()(x, y, p)
nn.MarginRankingLoss(0.2)(x[0], y[0], torch.sign(v))
nn.CTCLoss()(F.log_softmax(seq, 2), i[:2, :2] % 3 + 1, (5, 4), (2, 1)); nn.LeakyReLU(0.2)(x); nn.Sigmoid()(x)
nn.SiLU()(x); made(nn.PReLU())(x); nn.ELU(0.5)(x); nn.SELU()(x); nn.ReLU6()(x * 9); nn.Softplus(2)(x)
nn.Hardtanh()(x * 2); nn.Hardswish()(x * 4); nn.Mish()(x); nn.GLU()(x); made(nn.Embedding(5, 3, padding_idx=0))(i)
made(nn.EmbeddingBag(5, 3, mode="mean"))(i); made(nn.Bilinear(4, 4, 2))(x, y)
nn.Upsample(scale_factor=2, mode="bilinear")(img); nn.AdaptiveAvgPool2d((2, 3))(img); nn.AdaptiveAvgPool1d(2)(seq)
nn.AdaptiveMaxPool2d(2)(img); nn.MaxPool2d(2, return_indices=True)(img); nn.MaxPool1d(2)(seq)
nn.AvgPool2d(3, 1, 1, count_include_pad=False)(img); nn.AvgPool1d(2)(seq); nn.Flatten()(img).shape
nn.Unflatten(1, (2, 2))(x).shape; nn.PixelShuffle(2)(img); nn.ReflectionPad2d(1)(img)
nn.ZeroPad2d((1, 0, 2, 0))(img); nn.Dropout2d(0.0)(img); nn.Dropout1d(0.5).eval()(seq); nn.Dropout3d(1.0)(img[None])
nn.CosineSimilarity(dim=1)(x, y); nn.Fold((4, 4), 2, stride=2)(torch.arange(16.0).reshape(1, 4, 4))
nn.Unfold(2, stride=2)(img); made(nn.LSTM(4, 3, 2, bidirectional=True))(seq)
made(nn.GRU(4, 3, batch_first=True))(seq); made(nn.RNN(4, 3, nonlinearity="relu"))(seq); made(nn.LSTMCell(4, 3))(x)
made(nn.GRUCell(4, 3))(x); made(nn.RNNCell(4, 3))(x)
made(nn.MultiheadAttention(4, 2))(seq, seq, seq, attn_mask=torch.triu(torch.ones(5, 5), 1).bool())
made(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2))(seq)
made(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True), 1))(seq, seq * 2)
made(nn.Transformer(4, 2, 1, 1, 8, 0.0))(seq, seq[:3], tgt_mask=nn.Transformer.generate_square_subsequent_mask(3))
sorted(nn.ModuleDict({"a": nn.Tanh()})); len(nn.ParameterList([v, v])); sorted(nn.ParameterDict({"k": v}))
nn.DataParallel(nn.ReLU())(x); nn.functional is F; nn.init.__name__[-4:]; nn.utils.__name__[-5:]
nn.modules.__name__[-7:]; nn.parallel.__name__[-8:]; F.relu(x); F.mse_loss(x, y, reduction="none")
F.pad(x, (1, 2), value=3); F.pad(img, (1, 1, 2, 0), mode="reflect"); F.normalize(x, dim=0); F.softmax(x, dim=0)
F.avg_pool2d(img, 2); F.cross_entropy(x, F.softmax(y, 1))
F.scaled_dot_product_attention(seq, seq, seq, is_causal=True); F.log_softmax(x, dim=0)
F.interpolate(img, size=(3, 9), mode="nearest"); F.interpolate(img, scale_factor=1.5, mode="bicubic")
F.max_pool2d(img, 3, 2, 1); F.adaptive_avg_pool2d(img, 2); F.one_hot(i, 5); F.linear(x, y, v[:3])
F.nll_loss(x, i[:, 1], ignore_index=2); F.gelu(x); F.layer_norm(x, (4,), v, v); F.dropout(x, 0.5, training=False)
F.sigmoid(x); F.tanh(x); F.binary_cross_entropy(p / 3, m.float())
F.binary_cross_entropy_with_logits(x, m.float(), weight=p); F.smooth_l1_loss(x, y); F.l1_loss(x, y)
F.kl_div(x, p, reduction="sum"); F.cosine_similarity(x, y); F.embedding(i, s[:, :3]); F.leaky_relu(x); F.elu(x)
F.silu(x); F.softplus(x); F.conv1d(seq, seq[:2, :, :2]); F.conv2d(img, img[:, :, :3, :3], padding="same")
F.conv_transpose2d(img, img[:, :2].repeat(2, 1, 1, 1)[:, :, :2, :2]); F.unfold(img, 3, padding=1)
F.fold(torch.arange(16.0).reshape(1, 4, 4), (4, 4), 2, stride=2)
F.grid_sample(img, F.affine_grid(s[None, :2, :3].repeat(2, 1, 1), (2, 4, 3, 3), False), align_corners=False)
F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True); F.group_norm(img, 2)
F.gumbel_softmax(x, hard=True).sum(1); F.glu(x); F.dropout2d(img, 0.0); F.huber_loss(x, y); F.logsigmoid(x)
F.pixel_shuffle(img, 2); F.mish(x); F.relu6(x); F.hardtanh(x, -0.2, 0.2); F.rms_norm(x, (4,))
nn.init.constant_(e(2, 2), 0.5); nn.init.normal_(e(50, 50)).std() < 1.2; nn.init.orthogonal_(e(3, 3)).det().abs()
nn.init.zeros_(e(2)); nn.init.xavier_uniform_(e(4, 5)).abs().max() <= (6 / 9) ** 0.5
nn.init.trunc_normal_(e(99), a=-0.1, b=0.1).abs().max() <= 0.1; nn.init.kaiming_normal_(e(4, 5)).shape
nn.init.kaiming_uniform_(e(4, 5), nonlinearity="relu").abs().max() <= (6 / 5) ** 0.5
nn.init.xavier_normal_(e(4, 5)).shape; nn.init.uniform_(e(9), 2, 3).min() >= 2; nn.init.ones_(e(2))
nn.init.eye_(e(2, 3)); nn.init.dirac_(e(2, 2, 3)); nn.init.calculate_gain("leaky_relu", 0.2)
old(nn.init.constant)(e(2), 3.0); old(nn.init.normal)(e(2)).shape; old(nn.init.kaiming_normal)(e(2, 2)).shape
nn.utils.clip_grad_norm_(graded(), 1.0); nn.utils.clip_grad_value_(graded(), 0.1)
nn.utils.parameters_to_vector([v, x]).shape; nn.utils.vector_to_parameters(torch.arange(4.0), [e(2, 2)])
sorted(made(nn.utils.weight_norm(nn.Linear(2, 2))).state_dict())
sorted(nn.utils.spectral_norm(nn.Linear(2, 2)).state_dict())
nn.utils.rnn.pad_sequence([v, v[:2]], batch_first=True, padding_value=7)
nn.utils.rnn.pack_padded_sequence(seq, torch.tensor([5, 3])).batch_sizes
nn.utils.rnn.pack_sequence([v[:, None], v[:2, None]]).data
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(seq, [2, 4], enforce_sorted=False))
isinstance(nn.utils.rnn.pack_sequence([v]), nn.utils.rnn.PackedSequence); nn.parallel.DataParallel(nn.ReLU())(x)
callable(nn.parallel.data_parallel); nn.parallel.DistributedDataParallel.__name__
trained(torch.optim.Adam, lr=0.1, amsgrad=True)
trained(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1); trained(torch.optim.AdamW, lr=0.1)
trained(torch.optim.RMSprop, lr=0.01, centered=True, momentum=0.5); trained(torch.optim.Adadelta)
trained(torch.optim.Adagrad, lr=0.1); trained(torch.optim.LBFGS, lr=0.5)
issubclass(torch.optim.SGD, torch.optim.Optimizer); rates(torch.optim.lr_scheduler.StepLR, 2, gamma=0.5)
rates(torch.optim.lr_scheduler.LambdaLR, lambda k: 1 / (k + 1))
rates(torch.optim.lr_scheduler.CosineAnnealingLR, 5, eta_min=0.01)
rates(torch.optim.lr_scheduler.MultiStepLR, [1, 3]); rates(torch.optim.lr_scheduler.ExponentialLR, 0.9)
rates(torch.optim.lr_scheduler.OneCycleLR, 1.0, total_steps=10)
rates(torch.optim.lr_scheduler.ReduceLROnPlateau, patience=1, value=1.0); torch.autograd.Variable(v).requires_grad
torch.autograd.grad((w**2).sum(), w); torch.autograd.backward((w * 3).sum()) or w.grad
issubclass(torch.autograd.Function, object); torch.amp.GradScaler("cpu", enabled=False).get_scale()
cast(torch.amp.autocast); torch.backends.cudnn.enabled; torch.backends.cuda.matmul.allow_tf32
list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, i), batch_size=2, drop_last=False))
len(torch.utils.data.Subset(torch.utils.data.TensorDataset(x), [0, 2]))
len(torch.utils.data.random_split(range(10), [0.7, 0.3])[0]); len(torch.utils.data.ConcatDataset([[1], [2, 3]]))
list(torch.utils.data.SequentialSampler(range(3))); sorted(torch.utils.data.RandomSampler(range(3)))
list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
issubclass(torch.utils.data.IterableDataset, torch.utils.data.Dataset); torch.cuda.is_available() in (True, False)
torch.cuda.manual_seed(1); torch.cuda.manual_seed_all(1); torch.cuda.device_count() >= 0
callable(torch.cuda.set_device); callable(torch.cuda.synchronize); callable(torch.cuda.is_bf16_supported)
callable(torch.cuda.current_device); torch.cuda.empty_cache(); callable(torch.cuda.get_device_name)
torch.cuda.memory_allocated() >= 0; torch.cuda.max_memory_allocated() >= 0; torch.cuda.amp.__name__[-3:]
callable(torch.cuda.Event); callable(torch.cuda.Stream); callable(torch.cuda.FloatTensor)
torch.accelerator.is_available() in (True, False); torch.accelerator.device_count() >= 0
callable(torch.accelerator.current_accelerator); callable(torch.distributed.init_process_group)
callable(torch.distributed.destroy_process_group); torch.distributions.Categorical(p[0]).log_prob(torch.tensor(1))
torch.distributions.Normal(v, p[0]).entropy(); callable(torch.profiler.profile)
torch.profiler.schedule(wait=1, warmup=1, active=1)(2).name; callable(torch.profiler.tensorboard_trace_handler)
torch.profiler.ProfilerActivity.CPU.name; x.shape; backed(lambda: (w * w).sum().backward()); x.sum().item()
x.view(2, 6); x.size(1); x.size(); x.to(torch.float64); x.data; x.mean(); x.numpy().tolist(); x.device.type
x.norm(); x.norm(1, 0); x.type(torch.int32); x.type(); callable(x.cuda); x.chunk(2); x.sum(1); x.flatten()
w.detach().requires_grad; x.cpu(); i.float(); x.transpose(0, 1); x.reshape(4, 3); x[None].squeeze(0); x.exp()
p.sqrt(); x.unsqueeze(-1).shape; x.max(); x.max(1); x.clone(); x.softmax(1); x.clamp(0, 1); x.argmax(); x.dim()
c(x).fill_(2); x.long(); x.std(); c(x).copy_(y); x.numel(); x.t().contiguous(); c(x).uniform_(1, 2).min() >= 1
x.gather(1, i); x.masked_fill(m, 1.0); x.permute(1, 0); v.repeat(2, 2); x.scatter(1, i[:, :1], y[:, :1])
c(x).clamp_(0, 1); v.expand(2, 4); x.topk(1); x.unbind(1); c(x).index_add_(0, torch.tensor([0, 2]), y[:2]); x.eq(x)
x.view_as(y); v.expand_as(x); x.new_zeros(2); x.narrow(0, 1, 1); callable(x.pin_memory); x.requires_grad; p.log()
x.cos(); x.t(); x.tolist(); x.dtype; x.ndim; x.grad; (w * 1).grad_fn is not None; w.is_leaf
e(2).requires_grad_().requires_grad; hooked(w); c(x).zero_(); c(x).add_(y, alpha=2); c(x).sub_(1); c(x).mul_(y)
c(x).div_(2); c(x).normal_().shape; x.is_cuda; x.stride(); x.half(); x.double(); x.int(); x.bool(); x.abs()
p.pow(3); x.square(); x.round(); (x * 5).floor(); x.var(0); x.cumsum(1); x.sort(); x.argmin(1); x.min(0); m.all()
m.any(0); x.ne(y); x.gt(0); x.lt(y); x.ge(0); x.le(0); x.index_select(0, torch.tensor([1])); x.masked_select(m)
m.nonzero(); x.split(2, 1); x.unfold(1, 2, 1); s.tril(-1); s.triu(); s.diag(); x.mm(s); seq.bmm(seq.mT); x.matmul(v)
v.dot(v); x.mv(v); x.sigmoid(); x.tanh(); x.relu(); x.log_softmax(1); x.sin(); x.isnan(); x.sub(y); x.add(1)
x.mul(y); x.div(2, rounding_mode="floor"); x.flip(0); x.roll(1); c(x).masked_fill_(m, 5)
c(x).scatter_(1, i[:, :1], 3.0); c(x).scatter_add_(1, i, y); c(x).exponential_().min() > 0; c(x).bernoulli_(1.0)
c(x).random_(0, 1); kept(w); x.element_size(); i.type_as(x); x.new_ones(2); x.new_full((2,), 3.0); x.new_tensor([1])
x.new_empty(2).shape; x.new(2).shape; x.is_contiguous(); x.prod(0); x.sign(); seq.mT.shape; x.T; x.bfloat16()
i.byte(); c(x).lerp_(y, 0.5); c(x).addcmul_(x, y, value=2); c(x).addcdiv_(x, p); v.repeat_interleave(2)
seq.movedim(0, 1).shape; x.unflatten(1, (2, 2)); x.amax(1); x.amin((0, 1)); x.logsumexp(0); x.nelement()
x.data_ptr() > 0; w.register_hook(lambda g: g) is not None; (w * 2).retain_grad()
c(x).detach_().requires_grad; c(x[None]).squeeze_().shape; c(x).unsqueeze_(0).shape
"""

EXPRESSIONS: list[str] = [
    part.strip()
    for line in (LINES + more_calls.LINES).strip().splitlines()
    for part in line.split("; ")
    if part.strip()
]


def given(torch: Any) -> dict[str, Any]:
    """Returns the names that the expressions use, for a module `torch`."""
    nn = torch.nn

    def random(seed: int, *shape: int) -> Any:
        return torch.tensor(np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32))

    def made(model: Any) -> Any:
        with torch.no_grad():
            for k, parameter in enumerate(model.parameters()):
                parameter.copy_(random(50 + k, *parameter.shape) * 0.7)
        return model

    def saved(save: Any, load: Any, value: Any) -> Any:
        with tempfile.NamedTemporaryFile() as file:
            save({"value": value, "n": 3}, file.name)
            loaded = load(file.name, map_location="cpu", weights_only=True)
        buffer = io.BytesIO()
        save(loaded, buffer)
        buffer.seek(0)
        return load(buffer)["value"]

    def graded() -> Any:
        parameter = nn.Parameter(random(3, 2, 2))
        (parameter * 3).sum().backward()
        return [parameter]

    def trained(optimizer: Any, **options: Any) -> Any:
        parameter = nn.Parameter(random(3, 2, 3))
        chosen = optimizer([parameter], **options)

        def loss() -> Any:
            chosen.zero_grad()
            value = ((parameter - 0.3) ** 4).sum() + parameter.sin().sum()
            value.backward()
            return value

        for _ in range(4):
            chosen.step(loss)
        return parameter.detach()

    def rates(scheduler: Any, *args: Any, value: Any = None, **options: Any) -> Any:
        optimizer = torch.optim.SGD([nn.Parameter(random(3, 2))], lr=0.1)
        chosen, seen = scheduler(optimizer, *args, **options), []
        for _ in range(6):
            optimizer.step()
            chosen.step(*([] if value is None else [value]))
            seen.append(optimizer.param_groups[0]["lr"])
        return seen

    def cast(autocast: Any) -> Any:
        with autocast("cpu", dtype=torch.bfloat16):
            return [(random(1, 2, 2) @ random(2, 2, 2)).dtype, random(1, 2).exp().dtype]

    def hooked(w: Any) -> Any:
        handle = w.register_hook(lambda g: g * 2)
        (found,) = torch.autograd.grad(w.sum(), w)
        handle.remove()
        return found

    def kept(w: Any) -> Any:
        middle = w * 2
        middle.retain_grad()
        (middle * 3).sum().backward()
        return middle.grad

    def backed(run: Any) -> Any:
        run()
        return names["w"].grad

    def old(function: Any) -> Any:
        def call(*args: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(*args)

        return call

    x, y = random(1, 3, 4), random(2, 3, 4)
    names: dict[str, Any] = {
        "torch": torch, "nn": nn, "F": nn.functional, "numpy": np, "x": x, "y": y,
        "p": random(3, 3, 4).abs() + 0.5, "i": torch.tensor([[0, 3, 1, 2], [2, 2, 0, 1], [3, 0, 1, 1]]),
        "m": torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]]), "v": random(4, 4),
        "s": random(5, 4, 4), "z": torch.tensor([1 + 2j, -0.5j]), "img": random(6, 2, 4, 6, 6),
        "seq": random(7, 5, 2, 4), "w": random(8, 3, 4).requires_grad_(), "e": lambda *shape: torch.zeros(*shape),
        "c": lambda t: t.clone(),
        "made": made, "saved": saved, "graded": graded, "trained": trained, "rates": rates, "cast": cast,
        "hooked": hooked, "kept": kept, "backed": backed, "old": old,
    }  # fmt: skip
    return names


def plain(value: Any) -> Any:
    """Returns a result in JSON form, with dtype and shape for tensors."""
    if hasattr(value, "detach"):
        numbers = value.detach()
        listed = numbers.reshape(-1).tolist()
        flat = [[v.real, v.imag] if isinstance(v, complex) else v for v in listed]
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": rounded(flat)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return str(value)


def rounded(value: Any) -> Any:
    """Rounds to the digits of float32; non-finite values become text."""
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def results(torch: Any) -> dict[str, Any]:
    """Returns each expression's result or error; each starts from the same seed and new tensors."""
    found = {}
    for text in EXPRESSIONS:
        torch.manual_seed(0)
        try:
            found[text] = plain(eval(text, given(torch)))
        except Exception as error:
            found[text] = f"{type(error).__name__}: {error}"
    return found


#: How the names of a module or class are written.
WRITTEN = {"": "torch", "nn.functional": "F", "Tensor": ""} | {
    place: place for place in ("nn", "nn.init", "nn.utils", "nn.utils.rnn", "nn.parallel")
}


def called(place: str, name: str) -> bool:
    """Returns true if an expression uses a name of a module or class."""
    owner = WRITTEN.get(place, f"torch.{place}")
    return re.search(rf"{re.escape(owner)}\.{name}\b", LINES) is not None


def near(ours: Any, theirs: Any) -> bool:
    """Returns true if the values are equal up to float32 rounding."""
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and all(near(ours.get(key), value) for key, value in theirs.items())
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(near, ours, theirs))
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return abs(ours - theirs) <= 2e-5 * max(1.0, abs(theirs))
    return type(ours) is type(theirs) and bool(ours == theirs)


if __name__ == "__main__":
    import cuprous.torch
    from cuprous import _core

    _core.set_device("cpu")
    warnings.simplefilter("ignore")
    print(json.dumps(results(cuprous.torch)))
