"""Parts of PyTorch that other libraries use: `library`, `hub`, `jit`, pytrees, pruning, masks of attention, boxes."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention
from cuprous.torch.nn.utils import prune
from cuprous.torch.utils import _pytree
from cuprous.torchvision import ops, transforms
from tests.conftest import DEVICE

F = nn.functional


@pytest.fixture(autouse=True)
def _default_device() -> Any:
    torch.set_default_device(DEVICE)
    torch.manual_seed(0)
    yield
    torch.set_default_device(None)


def test_operations_of_a_library() -> None:
    @torch.library.custom_op("tests::cube", mutates_args=())
    def cube(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return x**3 * scale

    @cube.register_fake
    def _shape(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return torch.empty_like(x)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    torch.library.register_autograd(
        "tests::cube", lambda ctx, g: (g * 3 * ctx.saved_tensors[0] ** 2 * ctx.scale, None), setup_context=setup
    )
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.ops.tests.cube(x, scale=2.0).sum().backward()
    assert x.grad.tolist() == [6.0, 24.0] and torch.ops.tests.cube.default is cube
    assert not hasattr(torch.ops.tests, "absent")
    with pytest.raises(NotImplementedError, match="only operations of"):
        torch.ops.torchvision.nms(x, x, 0.5)


def test_functions_of_libraries_are_refused_when_they_are_used(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"lib\.so: cannot open"):
        torch.ops.load_library("lib.so")
    library = tmp_path / "_myaudio.abi3.so"
    library.touch()
    torch.ops.load_library(library)
    taken = torch.ops.myaudio.filter, torch.ops._myaudio.version
    for function in taken:
        with pytest.raises(
            NotImplementedError, match=r"is a function of .*_myaudio\.abi3\.so, which is compiled against"
        ):
            function(torch.ones(2))
    assert not hasattr(torch.ops.mypictures, "filter")
    # What torchaudio asks its own library when it is imported.
    assert torch.ops._torchaudio.is_align_available() is False and torch.ops._torchaudio.cuda_version() is None


def test_native_operations_are_functions_and_methods() -> None:
    aten, x = torch.ops.aten, torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert torch.equal(aten.mm.default(x, x), x @ x) and torch.equal(aten.sum.dim_IntList(x, [1]), x.sum(1))
    assert aten.add_.Tensor(x.clone(), 1).tolist() == [[2.0, -1.0], [4.0, 5.0]]
    assert aten.mm.default is aten.mm.default and len({aten.mm, aten.mm.default, aten.mm.out}) == 3
    assert repr(aten.mm.default) == "<OpOverload(op='aten.mm', overload='default')>"
    assert not hasattr(aten, "absent") and not hasattr(aten, "Tensor") and not hasattr(aten.mm.default, "more")
    with pytest.raises(NotImplementedError, match=r"\[torch\.ops\.aten\._to_copy\] is not supported"):
        aten._to_copy.default(x)


def test_losses_have_base_classes() -> None:
    class Scaled(nn.modules.loss._WeightedLoss):
        def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return F.mse_loss(input, target, reduction=self.reduction) * self.weight

    loss = Scaled(torch.tensor(2.0), size_average=False)
    assert loss.reduction == "sum" and list(loss.state_dict()) == ["weight"]
    assert float(loss(torch.ones(3), torch.zeros(3))) == 6
    assert isinstance(nn.MSELoss(), nn.modules.loss._Loss) and isinstance(loss, nn.modules.loss._Loss)
    assert issubclass(nn.NLLLoss, nn.modules.loss._WeightedLoss)
    assert not issubclass(nn.MSELoss, nn.modules.loss._WeightedLoss)


def test_private_text_functions() -> None:
    text = importlib.import_module("cuprous.torch._tensor_str")
    x = torch.arange(4).reshape(2, 2)
    assert text._tensor_str(x, 3) == "[[0, 1],\n    [2, 3]]" and text._tensor_str(x[:0], 3) == "[]"
    assert text._str(x[0], tensor_contents="[...]").startswith("tensor([...]")
    assert text._add_suffixes("t([0]", ["a=1", "b=2"], 2, force_newline=False) == "t([0], a=1, b=2)"
    assert text._add_suffixes("t([0]", ["a=1", "b=2"], 2, force_newline=True) == "t([0],\n  a=1, b=2)"
    assert text.PRINT_OPTS.edgeitems == 3 and not hasattr(text.PRINT_OPTS, "absent")


def test_hub_reads_local_folders(tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text("def net(width=2):\n    'A net.'\n    return [width]\n")
    assert torch.hub.load(str(tmp_path), "net", width=3, source="local") == [3]
    assert torch.hub.list(str(tmp_path), source="local") == ["net"]
    assert torch.hub.help(str(tmp_path), "net", source="local") == "A net."
    with pytest.raises(NotImplementedError, match="clone it"):
        torch.hub.load("owner/repository", "net")


def test_generators_run_in_the_mode_and_their_callers_do_not() -> None:
    @torch.no_grad()
    def steps(n: int) -> Any:
        for k in range(n):
            got = yield k, torch.is_grad_enabled()
            assert not torch.is_grad_enabled()
            if got:
                return "ended"

    generator = steps(3)
    assert next(generator) == (0, False) and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        generator.send(True)
    assert end.value.value == "ended" and list(steps(2)) == [(0, False), (1, False)]


def test_pytrees_of_registered_classes() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.parts = [a, b]

    _pytree.register_pytree_node(Pair, lambda p: (p.parts, None), lambda parts, _: Pair(*parts))
    try:
        doubled = _pytree.tree_map(lambda x: x * 2, {"k": Pair(1, (2, [3]))})
        assert _pytree.tree_leaves(doubled) == [2, 4, 6] and isinstance(doubled["k"], Pair)
        assert _pytree.tree_map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}]) == [11, {"x": 22}]
        with pytest.raises(ValueError, match="Type mismatch"):
            _pytree.tree_map(lambda a, b: a, [1, [2]], [1, (2,)])
        with pytest.raises(ValueError, match="holds 2 items"):
            _pytree.tree_unflatten([1], _pytree.tree_structure((0, 0)))
        assert _pytree.tree_map_only(int, lambda x: -x, [1, "a"]) == [-1, "a"]
    finally:
        del _pytree.SUPPORTED_NODES[Pair]


def test_pruning() -> None:
    layer = nn.Linear(4, 4, bias=False)
    before = layer.weight.detach().clone()
    prune.l1_unstructured(layer, "weight", 0.5)
    kept = before.abs() > before.abs().flatten().sort()[0][7]
    assert torch.equal(layer.weight != 0, kept) and list(layer.state_dict()) == ["weight_orig", "weight_mask"]
    layer(torch.ones(1, 4)).sum().backward()
    assert torch.equal(layer.weight_orig.grad != 0, kept)
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    assert int((layer.weight == 0).all(1).sum()) >= 1 and int((layer.weight != 0).sum()) < 8
    prune.remove(layer, "weight")
    assert list(dict(layer.named_parameters())) == ["weight"] and not prune.is_pruned(layer)
    parts = [(nn.Linear(3, 3), "weight"), (nn.Linear(3, 3), "weight")]
    prune.global_unstructured(parts, prune.L1Unstructured, amount=6)
    assert sum(int((module.weight == 0).sum()) for module, _ in parts) == 6
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(layer, "weight")


def test_masks_of_attention() -> None:
    q, k, v = (torch.randn(2, 4, 10, 8) for _ in range(3))
    causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, 10, 10, device=q.device)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(flex_attention(q, k, v, block_mask=causal), expected, atol=1e-5)
    bias = torch.randn(4, 10, 10)
    given = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j])
    assert torch.allclose(given, F.scaled_dot_product_attention(q, k, v, attn_mask=bias), atol=1e-5)
    near = create_block_mask(
        and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < 3), 2, 4, 10, 10, device=q.device
    )
    assert near.shape == (2, 4, 10, 10) and near.sparsity() == 0.0
    grouped, total = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True, return_lse=True)
    assert grouped.shape == q.shape and total.shape == (2, 4, 10)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(q, k[:, :2], v[:, :2])


def test_boxes() -> None:
    boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1], [1, 1, 3, 3], [10, 10, 11, 11]])
    iou = ops.box_iou(boxes, boxes)
    assert iou[0].tolist() == pytest.approx([1.0, 0.5, 1 / 7, 0.0])
    assert ops.nms(boxes, torch.tensor([0.5, 0.9, 0.3, 0.1]), 0.4).tolist() == [1, 2, 3]
    assert ops.batched_nms(boxes, torch.tensor([0.5, 0.9, 0.3, 0.1]), torch.tensor([0, 1, 0, 0]), 0.4).tolist() == [
        1,
        0,
        2,
        3,
    ]
    for kind in ("xywh", "cxcywh"):
        assert torch.equal(ops.box_convert(ops.box_convert(boxes, "xyxy", kind), kind, "xyxy"), boxes)
    assert float(ops.generalized_box_iou(boxes[:1], boxes[3:])) == pytest.approx(-116 / 121)
    assert ops.masks_to_boxes(torch.eye(4)[None]).tolist() == [[0.0, 0.0, 3.0, 3.0]]


def test_comparisons_name_what_differs() -> None:
    torch.testing.assert_close({"a": [torch.ones(2)]}, {"a": [torch.ones(2) + 1e-7]})
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 2 \(50\.0%\)"):
        torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 2.0]))
    for other in (torch.ones(3), torch.ones(2).double(), None):
        with pytest.raises(AssertionError):
            torch.testing.assert_close(torch.ones(2), other)
    with pytest.raises(ValueError, match="must both be specified"):
        torch.testing.assert_close(1.0, 1.0, rtol=1e-3)


def test_views_of_bytes() -> None:
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == np.array([1, -2], "f").view("i4").tolist()
    x.view(torch.uint8)[3] = 0xBF
    assert x.tolist() == [-1.0, -2.0] and x.view(torch.uint8).shape == (8,)
    with pytest.raises(RuntimeError, match="cannot be seen as"):
        torch.ones(3, dtype=torch.uint8).view(torch.float32)
    with pytest.raises(NotImplementedError, match="no gradient"):
        x.requires_grad_().view(torch.int32)


def test_storages_tell_which_tensors_share_memory() -> None:
    x = torch.ones(4)
    assert x[1:].untyped_storage() == x.untyped_storage() != torch.ones(4).untyped_storage()
    assert x.storage()[0] == 1.0 and len(x.untyped_storage()) == 16


def test_frozen_embeddings() -> None:
    assert not nn.Embedding(2, 3, _freeze=True).weight.requires_grad and nn.Embedding(2, 3).weight.requires_grad


def test_the_device_meta_is_named_by_new_tensors() -> None:
    with torch.device("meta"):
        assert torch.tensor([1.0]).device == torch.device("meta") == torch.get_default_device()
        layer = nn.Linear(3, 2)
    assert torch.tensor([1.0]).device.type != "meta" and layer(torch.ones(1, 3, device="cpu")).shape == (1, 2)


def test_hooks_of_several_gradients() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        [a, b], lambda grads: seen.append([g.tolist() for g in grads])
    )
    (a * 2 + b * 3).sum().backward()
    handle.remove()
    (a + b).sum().backward()
    assert seen == [[[2.0, 2.0], [3.0, 3.0]]]


@pytest.mark.slow
def test_importing_torch_stays_light() -> None:
    code = "import sys, cuprous.torch; print([m for m in sys.modules if m in ('inspect', 'cuprous.torch.library')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cuprous.torch.library" not in done.stdout


def test_random_erasing_and_gray() -> None:
    assert importlib.import_module("cuprous.torchvision.datasets.folder").default_loader
    assert importlib.import_module("cuprous.torchvision.models.resnet").Bottleneck.expansion == 4
    x = torch.ones(3, 20, 20)
    erased = transforms.RandomErasing(1.0, value=(2.0, 3.0, 4.0))(x)
    counts = [int((erased[k] == 2.0 + k).sum()) for k in range(3)]
    assert counts[0] == counts[1] == counts[2] and 8 <= counts[0] <= 140 and int((x != 1).sum()) == 0
    assert torch.equal(transforms.RandomErasing(0.0)(x), x) and transforms.RandomErasing(1.0, inplace=True)(x) is x
    with pytest.raises(TypeError, match="after ToTensor"):
        transforms.RandomErasing(1.0)(np.ones((2, 2)))
    picture = np.random.RandomState(0).randint(0, 255, (4, 4, 3)).astype("uint8")
    gray = np.asarray(transforms.RandomGrayscale(1.0)(picture))
    assert gray.shape == (4, 4, 3) and (gray[..., 0] == gray[..., 2]).all()


def test_gaussian_blur() -> None:
    point = torch.zeros(2, 9, 9)
    point[:, 4, 4] = 1
    blurred = transforms.functional.gaussian_blur(point, [3, 5], [1.0, 2.0])
    across, down = (np.exp(-0.5 * ((np.arange(n) - n // 2) / s) ** 2) for n, s in ((3, 1.0), (5, 2.0)))
    expected = np.outer(down / down.sum(), across / across.sum())
    assert np.allclose(blurred[1, 2:7, 3:6].cpu().numpy(), expected, atol=1e-6)
    assert torch.allclose(transforms.GaussianBlur(5)(torch.ones(3, 8, 8)), torch.ones(3, 8, 8))
    picture = np.full((6, 6, 3), 7, "uint8")
    assert (transforms.GaussianBlur(3, 1.0)(picture) == picture).all()
    with pytest.raises(ValueError, match="odd and positive"):
        transforms.GaussianBlur(4)(point)


def test_functions_of_two_numbers() -> None:
    assert int(torch.div(7, 2, rounding_mode="trunc")) == 3 and float(torch.div(7, 2)) == 3.5
    assert torch.mul(2, 3).dtype is torch.int64 and float(torch.add(1, 0.5)) == 1.5 and int(torch.pow(2, 5)) == 32


def test_softmax_backward_data() -> None:
    x = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
    g = torch.tensor([[1.0, 2.0, -1.0]])
    y = torch.softmax(x, 1)
    y.backward(g)
    found = torch._softmax_backward_data(g, y.detach(), 1, torch.float64)
    assert found.dtype is torch.float64 and torch.allclose(found.float(), x.grad)
