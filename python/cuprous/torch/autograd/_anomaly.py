"""Finding the operation whose backward pass fails or gives NaN."""

from __future__ import annotations

from typing import Any

from cuprous import _core


def _mode(on: bool, check_nan: bool) -> str:
    return ("nan" if check_nan else "lines") if on else "off"


class set_detect_anomaly:
    """Turns the search for anomalies on or off, at once; as a context manager until its end.

    While it is on, operations are noted with the lines that recorded them, errors of the backward pass name these, and
    (with `check_nan`) a gradient with NaN in it is an error. This costs time.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = _core.set_anomaly(_mode(mode, check_nan))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous)


class detect_anomaly:
    """A context manager in which anomalies are searched for: see `set_detect_anomaly`."""

    def __init__(self, check_nan: bool = True) -> None:
        self._mode = _mode(True, check_nan)
        self._previous: list[str] = []

    def __enter__(self) -> None:
        self._previous.append(_core.set_anomaly(self._mode))

    def __exit__(self, *_: Any) -> None:
        _core.set_anomaly(self._previous.pop())


def is_anomaly_enabled() -> bool:
    """Whether anomalies are searched for."""
    now = _core.set_anomaly("off")
    _core.set_anomaly(now)
    return now != "off"
