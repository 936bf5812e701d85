"""`torch.utils.tensorboard.SummaryWriter`: that of tensorboardX, which receives tensors as arrays."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor

try:
    import tensorboardX
except ImportError:
    raise ImportError("torch.utils.tensorboard needs tensorboardX: pip install tensorboardX") from None


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        host = x.detach().to_numpy()
        host = host.astype("float32") if x.dtype_name == "bfloat16" else host
        return host if host.ndim else host.item()
    if isinstance(x, dict):
        return {key: _plain(value) for key, value in x.items()}
    return type(x)(_plain(item) for item in x) if type(x) in (list, tuple) else x


class SummaryWriter:
    """Writes scalars, histograms, images, text and more for TensorBoard, with the methods of tensorboardX.

    Raises
    ------
    NotImplementedError
        For `add_graph` and `add_onnx_graph`, which need PyTorch's graphs.
    """

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: int = 120, filename_suffix: str = "") -> None:  # fmt: skip
        log_dir = None if log_dir is None else str(log_dir)
        self._writer = tensorboardX.SummaryWriter(log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix)

    @property
    def log_dir(self) -> str:
        """The directory of the files."""
        return str(self._writer.logdir)

    def __getattr__(self, name: str) -> Any:
        if name in ("add_graph", "add_onnx_graph"):
            raise NotImplementedError(f"[SummaryWriter.{name}] is not supported: it needs PyTorch's own graph")
        method = getattr(self._writer, name)
        if not name.startswith("add_"):
            return method

        def add(*args: Any, **kwargs: Any) -> Any:
            return method(*(_plain(x) for x in args), **{key: _plain(x) for key, x in kwargs.items()})

        return add

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self._writer.close()


__all__ = ["SummaryWriter"]
