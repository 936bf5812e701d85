"""Every function of the table of `autocast` computes in the dtype of its policy, however it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous import _core
from cuprous.torch import _autocast, _pointwise
from cuprous.torch.nn import _recurrent
from tests.conftest import DEVICE

F = torch.nn.functional
GPU = DEVICE if DEVICE != "cpu" else _core.stand_in_device()
#: Functions that the layers use, which are not public.
INTERNAL = {"direction", "together"}
#: Functions whose policy the native module applies.
NATIVE = {name for name, policy in _autocast.POLICIES.items() if policy.endswith("unless a dtype is given")}
NATIVE |= _autocast.POLICIES.keys() & (_pointwise.UNARY | _pointwise.BINARY)

#: Functions whose arguments are not a single matrix, with their arguments, given a matrix x and four class numbers i.
CALLS: list[tuple[str, Callable[[Any, Any], tuple[Any, ...]]]] = [
    ("binary_cross_entropy binary_cross_entropy_with_logits cdist cosine_similarity dist hinge_embedding_loss",
     lambda x, i: (x, x)),
    ("huber_loss kl_div l1_loss poisson_nll_loss polar smooth_l1_loss soft_margin_loss tensordot", lambda x, i: (x, x)),
    ("chain_matmul", lambda x, i: (x, x)),
    ("addmm margin_ranking_loss scaled_dot_product_attention triplet_margin_loss", lambda x, i: (x, x, x)),
    ("cumprod cumsum log_softmax softmax softmin", lambda x, i: (x, 0)),
    ("multi_margin_loss nll_loss", lambda x, i: (x, i)),
    ("layer_norm rms_norm", lambda x, i: (x, (4,))),
    ("group_norm pow", lambda x, i: (x, 2)),
    ("conv1d conv_transpose1d", lambda x, i: (x[None], x[:, :, None])),
    ("conv2d conv_transpose2d", lambda x, i: (x[None, :, :, None], x[:, :, None, None])),
    ("conv3d conv_transpose3d", lambda x, i: (x[None, :, :, None, None], x[:, :, None, None, None])),
    ("addmv", lambda x, i: (x[0], x, x[0])),
    ("baddbmm", lambda x, i: (x[None], x[None], x[None])),
    ("bilinear", lambda x, i: (x, x, x[None])),
    ("cosine_embedding_loss", lambda x, i: (x, x, i * 0 + 1)),
    ("cross", lambda x, i: (x[:, :3], x[:, 1:])),
    ("ctc_loss", lambda x, i: (x[:, None], i[None, :1] + 1, i[:1] + 4, i[:1] + 1)),
    ("dot", lambda x, i: (x[0], x[0])),
    ("einsum", lambda x, i: ("ij,jk->ik", x, x)),
    ("grid_sample", lambda x, i: (x[None, None], x.reshape(1, 2, 4, 2))),
    ("multilabel_margin_loss", lambda x, i: (x[0], i)),
    ("prelu", lambda x, i: (x, x[0])),
    ("nanquantile quantile", lambda x, i: (x, 0.5)),
    ("renorm", lambda x, i: (x, 2, 0, 1.0)),
    ("scatter_add", lambda x, i: (x[0], 0, i, x[1])),
]  # fmt: skip
ARGUMENTS = {name: call for names, call in CALLS for name in names.split()}


def arguments(name: str, device: str, dtype: Any) -> tuple[Any, ...]:
    x = (torch.arange(16, device=device).reshape(4, 4) / 32 + 0.25).to(dtype)
    return ARGUMENTS.get(name, lambda x, i: (x,))(x, torch.arange(4, device=device) % 4)


def public(name: str) -> list[Any]:
    """The public function, its alias in `nn.functional` and the method."""
    return [getattr(owner, name) for owner in (torch, F, torch.Tensor) if hasattr(owner, name)]


def policies(function: Any) -> int:
    """The number of policies that are applied, one around another."""
    code = getattr(function, "__code__", None)
    here = code is not None and code.co_filename == _autocast.__file__
    inner = getattr(function, "__wrapped__", None) or getattr(function, "forwards_to", None)
    return here + (policies(inner) if inner else 0)


@pytest.mark.parametrize("name", sorted(_autocast.POLICIES))
def test_policy_is_applied_once(name: str) -> None:
    functions = [getattr(_recurrent, name)] if name in INTERNAL else public(name)
    assert functions
    for f in functions:
        assert policies(f) == (name not in NATIVE)


@pytest.mark.parametrize("name", sorted(_autocast.POLICIES.keys() - INTERNAL))
def test_dtype_of_every_function(name: str) -> None:
    policy = _autocast.POLICIES[name]
    for device in {"cpu", GPU}:
        kind = "cpu" if device == "cpu" else "cuda"
        applies = not policy.startswith(f"float32 on {'GPUs' if kind == 'cpu' else 'CPUs'}")
        for f in public(name):
            dtype = torch.float32 if policy == "half" else torch.bfloat16
            with torch.autocast(kind, torch.bfloat16):
                result = f(*arguments(name, device, dtype)).dtype
            if policy == "half":
                assert result is torch.bfloat16
            elif name == "polar":
                assert result is torch.complex64
            elif policy != "widest" and (applies or name != "trace"):  # `trace` is a sum, which has a policy on GPUs
                assert result is (torch.float32 if applies else torch.bfloat16), (device, f)


@pytest.mark.parametrize("name", ["cross", "grid_sample", "scatter_add"])
def test_widest(name: str) -> None:
    for f in public(name):
        args = [list(arguments(name, DEVICE, dtype)) for dtype in (torch.bfloat16, torch.float32)]
        with torch.autocast(DEVICE.split(":")[0], torch.bfloat16):
            assert f(args[0][0], *args[1][1:]).dtype is torch.float32


def test_composites_and_in_place_functions_keep_their_dtype() -> None:
    h = torch.full((2, 2), 0.5, dtype=torch.bfloat16, device=GPU)
    with torch.autocast("cuda", torch.bfloat16):
        for result in (
            h.mean(),
            F.gelu(h),
            torch.sigmoid(h),
            h.clone().exp_(),
            h.clone().pow_(2),
            h.sum(dtype=h.dtype),
        ):
            assert result.dtype is torch.bfloat16
        for result in (h**2, 2**h, h.exp(), torch.pow(2, h), h.sum()):
            assert result.dtype is torch.float32
        out = torch.empty_like(h)
        assert torch.exp(h, out=out) is out
    assert float(out[0, 0]) == pytest.approx(1.6487, abs=0.01)


def test_state_belongs_to_the_thread() -> None:
    import threading

    seen = []
    with torch.autocast("cpu", torch.bfloat16):
        thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]
