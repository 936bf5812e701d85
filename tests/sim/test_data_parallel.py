"""`DataParallel` on two simulated GPUs beside the module on one of them."""

from __future__ import annotations

import os
import subprocess
import sys

_BEGIN = """
import warnings
import numpy as np
import cuprous.torch as torch
from cuprous.torch import nn
torch.zeros(1, device="cuda:1")
assert torch.cuda.device_count() == 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
        self.last.weight = nn.Parameter(self.last.weight.detach().clone())
        self.again = self.last   # one module in two places
        self.calls = 0

    def forward(self, x, scale=None, extra=None):
        self.calls += 1
        assert all(t.device == x.device for t in (*self.parameters(), *self.buffers()))
        y = self.again(self.last(self.norm(self.inner(x)).relu()))
        y = y if scale is None else y * scale
        return {"y": y, "more": (y.sum(1), extra)}

def same(a, b, tolerance=1e-6):
    assert a.shape == b.shape and (a.detach() - b.detach()).abs().max().item() <= tolerance, (a, b)
"""


def _run(program: str) -> None:
    environment = os.environ | {"CUPROUS_SIM": os.environ["CUPROUS_SIM"] + ",devices=2"}
    done = subprocess.run([sys.executable, "-c", _BEGIN + program], env=environment, capture_output=True, text=True,
                          timeout=170, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_results_and_gradients_are_those_of_one_gpu() -> None:
    """Also of keyword arguments, in eval and without gradients, with a batch that cannot be divided evenly."""
    _run("""
x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 3)).astype("f4")).to("cuda:0")
scale = torch.arange(1.0, 6.0, device="cuda:0").reshape(5, 1)
net = Net().to("cuda:0").eval()
both = nn.DataParallel(net)
assert both.device_ids == [0, 1] and both.output_device == 0 and both.module is net
assert list(both.state_dict())[0] == "module.inner.weight"
results = {}
for name, module in (("one", net), ("both", both)):
    net.zero_grad()
    given = x.clone().requires_grad_()
    out = module(given, scale=scale, extra=None)
    assert out["y"].device.index == 0 and out["more"][1] is None
    (out["y"] ** 2).sum().backward()
    results[name] = [out["y"], out["more"][0], given.grad, *(p.grad.clone() for p in net.parameters())]
for one, other in zip(results["one"], results["both"], strict=True):
    same(one, other, 1e-4 * one.abs().max().item())
with torch.no_grad():
    same(both(x)["y"], net(x)["y"], 1e-5)
assert net.calls == 2                  # what the copies set is lost
same(both(x[:1])["y"], net(x[:1])["y"], 1e-5)     # fewer rows than GPUs
""")


def test_training_is_that_of_one_gpu() -> None:
    """With statistics of the first GPU's part, as in PyTorch."""
    _run("""
x = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 3)).astype("f4")).to("cuda:0")
net = Net().to("cuda:0").train()
both = nn.DataParallel(net, device_ids=[0, 1], output_device=1)
optimizer = torch.optim.SGD(both.parameters(), lr=0.05)
losses = []
for _ in range(5):
    y = both(x)["y"]
    assert y.device.index == 1
    loss = (y ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] and net.norm.num_batches_tracked.item() == 5
mean = net.inner(x[:4]).mean(0) * 0.1
fresh = Net().to("cuda:0").train()
nn.DataParallel(fresh)(x)
same(fresh.norm.running_mean, fresh.inner(x[:4]).mean(0) * 0.1)
linear = nn.Linear(3, 2).to("cuda:0")
same(nn.parallel.data_parallel(linear, x, [1, 0][::-1]), linear(x))
""")


def test_scalars_make_a_vector_and_a_module_elsewhere_is_an_error() -> None:
    """As in PyTorch."""
    _run("""
class Total(nn.Module):
    def forward(self, x, k):
        return x.sum() * k
x = torch.ones(4, 3, device="cuda:0")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert nn.DataParallel(Total())(x, 2).tolist() == [12.0, 12.0]
assert "Was asked to gather along dimension 0" in str(caught[-1].message)
for module, ids in ((nn.Linear(3, 2).to("cuda:1"), [0, 1]), (nn.Linear(3, 2).to("cpu"), None)):
    try:
        nn.DataParallel(module, ids)(x)
    except RuntimeError as error:
        assert "module must have its parameters and buffers on device cuda:0 (device_ids[0])" in str(error)
    else:
        raise AssertionError
""")
