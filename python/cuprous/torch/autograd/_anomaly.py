"""Anomaly detection: finds the operation whose backward pass fails or produces NaN."""

from __future__ import annotations

from typing import Any

from cuprous import _core


def _mode(on: bool, check_nan: bool) -> str:
    return ("nan" if check_nan else "lines") if on else "off"


class set_detect_anomaly:
    """Enables or disables anomaly detection. As a context manager it restores the previous state at its end.

    While it is enabled, operations record the source lines that called them, and errors of the backward pass name
    these lines. This costs time.

    Parameters
    ----------
    mode : bool
        Whether it is enabled.
    check_nan : bool, default True
        Whether NaN in a gradient is an error.

    See Also
    --------
    torch.autograd.is_anomaly_enabled, torch.autograd.detect_anomaly

    Examples
    --------
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = _core.set_anomaly(_mode(mode, check_nan))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous)


class detect_anomaly:
    """A context manager that enables anomaly detection, as `set_detect_anomaly(True)` does.

    Parameters
    ----------
    check_nan : bool, default True
        Whether NaN in a gradient is an error.

    See Also
    --------
    torch.autograd.set_detect_anomaly, torch.autograd.is_anomaly_enabled

    Examples
    --------
    >>> with torch.autograd.detect_anomaly():
    ...     torch.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._mode = _mode(True, check_nan)
        self._previous: list[str] = []

    def __enter__(self) -> None:
        self._previous.append(_core.set_anomaly(self._mode))

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous.pop())


def is_anomaly_enabled() -> bool:
    """Returns True if anomaly detection is enabled.

    Returns
    -------
    bool

    See Also
    --------
    torch.autograd.detect_anomaly, torch.autograd.set_detect_anomaly

    Examples
    --------
    >>> torch.autograd.is_anomaly_enabled()
    False
    """
    now = _core.set_anomaly("off")
    _core.set_anomaly(now)
    return now != "off"
