"""Other parameters for a call of scikit-learn's own method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def given(estimator: Any, **parameters: Any) -> Iterator[None]:
    """Gives an estimator other parameters in a `with` block.

    Parameters
    ----------
    estimator : estimator
        The estimator.
    **parameters : any
        Their values by name.
    """
    before = {name: getattr(estimator, name) for name in parameters}
    vars(estimator).update(parameters)
    try:
        yield
    finally:
        vars(estimator).update(before)
