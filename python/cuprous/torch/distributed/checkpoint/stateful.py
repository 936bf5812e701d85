"""Objects that have a state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object whose state `save` saves and `load` restores: `state_dict()` and `load_state_dict(state)`.

    See Also
    --------
    torch.distributed.checkpoint.save, torch.distributed.checkpoint.load

    Examples
    --------
    >>> from cuprous.torch.distributed import checkpoint
    >>> isinstance(nn.Linear(1, 1), checkpoint.Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """Returns the state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state."""
        ...


def plain_state(state: dict[str, Any]) -> dict[str, Any]:
    """Returns a state in which objects are replaced by their states."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state.items()}


__all__ = ["Stateful"]
