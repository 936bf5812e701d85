"""Every keyword that PyTorch documents is accepted: signatures.txt has its signatures."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import cuprous.torch as torch

#: One function, method or class a line: its path below `torch`, and the names of its parameters in PyTorch 2.11
#: (make_signatures.py).
SIGNATURES = {
    path: names.split()
    for path, _, names in (
        line.partition(": ") for line in Path(__file__).with_name("signatures.txt").read_text().splitlines()
    )
}
#: How Python and the extension say that they do not know a keyword.
REFUSAL = re.compile(r"unexpected keyword|takes no keyword|takes no arg|invalid keyword|positional-only")
#: Functions that begin processes, load files or keep what they are given without a look at it.
NOT_CALLED = re.compile(r"multiprocessing\.|hub\.|cuda\.|(.*\.)?(set|use)_|autograd\.detect_anomaly")


def _found(path: str) -> Any:
    owner, _, name = path.rpartition(".")
    try:
        place = functools.reduce(getattr, owner.split(".") if owner else [], torch)
    except AttributeError:
        place = importlib.import_module(f"cuprous.torch.{owner}")
    return getattr(place, name)


def _existing() -> list[str]:
    found = []
    for path in SIGNATURES:
        try:
            value = _found(path)
        except (AttributeError, ImportError):
            continue
        if not hasattr(value, "unsupported"):  # a placeholder, which refuses every call
            found.append(path)
    return found


EXISTING = [path for path in _existing() if not NOT_CALLED.match(path)]


def _is_refused(path: str, name: str) -> bool:
    """Returns true if a function does not know a keyword. What it gets for it is nothing that it could use."""
    bound = (torch.ones(2, 2),) if path.startswith("Tensor.") else ()
    function = _found(path)
    try:
        function(*bound, **{name: object()})
    except TypeError as error:
        return REFUSAL.search(str(error)) is not None
    except Exception:
        return False
    return False


@pytest.fixture(autouse=True)
def _settings() -> Any:
    yield
    torch.set_default_device(None)


def test_documented_keywords_are_known() -> None:
    refused = {path: [name for name in SIGNATURES[path] if _is_refused(path, name)] for path in EXISTING}
    assert {path: names for path, names in refused.items() if names} == {}


def test_most_documented_functions_exist() -> None:
    assert len(SIGNATURES) > 1750
    assert len(EXISTING) > 0.85 * len(SIGNATURES)


def test_an_unknown_keyword_is_refused() -> None:
    for path in ("add", "Tensor.sum", "nn.Linear", "linalg.svd", "batch_norm", "optim.Adam", "fft.fft"):
        assert _is_refused(path, "no_such_keyword"), path


def test_numpys_names_are_accepted_beside_pytorchs() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert torch.sum(x, axis=1, keepdims=True).tolist() == [[3.0], [12.0]]
    assert x.mean(axis=0).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        torch.sum(x, dim=0, axis=0)
    with pytest.raises(TypeError):
        torch.sum(x, axes=0)


def test_out_is_written() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0]])
    values, indices = torch.empty(1, 3), torch.empty(1, 3, dtype=torch.long)
    result = torch.sort(x, out=(values, indices))
    assert result.values is values and indices.tolist() == [[1, 2, 0]] and values.tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(RuntimeError, match="out has shape"):
        torch.index_select(x, 1, indices[0], out=torch.empty(2, 2))


def test_out_gives_memory_to_an_empty_tensor() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0]])
    out = torch.empty(0)
    assert torch.add(x, 1, out=out) is out and out.tolist() == [[4.0, 2.0, 3.0]]
    assert torch.softmax(x * 0, 1, out=torch.empty(0)).shape == (1, 3)


def test_out_of_new_tensors() -> None:
    out = torch.ones(3, dtype=torch.float64)
    assert torch.zeros(3, out=out) is out and out.tolist() == [0.0, 0.0, 0.0]
    assert torch.arange(3, out=out) is out and out.dtype is torch.float64 and out.tolist() == [0.0, 1.0, 2.0]
    assert torch.logspace(0, 2, 3, out=out).tolist() == [1.0, 10.0, 100.0]
    assert 0 <= float(torch.rand(3, out=out).min()) < 1
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        torch.zeros(3, dtype=torch.float32, out=out)
    with pytest.raises(RuntimeError, match="pass one of them"):
        torch.zeros(3, out=out, pin_memory=True)


def test_out_of_decompositions() -> None:
    A = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    outs = torch.empty(2), torch.empty(2, 2)
    found = torch.linalg.eigh(input=A, out=outs)
    assert found.eigenvalues is outs[0] and outs[0].tolist() == [2.0, 3.0]
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.long)
    assert torch.max(A, axis=1, out=(values, indices)).values is values and indices.tolist() == [0, 1]


def test_layers_of_torch_take_arguments_in_native_order() -> None:
    table, rows = torch.tensor([[1.0], [2.0]]), torch.tensor([1, 0])
    assert torch.embedding(table, rows).tolist() == [[2.0], [1.0]]
    assert torch.embedding(indices=rows, weight=table, padding_idx=-1).tolist() == [[2.0], [1.0]]
    x, weight = torch.tensor([[0.0], [2.0]]), torch.tensor([3.0])
    mean, var = torch.zeros(1), torch.ones(1)
    assert torch.batch_norm(x, weight, None, mean, var, False, 0.1, 0.0, True).tolist() == [[0.0], [6.0]]
    assert torch.dropout(x, 0.5, train=False) is not None
    assert float(torch.kl_div(torch.zeros(2), torch.ones(2), reduction=2)) == 0.0
    assert torch.hinge_embedding_loss(torch.tensor([0.25]), torch.tensor([-1]), reduction=0).tolist() == [0.75]
    with pytest.raises(NotImplementedError, match=r"nn\.functional\.embedding_bag"):
        torch.embedding_bag(table, rows, rows)


def test_results_follow_the_driver_of_least_squares() -> None:
    A, B = torch.eye(3)[:, :2].contiguous(), torch.ones(3, 1)
    lengths = {
        driver: tuple(int(part.numel()) for part in torch.linalg.lstsq(A, B, driver=driver)[1:])
        for driver in ("gels", "gelsy", "gelsd", "gelss")
    }
    assert lengths == {"gels": (1, 0, 0), "gelsy": (0, 1, 0), "gelsd": (1, 1, 2), "gelss": (1, 1, 2)}


def test_tensors_without_dimensions() -> None:
    x = torch.tensor(3.0)
    for found in (torch.median(x, 0), torch.mode(x, 0, True), torch.kthvalue(x, 1)):
        assert found.values.shape == () and float(found.values) == 3.0 and int(found.indices) == 0
    assert x.unfold(0, 1, 1).tolist() == [3.0] and torch.argwhere(x).shape == (1, 0)
    assert torch.inner(x, torch.ones(2)).tolist() == [3.0, 3.0]
    assert torch.index_select(x, 0, torch.tensor([0])).shape == ()
    assert torch.cov(torch.tensor([[1.0, 3.0]])).shape == () and torch.std_mean(torch.ones(2, 2), True)[1].shape == ()


def test_half_spectra() -> None:
    signal = torch.arange(32.0)
    whole = torch.stft(signal, 8, window=torch.ones(8), onesided=False, return_complex=True)
    assert torch.allclose(torch.istft(whole, 8, window=torch.ones(8)), signal, atol=1e-4)
    bent = whole.clone()
    bent[5:] = 0  # what follows the first half of the frequencies is not read
    assert torch.allclose(torch.istft(bent, 8, window=torch.ones(8)), signal, atol=1e-4)
