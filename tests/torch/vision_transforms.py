"""Transforms of tensors with fixed images: what golden_vision_transforms.json has of torchvision itself.

`python -m tests.torch.vision_transforms FILE` writes it where PyTorch and torchvision are installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("golden_vision_transforms.json")
CALLS = [
    *(f"F.resize(x, {size}, M.{mode}, antialias={smooth})" for size in ([8, 9], [30, 41], [7])
      for mode, smooth in (("NEAREST", False), ("NEAREST_EXACT", False), ("BILINEAR", True), ("BILINEAR", False),
                           ("BICUBIC", True), ("BICUBIC", False))),
    *(f"F.rotate(x, {angle}, M.{mode}, expand={expand})" for angle in (30, 90, -45.5) for expand in (False, True)
      for mode in ("NEAREST", "BILINEAR")),
    *(f"F.rotate(x, 20, M.{mode}, center=[2, 3], fill=[0.5])" for mode in ("NEAREST", "BILINEAR")),
    *(f"F.adjust_{name}(x, {factor})" for name in ("brightness", "contrast", "saturation")
      for factor in (0.0, 0.4, 1.7)),
    *(f"F.adjust_hue(x, {factor})" for factor in (-0.5, -0.2, 0.0, 0.13, 0.5)),
    *(f"F.rgb_to_grayscale(x, {count})" for count in (1, 3)),
    *(f"F.pad(x, {widths}, 5, '{mode}')" for mode in ("constant", "edge", "reflect", "symmetric")
      for widths in ([2], [1, 3], [1, 2, 3, 0])),
    "F.resized_crop(x, 2, 3, 9, 7, [5, 6])", "F.center_crop(x, [20, 30])",
]  # fmt: skip


def images() -> dict[str, Any]:
    """Returns an image of bytes, the same one of floats, one without colors, and a batch."""
    rng = np.random.default_rng(0)
    pixels = {name: rng.integers(0, 256, shape).astype(np.uint8)
              for name, shape in (("bytes", (3, 17, 23)), ("gray", (1, 9, 12)), ("batch", (2, 3, 16, 11)))}  # fmt: skip
    floats = (pixels["bytes"] / 255).astype(np.float32)
    return {**pixels, "floats": floats}


def results(torch: Any, transforms: Any) -> dict[str, Any]:
    """Returns for each call and image the shape and dtype of the result, its mean, and some of its pixels."""
    names = {"F": transforms.functional, "M": transforms.InterpolationMode}
    found = {}
    for call in CALLS:
        for name, image in images().items():
            result = eval(call, {**names, "x": torch.tensor(image)}).cpu().numpy()
            chosen = [round(float(v), 7) for v in result.ravel()[:: max(1, result.size // 7)]]
            mean = round(float(result.astype(np.float64).mean()), 7)
            found[f"{call} of {name}"] = [list(result.shape), str(result.dtype), mean, chosen]
    return found


if __name__ == "__main__":
    import torch
    from torchvision import transforms

    found = results(torch, transforms)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    Path(sys.argv[1] if len(sys.argv) > 1 else FILE).write_text(f"{{\n{lines}\n}}\n")
