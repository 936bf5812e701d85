"""`DTensor` under its older name."""

from cuprous.torch.distributed.tensor import *  # noqa: F403

__path__: list[str] = []
