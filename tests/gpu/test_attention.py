"""Compares attention by cuDNN with its formula."""

from __future__ import annotations

from typing import Any

import pytest

import cuprous.torch as torch
from cuprous.torch.nn.attention import SDPBackend, sdpa_kernel

F = torch.nn.functional
FUSED, FORMULA = SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH


@pytest.fixture(autouse=True)
def _by_cudnn() -> None:
    if not torch.backends.cudnn.is_available():
        pytest.skip("cuDNN is not installed")


def run(how: SDPBackend, parts: list[Any], **options: Any) -> list[Any]:
    """Returns the outputs and the gradients of q, k and v in float32."""
    parts = [p.detach().clone().requires_grad_(True) for p in parts]
    if how is FORMULA:  # the exact formula of the rounded inputs
        leaves, parts = parts, [p.float() for p in parts]
    else:
        leaves = parts
    with sdpa_kernel(how):
        out = F.scaled_dot_product_attention(*parts, **options)
    weights = torch.arange(out.numel(), device="cuda").reshape(out.shape) % 7 - 3
    (out.float() * weights).sum().backward()
    return [out.detach().float(), *(p.grad.float() for p in leaves)]


def close(ours: list[Any], theirs: list[Any], dtype: Any) -> None:
    bound = 0.03 if dtype is torch.bfloat16 else 0.004
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert float((a - b).abs().max()) <= bound * float(b.abs().max())


def draw(shape: tuple[int, ...], dtype: Any) -> Any:
    return torch.randn(*shape, device="cuda").to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys", "width", "depth"), [
    (64, 64, 64, 64), (128, 96, 32, 32), (77, 77, 64, 64), (33, 200, 128, 128), (256, 256, 8, 8), (64, 64, 64, 32),
])  # fmt: skip
def test_values_and_gradients(dtype: Any, causal: bool, queries: int, keys: int, width: int, depth: int) -> None:
    torch.manual_seed(2)
    rows = ((queries, width), (keys, width), (keys, depth))
    parts = [draw((2, 3, *shape), dtype) for shape in rows]
    close(run(FUSED, parts, is_causal=causal), run(FORMULA, parts, is_causal=causal), dtype)
    close(run(FUSED, parts, scale=0.3), run(FORMULA, parts, scale=0.3), dtype)


def test_views_of_one_array_are_not_copied() -> None:
    torch.manual_seed(3)
    b, t, h, d = 2, 96, 4, 64
    whole = draw((b, t, 3 * h * d), torch.bfloat16)
    results = []
    for how in (FUSED, FORMULA):
        x = whole.detach().clone().requires_grad_(True)
        wide = x if how is FUSED else x.float()
        with sdpa_kernel(how):
            out = F.scaled_dot_product_attention(*wide.view(b, t, 3, h, d).permute(2, 0, 3, 1, 4), is_causal=True)
        mixed = out.transpose(1, 2).reshape(b, t, h * d).float()
        (mixed * mixed).sum().backward()
        results.append([mixed.detach(), x.grad.float()])
    close(*results, torch.bfloat16)


def drawn_mask(shape: tuple[int, ...], kind: str) -> Any:
    """Returns a mask: bool with a row that is masked entirely, or numbers of which some are infinite."""
    mask = torch.rand(*shape, device="cuda") < 0.7
    if kind == "numbers":
        return torch.where(mask, torch.randn(*shape, device="cuda"), -torch.inf)
    mask[..., shape[-2] // 2, :] = False
    return mask


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", ["bool", "numbers"])
@pytest.mark.parametrize("shape", [(2, 1, 1, 96), (1, 3, 64, 96), (2, 3, 64, 96), (64, 96), (2, 1, 64, 75)], ids=str)
def test_masks(dtype: Any, kind: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(6)
    mask = drawn_mask(shape, "numbers" if shape[-2] == 1 else kind)
    mask = mask if mask.dtype == torch.bool else mask.to(dtype)
    parts = [draw((2, 3, rows, 64), dtype) for rows in (64, shape[-1], shape[-1])]
    for causal in (False, True):
        exact = mask if mask.dtype == torch.bool else mask.float()
        close(
            run(FUSED, parts, attn_mask=mask, is_causal=causal),
            run(FORMULA, parts, attn_mask=exact, is_causal=causal),
            dtype,
        )


@pytest.mark.parametrize("masked", [False, True])
def test_inference(masked: bool) -> None:
    torch.manual_seed(7)
    parts = [draw((4, 8, 512, 64), torch.bfloat16) for _ in range(3)]
    options = {"attn_mask": drawn_mask((4, 1, 512, 512), "bool")} if masked else {}
    results = []
    with torch.no_grad():
        for how, operands in ((FUSED, parts), (FORMULA, [p.float() for p in parts])):
            with sdpa_kernel(how):
                results.append([F.scaled_dot_product_attention(*operands, **options).float()])
    close(*results, torch.bfloat16)


def test_other_layouts_and_repeated_heads() -> None:
    torch.manual_seed(4)
    q = draw((2, 8, 64, 64), torch.float16)
    k, v = draw((2, 2, 64, 64), torch.float16), draw((2, 64, 2, 64), torch.float16).transpose(1, 2)
    options = {"is_causal": True, "enable_gqa": True}
    close(run(FUSED, [q, k, v], **options), run(FORMULA, [q, k, v], **options), torch.float16)


def test_unsupported_cases_use_the_formula() -> None:
    slope = torch.zeros(8, 8, device="cuda", dtype=torch.float16).requires_grad_(True)
    for parts, options in [
        ([draw((1, 2, 5, 12), torch.float16)] * 3, {}),  # the number of features is not a multiple of eight
        ([draw((1, 2, 5, 16), torch.float32).requires_grad_(True)] * 3, {}),  # its own kernel has no gradient
        ([draw((1, 2, 5, 16), torch.float32)] * 3, {"dropout_p": 0.5}),
        ([draw((1, 2, 8, 16), torch.float16)] * 3, {"attn_mask": slope}),
        ([draw((2, 5, 16), torch.float16)] * 3, {}),
    ]:
        out = F.scaled_dot_product_attention(*parts, **options)
        assert out.dtype == parts[0].dtype and bool(out.detach().isfinite().all())
        with sdpa_kernel([FUSED]), pytest.raises(RuntimeError, match="No available kernel"):
            F.scaled_dot_product_attention(*parts, **options)


def test_runs_repeat_to_the_bit_and_replay() -> None:
    torch.manual_seed(5)
    parts = [draw((2, 4, 256, 64), torch.bfloat16) for _ in range(3)]
    first = run(FUSED, parts, is_causal=True)
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(first, run(FUSED, parts, is_causal=True), strict=True))


def test_second_derivatives_say_what_to_do() -> None:
    q = draw((1, 2, 16, 16), torch.float16).requires_grad_(True)
    out = F.scaled_dot_product_attention(q, q, q)
    with pytest.raises(NotImplementedError, match=r"sdpa_kernel\(SDPBackend.MATH\)"):
        torch.autograd.grad(out.sum(), q, create_graph=True)
    with sdpa_kernel(FORMULA):
        out = F.scaled_dot_product_attention(q, q, q)
    (grad,) = torch.autograd.grad(out.float().sum(), q, create_graph=True)
    assert grad.requires_grad
