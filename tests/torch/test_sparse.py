"""Sparse tensors: compares with dense ones and SciPy, and derivatives with differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import cuprous.torch as torch

RANDOM = np.random.RandomState(0)
NUMBERS, FACTORS = RANDOM.randn(6), RANDOM.randn(5, 3)
KINDS = ["coo", "coalesced", "csr", "csc"]


def positions() -> Any:
    return torch.tensor([[0, 1, 1, 3, 0, 1], [2, 0, 2, 1, 2, 4]])  # (0, 2) twice


def made(kind: str, values: Any = None) -> Any:
    values = torch.tensor(NUMBERS) if values is None else values
    found = torch.sparse_coo_tensor(positions(), values, (4, 5))
    if kind == "coalesced":
        return found.coalesce()
    return found if kind == "coo" else found.to_sparse(layout=getattr(torch, f"sparse_{kind}"))


def dense() -> Any:
    values, (rows, columns) = torch.tensor(NUMBERS), positions()
    return torch.zeros(4, 5).to(values.dtype).index_put((rows, columns), values, accumulate=True)


def near(ours: Any, wanted: Any) -> None:
    plain = ours.to_dense() if ours.layout != torch.strided else ours
    np.testing.assert_allclose(plain.detach().cpu().numpy(), wanted.detach().cpu().numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_products(kind: str) -> None:
    x, y = made(kind), dense()
    left, vector = torch.tensor(RANDOM.randn(2, 4)), torch.tensor(RANDOM.randn(5))
    for ours in (
        x @ torch.tensor(FACTORS),
        torch.mm(x, torch.tensor(FACTORS)),
        torch.sparse.mm(x, torch.tensor(FACTORS)),
        torch.matmul(x, torch.tensor(FACTORS)),
        x.matmul(torch.tensor(FACTORS)),
    ):
        near(ours, y @ torch.tensor(FACTORS))
    near(left @ x, left @ y)
    near(x @ vector, y @ vector)
    near(torch.mv(x, vector), y @ vector)
    near(x.t() @ left.mT, y.t() @ left.mT)
    near(
        torch.sparse.addmm(torch.ones(4, 3).double(), x, torch.tensor(FACTORS), beta=2.0, alpha=0.5),
        2 + 0.5 * (y @ torch.tensor(FACTORS)),
    )
    near(torch.sparse.mm(x, x.t()), y @ y.t())
    assert torch.sparse.mm(x, x.t()).layout in (torch.sparse_coo, torch.sparse_csr)
    with pytest.raises(RuntimeError, match="Expected dim 0 size 5, got 3"):
        x @ torch.ones(3, 3).double()
    with pytest.raises(RuntimeError, match="same dtype"):
        x @ torch.tensor(FACTORS).float()


@pytest.mark.parametrize("kind", KINDS)
def test_elements(kind: str) -> None:
    x, y = made(kind), dense()
    other = torch.tensor(RANDOM.randn(4, 5))
    near(x + x, 2 * y)
    near(x - 3 * x, -2 * y)
    near(-x, -y)
    near(x * x, y * y)
    near(x * other, y * other)
    near(other + x, other + y)
    near(x / 2, y / 2)
    near(x.sin(), y.sin())
    near(torch.abs(x), y.abs())
    near(x**2, y**2)
    near(x.float().double(), y.float().double())
    near(x.sum(), y.sum())
    near(torch.sparse.sum(x, 0), y.sum(0))
    near(x.norm(), y.norm())
    near(torch.zeros_like(x), y * 0)
    near(other.sparse_mask(x), other * (y != 0)) if kind != "coo" else None
    assert x.dtype == torch.float64 and x.shape == (4, 5) and x.numel() == 20 and isinstance(x, torch.Tensor)
    assert torch.is_tensor(x) and x.is_sparse == (kind in KINDS[:2]) and x.is_sparse_csr == (kind == "csr")


@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind: str) -> None:
    x, y = made(kind), dense()
    theirs = scipy.sparse.csr_array(y.cpu().numpy())
    csr = x.to_sparse_csr()
    assert csr.crow_indices().tolist() == theirs.indptr.tolist()
    assert csr.col_indices().tolist() == theirs.indices.tolist()
    np.testing.assert_allclose(csr.values().cpu().numpy(), theirs.data)
    csc, columns = x.to_sparse_csc(), theirs.tocsc()
    assert csc.ccol_indices().tolist() == columns.indptr.tolist()
    assert csc.row_indices().tolist() == columns.indices.tolist()
    coo = x.to_sparse().coalesce()
    assert coo.is_coalesced() and coo.indices().tolist() == [list(part) for part in theirs.tocoo().coords]
    near(x.transpose(0, 1), y.T)
    near(x.unsqueeze(0), y.unsqueeze(0))
    near(torch.cat([x, x], 1), torch.cat([y, y], 1))
    near(torch.stack([x, x]), torch.stack([y, y]))
    near(torch.index_select(x, 0, torch.tensor([1, 0, 1])), y[[1, 0, 1]])
    near(x[1], y[1])
    assert float(x[1][2]) == float(y[1, 2])
    assert "layout=torch.sparse_" in repr(x) and "nnz=" in repr(x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("complex_numbers", [False, True])
def test_gradients(kind: str, complex_numbers: bool) -> None:
    values = (
        (torch.tensor(NUMBERS) + 1j * torch.tensor(NUMBERS).flip(0) if complex_numbers else torch.tensor(NUMBERS))
        .clone()
        .requires_grad_()
    )
    other = (
        (torch.tensor(FACTORS) + 0.5j * torch.tensor(FACTORS) if complex_numbers else torch.tensor(FACTORS))
        .clone()
        .requires_grad_()
    )
    torch.autograd.gradcheck(lambda v, d: made(kind, v) @ d, (values, other))
    torch.autograd.gradcheck(lambda v: torch.sparse.mm(made(kind, v), made(kind, v).t()).to_dense(), (values,))
    torch.autograd.gradcheck(lambda v: made(kind, v).to_dense(), (values,))
    if not complex_numbers:
        torch.autograd.gradcheck(lambda v: torch.sparse.softmax(made(kind, v), 1).to_dense(), (values,))
        torch.autograd.gradcheck(lambda v: torch.sparse.log_softmax(made(kind, v), 0).to_dense(), (values,))
        torch.autograd.gradgradcheck(lambda v, d: made(kind, v) @ d, (values, other))


def test_leaves_have_sparse_gradients() -> None:
    x = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3), requires_grad=True)
    weight = torch.ones(3, 2, requires_grad=True)
    (x @ weight).sum().backward()
    assert x.is_leaf and x.grad.layout == torch.sparse_csr and x.grad.values().tolist() == [2.0, 2.0, 2.0]
    assert weight.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [8.0, 8.0]]
    dense_leaf = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (dense_leaf.to_sparse() @ torch.ones(2, 1)).sum().backward()
    assert dense_leaf.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_graph_convolution_trains() -> None:
    torch.manual_seed(0)
    adjacency = torch.sparse_coo_tensor([[0, 1, 2, 3, 0], [1, 0, 3, 2, 0]], torch.ones(5), (4, 4))
    features, targets = torch.eye(4), torch.tensor([0, 0, 1, 1])
    layer = torch.nn.Linear(4, 2)
    layer.register_buffer("adjacency", adjacency)
    optimizer = torch.optim.SGD(layer.parameters(), 1.0)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.spmm(layer.adjacency, layer(features)), targets)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.2 < losses[0]


def test_creation_and_errors() -> None:
    assert torch.sparse_coo_tensor(positions(), torch.tensor(NUMBERS)).shape == (4, 5)
    assert torch.sparse_coo_tensor((2, 3))._nnz() == torch.sparse_coo_tensor(size=(2, 3))._nnz() == 0
    hybrid = torch.sparse_coo_tensor([[0, 2, 0]], torch.tensor(RANDOM.randn(3, 2)), (3, 2))
    assert hybrid.sparse_dim() == hybrid.dense_dim() == 1 and hybrid.coalesce()._nnz() == 2
    near(hybrid, hybrid.coalesce().to_dense())
    near(torch.sparse.sum(hybrid, 1), hybrid.to_dense().sum(1))
    with pytest.raises(RuntimeError, match="uncoalesced"):
        made("coo").indices()
    with pytest.raises(RuntimeError, match="same nnz"):
        torch.sparse_coo_tensor(positions(), torch.tensor(NUMBERS)[:2], (4, 5))
    with (
        pytest.raises(RuntimeError, match="size is 2 but found index 3"),
        torch.sparse.check_sparse_tensor_invariants(),
    ):
        torch.sparse_coo_tensor(positions(), torch.tensor(NUMBERS), (2, 5))
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\)"):
        made("coo") + dense()
    with pytest.raises(TypeError, match="to_dense"):
        made("csr").numpy()
    with pytest.raises(TypeError):
        torch.cos(made("coo"))  # which is not 0 at 0
    with pytest.raises(NotImplementedError, match="blocks"):
        torch.sparse_bsr_tensor([0], [0], [0])
    diagonals = torch.sparse.spdiags(torch.arange(9).reshape(3, 3), torch.tensor([0, -1, 1]), (3, 4))
    theirs = scipy.sparse.spdiags(np.arange(9).reshape(3, 3), [0, -1, 1], 3, 4).toarray()
    assert diagonals.to_dense().tolist() == theirs.tolist()
    sampled = torch.sparse.sampled_addmm(made("csr"), torch.ones(4, 2).double(), torch.ones(2, 5).double(), beta=0.5)
    near(sampled, 0.5 * dense() + 2 * (dense() != 0))
