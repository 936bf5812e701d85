"""Anomaly detection: finds the operation whose backward pass fails or produces NaN."""

from __future__ import annotations

from typing import Any

from cuprous import _core


def _mode(on: bool, check_nan: bool) -> str:
    return ("nan" if check_nan else "lines") if on else "off"


class set_detect_anomaly:
    """Enables or disables anomaly detection immediately; as a context manager, until its end.

    While it is enabled, operations record the source lines that called them, errors of the backward pass name these
    lines, and (with `check_nan`) NaN in a gradient is an error. This costs time.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = _core.set_anomaly(_mode(mode, check_nan))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous)


class detect_anomaly:
    """Context manager that enables anomaly detection; see `set_detect_anomaly`."""

    def __init__(self, check_nan: bool = True) -> None:
        self._mode = _mode(True, check_nan)
        self._previous: list[str] = []

    def __enter__(self) -> None:
        self._previous.append(_core.set_anomaly(self._mode))

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous.pop())


def is_anomaly_enabled() -> bool:
    """Returns True if anomaly detection is enabled."""
    now = _core.set_anomaly("off")
    _core.set_anomaly(now)
    return now != "off"
