"""einops recognizes Cuprous arrays, whichever of the two is imported first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.robust.helpers import output
from tests.support import assert_same

einops = pytest.importorskip("einops", reason="einops is not installed (requirements-clients.txt)")

SPLIT = {"h2": 2}
CALLS: dict[str, Callable[[Any], Any]] = {
    "rearrange": lambda x: einops.rearrange(x, "b c h w -> b (h w) c"),
    "rearrange split": lambda x: einops.rearrange(x, "b c (h h2) w -> (b h2) c h w", **SPLIT),
    "rearrange list": lambda x: einops.rearrange([x, x + 1], "n b c h w -> b c h (n w)"),
    "repeat": lambda x: einops.repeat(x, "b c h w -> b c (h r) w k", r=2, k=3),
    **{
        f"reduce {name}": lambda x, name=name: einops.reduce(x, "b c (h h2) w -> b c h w", name, **SPLIT)
        for name in ("sum", "mean", "max", "min", "prod")
    },
    "reduce any": lambda x: einops.reduce(x > 50, "b c h w -> b c", "any"),
    "reduce all": lambda x: einops.reduce(x > 50, "b c h w -> b c", "all"),
    "einsum": lambda x: einops.einsum(x, x, "b c h w, b c h k -> b w k"),
    "pack": lambda x: einops.pack([x, x[..., 0]], "b c h *")[0],
    "unpack": lambda x: einops.unpack(x, [(2,), (3,)], "b c h *"),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_as_numpy(call: Callable[[Any], Any], dtype: str) -> None:
    x = np.arange(2 * 3 * 4 * 5, dtype=dtype).reshape(2, 3, 4, 5) / 8
    ours = call(cp.asarray(x))
    assert all(isinstance(part, cp.ndarray) for part in (ours if isinstance(ours, list) else [ours]))
    assert_same(ours, call(x), rtol=1e-6)


def test_to_numpy_and_back() -> None:
    x = cp.arange(6).reshape(2, 3)
    assert isinstance(einops.asnumpy(x), np.ndarray)
    assert einops.parse_shape(x, "a b") == {"a": 2, "b": 3}


def test_errors_are_einops_own() -> None:
    with pytest.raises(einops.EinopsError):
        einops.rearrange(cp.ones((2, 3)), "a b c -> c b a")


def test_mean_of_bfloat16() -> None:
    x = cp.ones((4, 4), dtype="bfloat16")
    assert einops.reduce(x, "a b -> a", "mean").dtype_name == "bfloat16"


def test_array_api_module() -> None:
    import einops.array_api as by_namespace

    x = np.arange(24.0).reshape(2, 3, 4)
    assert_same(by_namespace.reduce(cp.asarray(x), "a b c -> c a", "max"), einops.reduce(x, "a b c -> c a", "max"))
    assert_same(by_namespace.rearrange(cp.asarray(x), "a b c -> (a c) b"), einops.rearrange(x, "a b c -> (a c) b"))


@pytest.mark.parametrize("imports", ["einops, cuprous", "cuprous, einops"])
def test_order_of_imports(imports: str) -> None:
    code = f"import {imports}\nprint(einops.reduce(cuprous.ones((2, 3)), 'a b -> a', 'sum').shape)"
    assert output(code) == "(2,)"


def test_importing_cuprous_imports_no_client() -> None:
    code = "import sys, cuprous\nprint({'einops', 'dask', 'numpy'} & set(sys.modules))"
    assert output(code) == "set()"


def test_a_client_that_changed_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed registration is a warning, not a failed import of the client."""
    from types import ModuleType

    from cuprous import _clients

    changed = ModuleType("einops._backends")  # without the class that ours derives from
    with pytest.warns(RuntimeWarning, match="could not be registered with einops"):
        _clients.register(changed)


def test_tensors_and_layers() -> None:
    import cuprous.torch as torch
    from cuprous.torch.einops import EinMix, Rearrange, Reduce

    host = np.arange(24.0).reshape(2, 3, 4)
    x = torch.tensor(host, requires_grad=True)
    y = einops.rearrange(x, "a b c -> b (a c)")
    (y * 2).sum().backward()
    assert isinstance(y, torch.Tensor) and float(x.grad.min()) == float(x.grad.max()) == 2
    np.testing.assert_array_equal(y.detach().cpu().numpy(), einops.rearrange(host, "a b c -> b (a c)"))
    assert einops.repeat(x, "a b c -> a b c 2").shape == (2, 3, 4, 2)
    net = torch.nn.Sequential(
        Rearrange("a b c -> a (b c)"), torch.nn.Linear(12, 2), Reduce("a c -> a", "mean")
    ).double()
    assert net(x).shape == (2,) and repr(net[0]) == "Rearrange('a b c -> a (b c)')"
    mix = EinMix("a b c -> a b d", weight_shape="c d", bias_shape="d", c=4, d=5).double()
    expected = host @ mix.weight.detach().cpu().numpy() + mix.bias.detach().cpu().numpy()
    np.testing.assert_allclose(mix(x).detach().cpu().numpy(), expected, rtol=1e-12)
