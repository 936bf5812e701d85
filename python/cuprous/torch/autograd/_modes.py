"""Gradient modes: context managers, also usable as decorators, that control whether operations are recorded in the
graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from cuprous import _core

F = TypeVar("F", bound=Callable[..., Any])
_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing `inspect` takes 8 ms


class _Mode:
    """Base class that sets the mode for a `with` block or for the calls of a function."""

    on = True

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def _copy(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> None:
        self._previous.append(_core.set_grad_enabled(self.on))

    def __exit__(self, *_: Any) -> None:
        _core.set_grad_enabled(self._previous.pop())

    def __call__(self, function: F) -> F:
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
            return self._in_generator(function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self._copy():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]

    def _in_generator(self, function: F) -> F:
        """Returns a generator function whose code runs in the mode, while that of its caller does not."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, generator)
            try:
                while True:
                    with self._copy():
                        value = resume()
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self._copy():
                            generator.close()
                        raise
                    except BaseException as error:
                        resume = functools.partial(generator.throw, error)
                    else:
                        resume = functools.partial(generator.send, sent)
            except StopIteration as end:
                return end.value

        return inside  # type: ignore[return-value]


class no_grad(_Mode):
    """A context manager and decorator within which operations are not recorded, and results do not require gradients.

    Parameters
    ----------
    function : callable, optional
        A function to decorate.

    See Also
    --------
    torch.enable_grad, torch.set_grad_enabled, torch.inference_mode, torch.is_grad_enabled, torch.detach

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = 2 * x
    >>> y.requires_grad
    False
    """

    on = False

    def __new__(cls, function: Any = None) -> Any:
        """Also supports `@no_grad` without parentheses."""
        self = super().__new__(cls)
        if function is None:
            return self
        self.__init__()  # type: ignore[misc]
        return self(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class enable_grad(no_grad):
    """A context manager and decorator within which operations are recorded, also within `no_grad`.

    Parameters
    ----------
    function : callable, optional
        A function to decorate.

    See Also
    --------
    torch.set_grad_enabled, torch.inference_mode, torch.is_grad_enabled, torch.no_grad

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = 2 * x
    >>> y.requires_grad
    True
    """

    on = True


class inference_mode(_Mode):
    """A context manager and decorator that does what `no_grad` does. Tensors that are created within it are ordinary
    ones.

    Parameters
    ----------
    mode : bool, default True
        Whether it has an effect.

    See Also
    --------
    torch.is_grad_enabled, torch.no_grad, torch.enable_grad, torch.set_grad_enabled

    Examples
    --------
    >>> with torch.inference_mode():
    ...     y = 2 * torch.ones(2, requires_grad=True)
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode
        self.on = not mode

    def _copy(self) -> _Mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._previous.append(_core.set_grad_enabled(self.on and _core.is_grad_enabled()))


class set_grad_enabled(_Mode):
    """Sets whether operations are recorded. As a context manager it restores the previous mode at its end.

    Parameters
    ----------
    mode : bool
        Whether they are.

    See Also
    --------
    torch.inference_mode, torch.is_grad_enabled, torch.no_grad, torch.enable_grad

    Examples
    --------
    >>> with torch.set_grad_enabled(False):
    ...     y = 2 * torch.ones(2, requires_grad=True)
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.on = bool(mode)
        self._initial: bool | None = _core.set_grad_enabled(self.on)

    def _copy(self) -> _Mode:
        return _Set(self.on)

    def __enter__(self) -> None:
        before = _core.set_grad_enabled(self.on)
        self._previous.append(before if self._initial is None else self._initial)
        self._initial = None

    def __call__(self, function: F) -> F:
        if self._initial is not None:
            _core.set_grad_enabled(self._initial)
            self._initial = None
        return super().__call__(function)


class _Set(_Mode):
    def __init__(self, on: bool) -> None:
        super().__init__()
        self.on = on
