"""Results stay on the device of their operands: CPU tensors, while the default device is another one.

A GPU under test is the default device, otherwise a second CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.conftest import DEVICE
from tests.torch import layers, test_functions, test_gradients


@pytest.fixture(autouse=True)
def _elsewhere() -> Iterator[None]:
    torch.set_default_device("cpu")
    if DEVICE == "cpu":
        _core.set_device(_core.stand_in_device())
    yield
    _core.set_device(DEVICE)


def at_home(found: Any) -> None:
    for t in layers.tensors(found) if isinstance(found, (tuple, list)) else [found]:
        assert t.device_name == "cpu"


@pytest.mark.parametrize("row", layers.LAYERS + layers.FUNCTIONS, ids=lambda row: row[0])
def test_layers(row: tuple[Any, ...]) -> None:
    found = layers.results(torch, row, row in layers.LAYERS)
    at_home(found["outputs"])
    at_home(found["gradients"])


@pytest.mark.parametrize("name", test_gradients.RULES)
def test_rules(name: str) -> None:
    function, shapes = test_gradients.RULES[name]
    torch.set_default_dtype(torch.float64)
    given = test_gradients.inputs(*shapes)
    found = function(*given)
    at_home(found)
    found.sum().backward()
    at_home([x.grad for x in given if x.grad is not None])


@pytest.mark.parametrize("name", test_functions.TABLE)
def test_functions_of_tables(name: str) -> None:
    at_home(test_functions.TABLE[name][0](torch.tensor))


S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])

#: Functions of a positive matrix, a vector and integers that no other table has.
REST: dict[str, Callable[[Any, Any, Any], Any]] = {
    "zeros": lambda s, v, k: [torch.zeros(2), torch.ones(2), torch.empty(2), torch.full((2,), 1.5), torch.eye(3)],
    "ranges": lambda s, v, k: [torch.arange(3), torch.arange(0.0, 1.0, 0.3), torch.linspace(0, 1, 3),
                               torch.logspace(0, 1, 3)],
    "random": lambda s, v, k: [torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.randperm(4),
                               torch.normal(0.0, 1.0, (2,)), torch.bernoulli(v.abs() / 10),
                               torch.multinomial(v.abs(), 2), torch.poisson(v.abs())],
    "like": lambda s, v, k: [torch.zeros_like(v), torch.randn_like(v), torch.randint_like(k, 3), v.new_tensor([1])],
    "tensor": lambda s, v, k: [torch.tensor([1, 2]), torch.as_tensor([1.0]), torch.from_numpy(np.ones(2))],
    "nonzero": lambda s, v, k: [k.nonzero(), *torch.nonzero(k, as_tuple=True), torch.argwhere(k)],
    "unique": lambda s, v, k: [*torch.unique(k, return_inverse=True, return_counts=True),
                               *torch.unique_consecutive(k, return_counts=True)],
    "bincount": lambda s, v, k: [torch.bincount(k), torch.bincount(k, minlength=9)],
    "searchsorted": lambda s, v, k: [torch.searchsorted(v.sort().values, v), torch.bucketize(v, v.sort().values)],
    "sort": lambda s, v, k: [*v.sort(), v.argsort(), *v.topk(2), *v.kthvalue(2), v.median(), v.msort()],
    "indexing": lambda s, v, k: [s[k % 3], s[[0, 2]], s[s > 1], s[:, [True, False, True]], v[..., None], s[1, k % 3]],
    "writing": lambda s, v, k: [write(s.clone(), k)],
    "scatter_reduce": lambda s, v, k: [v.scatter_reduce(0, k % 3, v, how) for how in ("prod", "amax", "amin")],
    "linalg": lambda s, v, k: [
        torch.linalg.inv(s), torch.linalg.det(s), *torch.linalg.slogdet(s), torch.linalg.cholesky(s),
        *torch.linalg.qr(s), *torch.linalg.svd(s), *torch.linalg.eigh(s), *torch.linalg.eig(s),
        torch.linalg.solve(s, v), torch.linalg.lstsq(s, v[:, None]).solution, torch.linalg.pinv(s),
        torch.linalg.matrix_power(s, 3), torch.linalg.matrix_rank(s), torch.linalg.norm(s), torch.linalg.cond(s),
        torch.linalg.solve_triangular(s.tril(), v[:, None], upper=False),
    ],
    "fft": lambda s, v, k: [torch.fft.fft(v), torch.fft.rfft2(s), torch.fft.irfft(torch.fft.rfft(v), 3),
                            torch.fft.fftfreq(4), torch.fft.fftshift(v)],
    "distributions": lambda s, v, k: [torch.distributions.Normal(v, 1.0).sample(),
                                      torch.distributions.Categorical(v.abs()).sample(),
                                      torch.distributions.Normal(0.0, 1.0).log_prob(v)],
    "masks": lambda s, v, k: [torch.nn.Transformer.generate_square_subsequent_mask(3), torch.ones(3, 3).tril()],
    "packed": lambda s, v, k: [torch.nn.utils.rnn.pack_sequence([v, v[:2]]).data,
                               torch.nn.utils.rnn.pad_sequence([v, v[:2]])],
    "func": lambda s, v, k: [torch.func.grad(lambda x: (x * x).sum())(v), torch.func.vmap(torch.sum)(s),
                             torch.autograd.functional.hessian(lambda x: (x**3).sum(), v)],
    "one_hot": lambda s, v, k: [torch.nn.functional.one_hot(k)],
    "clipping": lambda s, v, k: [clipped(v)],
}  # fmt: skip


def write(s: Any, k: Any) -> Any:
    s[0] = 1.0
    s[k % 3] = 2.0
    s[s > 3] = 0.0
    s[[0, 1], [1, 2]] = torch.tensor([5.0, 6.0], dtype=s.dtype)
    s.masked_fill_(s > 5, 1.0).index_add_(0, k % 3, s.clone())
    return s


def clipped(v: Any) -> Any:
    p = torch.nn.Parameter(v.clone())
    optimizer = torch.optim.AdamW([p])
    (p * p).sum().backward()
    torch.nn.utils.clip_grad_norm_([p], 0.1)
    optimizer.step()
    return p


@pytest.mark.parametrize("name", REST)
def test_other_functions(name: str) -> None:
    at_home(REST[name](torch.tensor(S), torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64), torch.tensor([3, 0, 4])))


def test_loaders() -> None:
    data = torch.utils.data
    loader = data.DataLoader(data.TensorDataset(torch.ones(10, 2), torch.arange(10)), 4, shuffle=True)
    for x, y in loader:
        at_home([x, y])


def test_optimizers() -> None:
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam):
        p = torch.nn.Parameter(torch.ones(3))
        optimizer = make([p], lr=0.1)
        for _ in range(2):
            p.grad = torch.ones(3)
            optimizer.step()
        at_home([p, *(v for v in optimizer.state[p].values() if isinstance(v, torch.Tensor))])


@pytest.mark.parametrize(
    "key",
    [
        lambda i: (i,), lambda i: (i, i), lambda i: (slice(None), i), lambda i: (i > 0,), lambda i: (None, i),
        lambda i: (slice(1, None), i[:, None]), lambda i: (..., i), lambda i: (i[:0],), lambda i: (1, i),
    ],
)  # fmt: skip
def test_keys(key: Callable[[Any], Any]) -> None:
    index = torch.tensor([0, 1, 0])
    items = key(index)
    for x in (
        torch.arange(9.0).reshape(3, 3),
        torch.arange(9.0).reshape(3, 3).t(),
        torch.arange(18.0).reshape(3, 6)[:, ::2],
    ):
        want = x.numpy()[tuple(t.numpy() if isinstance(t, torch.Tensor) else t for t in items)]
        found = x[items]
        at_home(found)
        np.testing.assert_array_equal(found.numpy(), want)
        written = x.clone()
        written[items] = 5.0
        at_home(written)
        assert (written[items] == 5).all()
        if all(isinstance(t, torch.Tensor) for t in items):
            put = x.index_put(items, torch.tensor(1.0), accumulate=True)
            at_home(put)
            assert put.sum() == x.sum() + want.size
