"""Writes public_names.txt where PyTorch is installed: `python -m tests.torch.make_public_names`.

A line a module: the names that it declares in `__all__`, or else those that it defines. The inside of PyTorch's
compiler, of quantization, of exports and of other devices is left out.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

OUT = (
    "_", "testing._", "onnx", "ao", "distributed._", "utils.benchmark", "utils.tensorboard",
    "distributed.elastic", "distributed.benchmarks", "utils.bottleneck", "utils.backcompat", "utils.hipify",
    "utils.model_dump", "package", "quantization", "export", "fx.experimental", "fx.passes",
    "distributed.pipelining", "distributed.rpc", "jit.", "nn.quant", "nn.intrinsic", "nn.qat",
    "utils.data.datapipes", "utils.jit", "contrib", "utils.viz", "utils.serialization", "headeronly",
    "distributed.launcher", "numa", "masked", "nested", "cuda.", "xpu", "mtia", "mps", "sparse.", "backends.",
    "nativert", "lib", "bin", "include", "share", "test", "compiler.", "distributed.flight_recorder",
)  # fmt: skip


def table() -> Iterator[tuple[str, list[str]]]:
    """Returns the modules of PyTorch and their public names."""
    torch = importlib.import_module("torch")
    found = (m.name for m in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None))
    out = tuple(f"torch.{name}" for name in OUT)
    for path in ("torch", *(name for name in found if not name.startswith(out) and "._" not in name)):
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                module = importlib.import_module(path)
        except BaseException:  # modules that need another package, or run as programs
            continue
        own = [name for name, value in vars(module).items()
               if not isinstance(value, types.ModuleType) and getattr(value, "__module__", None) == path]  # fmt: skip
        names = sorted({n for n in getattr(module, "__all__", own) if isinstance(n, str) and not n.startswith("_")})
        if names:
            yield path.removeprefix("torch").lstrip("."), names


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = [f"{path}: {' '.join(names)}" for path, names in table()]
    target = Path(__file__).with_name("public_names.txt")
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines))
