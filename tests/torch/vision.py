"""torchvision's networks with fixed weights: what golden_vision.json has of torchvision itself.

`python -m tests.torch.vision FILE` writes it where PyTorch and torchvision are installed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("golden_vision.json")
#: Networks, and the extent of the images.
NETWORKS = {
    "squeezenet1_0": 64, "squeezenet1_1": 64, "densenet121": 64, "mobilenet_v2": 64, "mobilenet_v3_large": 64,
    "mobilenet_v3_small": 64, "mnasnet0_5": 64, "shufflenet_v2_x0_5": 64, "googlenet": 64, "inception_v3": 96,
    "efficientnet_b0": 64, "efficientnet_v2_s": 64, "regnet_y_400mf": 64, "regnet_x_400mf": 64, "convnext_tiny": 64,
    "swin_t": 64, "swin_v2_t": 64, "vit_b_32": 224, "resnet18": 64, "maxvit_t": 224,
    "segmentation.lraspp_mobilenet_v3_large": 32, "segmentation.deeplabv3_mobilenet_v3_large": 32,
    "segmentation.fcn_resnet50": 16,
}  # fmt: skip


def result(torch: Any, models: Any, name: str) -> dict[str, Any]:
    """Returns the keys and shapes of a network's state as a digest, their number, and logits of a random image."""
    options: dict[str, Any] = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    module, _, function = name.rpartition(".")
    if module:
        models, options = getattr(models, module), {"weights_backbone": None}
    if "lraspp" not in name and module:
        options["aux_loss"] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(models, function)(num_classes=7, **options)
    state, generator = model.state_dict(), np.random.RandomState(0)
    with torch.no_grad():
        for key, tensor in state.items():
            if not any(word in key for word in ("num_batches", "index", "coords")):
                tensor.copy_(torch.tensor(_numbers(key, tuple(tensor.shape), generator)))
        size = NETWORKS[name]
        logits = model.eval()(torch.tensor(generator.randn(1, 3, size, size).astype(np.float32)))
        if module:  # the scores of some pixels, by the classifiers' names
            logits = torch.cat([scores[..., ::7, ::5].flatten(1) for scores in logits.values()], 1)
    keys = json.dumps([(key, list(tensor.shape)) for key, tensor in state.items()])
    return {"keys": hashlib.sha256(keys.encode()).hexdigest(), "count": len(state), "logits": logits[0].tolist()}


def _numbers(key: str, shape: tuple[int, ...], generator: Any) -> Any:
    """Returns weights with which activations neither vanish nor grow."""
    found = generator.randn(*shape) * 0.5 / max(1, int(np.prod(shape[1:]))) ** 0.5
    if "running_var" in key:
        found = np.abs(found) + 1
    elif "layer_scale" in key:
        found = found + 0.5
    elif len(shape) == 1 and "weight" in key:
        found = found + 1
    return found.astype(np.float32)


if __name__ == "__main__":
    import torch
    from torchvision import models

    found = {name: result(torch, models, name) for name in NETWORKS}
    Path(sys.argv[1] if len(sys.argv) > 1 else FILE).write_text(json.dumps(found, indent=0) + "\n")
