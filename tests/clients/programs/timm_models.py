"""Forty models of timm, trained for two steps with fixed weights: prints their losses as JSON.

`python tests/clients/programs/timm_models.py` where PyTorch is installed prints what timm_models.json has. All is in
double precision, because steps of batch norms over two images are chaotic in single precision.
"""

import json
import sys
import zlib

import numpy as np
import timm
import torch

NAMES = [
    "resnet10t", "seresnet18", "resnetv2_18", "skresnet18", "mobilenetv2_050", "mobilenetv3_small_050",
    "mobilenetv4_conv_small_050", "mnasnet_small", "efficientnet_lite0", "ghostnet_050", "fbnetc_100", "tinynet_e",
    "lcnet_035", "hardcorenas_a", "mixnet_s", "regnetx_002", "regnety_002", "repvgg_a0", "mobileone_s0",
    "darknet17", "hgnetv2_b0", "rexnet_100", "convnext_atto", "convnextv2_atto", "vit_tiny_patch16_224",
    "deit_tiny_patch16_224", "eva02_tiny_patch14_224", "swin_tiny_patch4_window7_224", "pvt_v2_b0",
    "poolformer_s12", "edgenext_xx_small", "mobilevit_xxs", "mobilevitv2_050", "starnet_s1", "inception_next_atto",
    "mambaout_femto", "pit_ti_224", "xcit_nano_12_p16_224", "mixer_s32_224", "gmlp_ti16_224",
]  # fmt: skip
#: Models whose images have a size of their own, which is given.
SIZED = ("vit", "deit", "eva02", "swin", "pit", "mixer", "gmlp")


def numbers(seed, *shape):
    """Returns the same random numbers in every library."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape))


def fill(model):
    """Gives parameters numbers that depend on their names alone."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 0.3 / max(parameter[0].numel(), 1) ** 0.5 if parameter.ndim > 1 else 0.02
            parameter.copy_(numbers(zlib.crc32(name.encode()), *parameter.shape) * scale + (parameter.ndim == 1))


def losses(name):
    """Returns the losses before, between and after two steps of SGD with momentum."""
    options = {"img_size": 64} if name.startswith(SIZED) else {}
    if name.startswith("swin"):
        options["drop_path_rate"] = 0.0
    model = timm.create_model(name, num_classes=10, drop_rate=0.0, **options).double()
    fill(model)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images, classes = numbers(1, 2, 3, 64, 64), torch.tensor([3, 7])
    found = []
    for step in range(3):
        output = model(images)
        output = output if isinstance(output, torch.Tensor) else output[0]
        loss = torch.nn.functional.cross_entropy(output, classes)
        found.append(loss.item())
        if step < 2:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return found


if __name__ == "__main__":
    print("RESULTS", json.dumps({name: losses(name) for name in sys.argv[1:] or NAMES}))
