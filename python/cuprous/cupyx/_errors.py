"""CuPy's settings of what raises. Here errors of `linalg` always raise, and arithmetic never does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def geterr() -> dict[str, str | None]:
    """Returns what raises, as CuPy's function does: None for arithmetic, "raise" for `linalg`.

    Returns
    -------
    dict of str to str or None
        A dict.

    See Also
    --------
    cupyx.seterr, cupyx.errstate

    Examples
    --------
    >>> cp.cupyx.geterr()["linalg"]
    'raise'
    """
    return {"divide": None, "over": None, "under": None, "invalid": None, "linalg": "raise"}


def seterr(*, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None,
           linalg: Any = None) -> dict[str, str | None]:  # fmt: skip
    """Accepts the settings that hold: errors of `linalg` raise, arithmetic gives no errors.

    Parameters
    ----------
    divide, over, under, invalid : str, optional
        Only None, as in CuPy.
    linalg : str, optional
        None or "raise".

    Returns
    -------
    dict of str to str or None
        The settings, as `geterr` returns them.

    Raises
    ------
    NotImplementedError
        For other settings.

    See Also
    --------
    cupyx.geterr, cupyx.errstate

    Examples
    --------
    >>> cp.cupyx.seterr(linalg="raise")["linalg"]
    'raise'
    """
    for name, value in (("divide", divide), ("over", over), ("under", under), ("invalid", invalid)):
        if value is not None:
            raise NotImplementedError(f"[seterr] {name}={value!r} is not supported: arithmetic gives no errors; test "
                                      "results with isfinite")  # fmt: skip
    if linalg not in (None, "raise"):
        raise NotImplementedError(f"[seterr] linalg={linalg!r} is not supported: errors of linalg always raise; catch "
                                  "numpy.linalg.LinAlgError")  # fmt: skip
    return geterr()


@contextlib.contextmanager
def errstate(*, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None,
             linalg: Any = None) -> Iterator[None]:  # fmt: skip
    """Accepts the settings that hold, as `seterr` does, for a `with` block.

    Parameters
    ----------
    divide, over, under, invalid : str, optional
        Only None, as in CuPy.
    linalg : str, optional
        None or "raise".

    Returns
    -------
    context manager

    Raises
    ------
    NotImplementedError
        For other settings.

    See Also
    --------
    cupyx.seterr, cupyx.geterr

    Examples
    --------
    >>> with cp.cupyx.errstate(linalg="raise"):
    ...     a = cp.linalg.inv(cp.eye(2))
    """
    seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    yield


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Allows that the host waits for the device within a `with` block, as it always may.

    Parameters
    ----------
    allow : bool
        Only True; waits are not reported as errors. `cuprous.profile` lists them.

    Returns
    -------
    context manager

    Raises
    ------
    NotImplementedError
        For False.

    See Also
    --------
    cupyx.seterr, cupyx.errstate

    Examples
    --------
    >>> with cp.cupyx.allow_synchronize(True):
    ...     total = int(cp.arange(4).sum())
    """
    if not allow:
        raise NotImplementedError("[allow_synchronize] False is not supported: use cuprous.profile, which lists "
                                  "implicit synchronizations")  # fmt: skip
    yield


__all__ = ["allow_synchronize", "errstate", "geterr", "seterr"]
