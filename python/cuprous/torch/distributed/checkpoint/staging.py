"""Copies of states, from which `async_save` writes while the program goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from cuprous._core import Tensor
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed.tensor._dtensor import DTensor


@runtime_checkable
class AsyncStager(Protocol):
    """What `async_save` calls to copy a state: `stage`, then `synchronize_staging` if
    `should_synchronize_after_execute` is True."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """True if `async_save` waits for the copy before it returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: dict[str, Any]) -> Future[dict[str, Any]] | dict[str, Any]:
        """Returns a copy of a state, which later changes do not reach, or a future of it.

        Parameters
        ----------
        state_dict : dict
            The state.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement stage method")

    def synchronize_staging(self) -> None:
        """Waits until the state may be changed."""

    def close(self) -> None:
        """Frees what the stager holds."""


class BlockingAsyncStager(AsyncStager):
    """Copies a state into host memory before `stage` returns.

    Parameters
    ----------
    cache_staged_state_dict : bool, default False
        Has no effect: the allocator keeps the memory of earlier copies.
    type_check : bool, default False
        Has no effect: a state has plain values and tensors alone.
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict, self.type_check = cache_staged_state_dict, type_check

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """Returns a copy in host memory.

        Parameters
        ----------
        state_dict : dict
            The state.
        """
        return copied(state_dict)

    def synchronize_staging(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


@dataclass
class StagingOptions:
    """Options of `DefaultStager`.

    Parameters
    ----------
    use_pinned_memory : bool, default True
        Has no effect: copies from a GPU go through page-locked memory.
    use_shared_memory : bool, default True
        Has no effect: a thread of this process writes.
    use_async_staging : bool, default True
        Copies in a thread: `async_save` returns an `AsyncSaveResponse`, and the state may not be changed before its
        `staging_completion` is done.
    use_non_blocking_copy : bool, default True
        Has no effect.
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(AsyncStager):
    """Copies a state into host memory, in a thread if its options say so.

    Parameters
    ----------
    config : StagingOptions, optional
        The options.
    """

    _synchronize_after_execute = False

    def __init__(self, config: StagingOptions | None = None) -> None:
        self._config = config or StagingOptions()
        self._thread = ThreadPoolExecutor(1, "cuprous-staging") if self._config.use_async_staging else None
        self._last: Future[dict[str, Any]] | None = None

    def stage(self, state_dict: dict[str, Any]) -> Future[dict[str, Any]] | dict[str, Any]:
        """Returns a copy in host memory, or a future of it.

        Parameters
        ----------
        state_dict : dict
            The state.
        """
        if self._thread is None:
            return copied(state_dict)
        self._last = self._thread.submit(copied, state_dict)
        return self._last

    def synchronize_staging(self) -> None:
        """Waits for the last copy."""
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """Ends the thread."""
        if self._thread is not None:
            self._thread.shutdown()


def copied(state: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a state, with tensors in host memory."""
    with no_grad():
        return cast(dict[str, Any], _copied(state))


def _copied(value: Any) -> Any:
    if isinstance(value, DTensor):
        return value.like(_on_host(value._local))
    if isinstance(value, Tensor):
        return _on_host(value)
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copied(inner) for inner in value)
    return value


def _on_host(tensor: Tensor) -> Tensor:
    own = tensor.detach()
    copy = own.clone() if own.device_name == "cpu" else own.cpu()
    copy.data_ptr()  # computes the copy now
    return copy


__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]
