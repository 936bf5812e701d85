"""Mistakes that type checkers must find: each line that ends with `# wrong` has one, and no other line has any."""

from __future__ import annotations

import cuprous as cp
import cuprous.torch as torch
from cuprous import cuda, fft, linalg, random, scipy
from cuprous.scipy import ndimage, signal, special, stats
from cuprous.torch import nn, optim


def arrays(a: cp.ndarray) -> None:
    """Misspells names of arrays."""
    cp.meen(a)  # wrong
    a.sumn()  # wrong
    a.mean().shap  # wrong
    linalg.slove(a, a)  # wrong
    fft.ffft(a)  # wrong
    random.default_rgn(0)  # wrong
    random.default_rng(0).norml()  # wrong
    cp.add.redcue(a)  # wrong
    a.reshape(2, 2).T.astyp("float32")  # wrong
    cp.sin(a).argmax(axes=0)  # wrong
    cp.zeros()  # wrong
    length: str = a.ndim  # wrong
    print(length)
    cp.float23  # wrong
    cp.get_device().uper()  # wrong
    scipy.signl  # wrong
    ndimage.gausian_filter(a, 1)  # wrong
    signal.butterr(2, 0.1)  # wrong
    special.erff(a)  # wrong
    stats.ttest(a)  # wrong
    cp.where(a > 0, a).sum()  # wrong
    cp.linspace(0, 1).sumn()  # wrong
    linalg.svd(a).V  # wrong
    cp.amax(a, axes=0)  # wrong


def tensors(x: torch.Tensor) -> None:
    """Misspells names of tensors."""
    torch.tensr([1.0])  # wrong
    x.backwrd()  # wrong
    x.sum().itm()  # wrong
    nn.Linaer(2, 2)  # wrong
    nn.functional.relo(x)  # wrong
    optim.Admw([x])  # wrong
    torch.linalg.slove(x, x)  # wrong
    torch.float23  # wrong
    torch.softmax(x, dims=0)  # wrong
    torch.zeros(2, dtyp=torch.float32)  # wrong
    torch.randn(2, devise="cpu")  # wrong
    nn.functional.conv2d(x)  # wrong
    x.view(2).to("cpu").mean().detech()  # wrong
    nn.Linear(2)  # wrong
    x.max(dim=0).valuse  # wrong
    nn.Linear(2, 2)(x).backwrd()  # wrong
    nn.MSELoss()(x, nn.ReLU()(x)).itm()  # wrong
    nn.Linear(2, 2)(2.0)  # wrong


@cuda.jit
def kernel(out: cp.ndarray) -> None:
    """Misspells names of kernels."""
    out[cuda.gird(1)] = 1  # wrong
    cuda.syncthread()  # wrong
    out[cuda.threadIdx.w] = 1  # wrong
    cuda.atomic.ad(out, 0, 1)  # wrong
    cuda.shared.aray(3, cuda.float32)  # wrong


def launches() -> None:
    """Misspells names of launches."""
    kernel.foral(3)  # wrong
    cuda.to_devise(1)  # wrong
    cuda.float23  # wrong
