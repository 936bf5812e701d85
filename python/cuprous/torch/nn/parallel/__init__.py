"""Modules on several devices and in several processes."""

from typing import TYPE_CHECKING, Any

from cuprous import _exports
from cuprous.torch.nn.parallel.data_parallel import DataParallel, data_parallel

#: Imported on first use, because few programs run in several processes.
_EXPORTS = _exports.Exports(__name__, {".distributed": "DistributedDataParallel"}, modules=("distributed",))


if TYPE_CHECKING:
    from cuprous.torch.nn.parallel import distributed as distributed
    from cuprous.torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _EXPORTS.get(name)


__all__ = ["DataParallel", "data_parallel"]
__all__ += ["DistributedDataParallel", "distributed"]
