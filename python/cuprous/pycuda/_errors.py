"""The errors of PyCUDA's driver."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base class of the driver's errors.

    See Also
    --------
    pycuda.driver.LogicError, pycuda.driver.LaunchError, pycuda.driver.RuntimeError
    """


class LogicError(Error):
    """The program made an invalid request.

    See Also
    --------
    pycuda.driver.Error, pycuda.driver.LaunchError
    """


class RuntimeError(Error):
    """The device reported an error.

    See Also
    --------
    pycuda.driver.Error, pycuda.driver.LogicError
    """


class LaunchError(Error):
    """A launch failed.

    See Also
    --------
    pycuda.driver.Error, pycuda.driver.LogicError
    """


class CompileError(Error):
    """A source did not compile.

    See Also
    --------
    pycuda.compiler.compile, pycuda.compiler.SourceModule
    """

    def __init__(self, msg: str, command_line: Any = (), stdout: str | None = None, stderr: str | None = None) -> None:
        super().__init__(msg)
        self.msg, self.command_line, self.stdout, self.stderr = msg, command_line, stdout, stderr


__all__ = ["CompileError", "Error", "LaunchError", "LogicError", "RuntimeError"]
