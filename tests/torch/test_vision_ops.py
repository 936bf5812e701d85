"""torchvision's ops: boxes, pooling of regions, deformable convolutions, pyramids."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import torchvision as tv
from cuprous.torchvision import ops
from tests.support import assert_errors
from tests.torch.vision_ops import FILE, results


def test_as_torchvision() -> None:
    golden: dict[str, Any] = json.loads(FILE.read_text())
    golden.pop("version")
    ours = results(torch, tv)
    assert ours.keys() == golden.keys()
    for name, want in golden.items():
        got = ours[name]
        if isinstance(want, str):
            assert got == want, name
            continue
        assert got[:2] == want[:2], name
        scale = max([abs(x) for x in want[4]], default=0.0) + want[3] / max(np.prod(want[0]), 1)
        np.testing.assert_allclose(got[4], want[4], atol=2e-5 * max(scale, 1e-3), rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(got[2:4], want[2:4], atol=1e-4 * (want[3] + 1e-3), err_msg=name)


def test_regions_are_pooled_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    image, rois = torch.rand(2, 4, 8, 8), torch.tensor([[1.0, 0, 0, 7, 7], [0, 1, 2, 6, 5], [1, 3, 3, 4, 8]])
    calls = [(f, f(image, rois, 2, 0.5)) for f in (ops.roi_align, ops.roi_pool, ops.ps_roi_align, ops.ps_roi_pool)]
    monkeypatch.setattr("cuprous.torchvision.ops.regions._PART", 1)
    for function, whole in calls:
        torch.testing.assert_close(function(image, rois, 2, 0.5), whole)


def test_old_files_of_pyramids_load() -> None:
    network = ops.FeaturePyramidNetwork([3, 5], 2)
    state = network.state_dict()
    old = {key.replace(".0.weight", ".weight").replace(".0.bias", ".bias"): value + 1 for key, value in state.items()}
    assert "inner_blocks.1.weight" in old
    other = ops.FeaturePyramidNetwork([3, 5], 2)
    other.load_state_dict(old)
    torch.testing.assert_close(dict(other.state_dict()), {key: value + 1 for key, value in state.items()})


@pytest.mark.parametrize("ndim", [2, 3])
def test_blocks_are_dropped(ndim: int) -> None:
    torch.manual_seed(0)
    function = (ops.drop_block2d, ops.drop_block3d)[ndim - 2]
    ones = torch.ones(4, 8, *[18] * ndim)
    found = function(ones, 0.3, 3)
    dropped = (found == 0).cpu().numpy()
    assert abs(dropped.mean() - 0.3) < 0.06 and abs(float(found.mean()) - 1) < 1e-4
    alone = np.pad(dropped, [(0, 0), (0, 0)] + [(1, 1)] * ndim)  # each dropped element has a dropped neighbor
    beside = np.roll(alone, 1, -1) | np.roll(alone, -1, -1)
    assert (beside | ~alone).all()
    layer = (ops.DropBlock2d, ops.DropBlock3d)[ndim - 2](0.5, 3, inplace=True)
    again = ones.clone()
    assert layer(again) is again and (again == 0).any() and layer.eval()(ones) is ones
    assert_errors(
        (lambda: function(ones, 0.5, 2), ValueError), (lambda: function(ones, 1.5, 3), ValueError),
        (lambda: function(ones[0], 0.5, 3), ValueError),
    )  # fmt: skip


def test_bad_input() -> None:
    image, boxes, offset = torch.ones(1, 4, 8, 8), torch.ones(2, 4), torch.zeros(1, 18, 6, 6)
    weight = torch.ones(2, 4, 3, 3)
    assert_errors(
        (lambda: ops.roi_align(image, boxes, 2), AssertionError), (lambda: ops.roi_pool(image, 3, 2), AssertionError),
        (lambda: ops.roi_align(image, [torch.ones(2, 5)], 2), AssertionError),
        (lambda: ops.ps_roi_pool(image, [boxes], 3), RuntimeError), (lambda: ops.box_area(boxes, "?"), ValueError),
        (lambda: ops.deform_conv2d(image, offset[:, :7], weight), RuntimeError),
        (lambda: ops.deform_conv2d(image, offset[..., :5], weight), RuntimeError),
        (lambda: ops.deform_conv2d(image, offset, weight, mask=torch.ones(1, 8, 6, 6)), RuntimeError),
        (lambda: ops.DeformConv2d(3, 4, 3, groups=2), ValueError),
        (lambda: ops.DeformConv2d(4, 3, 3, groups=2), ValueError),
        (lambda: ops.FeaturePyramidNetwork([0, 2], 2), ValueError),
        (lambda: ops.FeaturePyramidNetwork([2], 2, extra_blocks=3), TypeError),
        (lambda: ops.MultiScaleRoIAlign(["0"], 2, 2)({"0": image}, [boxes], []), ValueError),
        (lambda: ops.complete_box_iou_loss(boxes, boxes, "all"), ValueError),
    )  # fmt: skip
