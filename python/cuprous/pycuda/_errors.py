"""The errors of PyCUDA's driver."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base class of the driver's errors."""


class LogicError(Error):
    """The program made an invalid request."""


class RuntimeError(Error):
    """The device reported an error."""


class LaunchError(Error):
    """A launch failed."""


class CompileError(Error):
    """A source did not compile."""

    def __init__(self, msg: str, command_line: Any = (), stdout: str | None = None, stderr: str | None = None) -> None:
        super().__init__(msg)
        self.msg, self.command_line, self.stdout, self.stderr = msg, command_line, stdout, stderr


__all__ = ["CompileError", "Error", "LaunchError", "LogicError", "RuntimeError"]
