"""The table of public names agrees with the modules that define them, and with what type checkers see."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest

import cuprous as cp
from tests.robust.helpers import output

TABLE = {module: names.split() for module, names in cp._PUBLIC.items()}


@pytest.mark.parametrize("module", TABLE)
def test_modules_export_the_table(module: str) -> None:
    assert sorted(import_module(module, "cuprous").__all__) == sorted(TABLE[module])


def test_every_name_appears_once() -> None:
    assert len(cp.__all__) == len({*cp.__all__})
    assert {*cp.__all__} <= {*dir(cp)}
    assert all(getattr(cp, name) is vars(cp)[name] for name in cp.__all__)
    assert not hasattr(cp, "no_such_name")


@pytest.mark.parametrize("name", ["add", "array", "divmod", "matmul", "sum"])
def test_functions_are_pickled_by_name(name: str) -> None:
    function = getattr(cp, name)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.slow
def test_a_star_import_has_every_name_and_an_import_is_lazy() -> None:
    code = (
        "import sys, cuprous\n"
        "assert not {'numpy', 'ml_dtypes', 'cuprous.cuda', 'cuprous.linalg'} & {*sys.modules}\n"
        "names = {}\n"
        "exec('from cuprous import *', names)\n"
        "assert {*cuprous.__all__} <= {*names}\n"
    )
    output(code)


def test_modules_of_cupyx_scipy_are_those_of_scipy() -> None:
    """Under both names, in whatever order they are imported, a class exists once."""
    code = """
        import cuprous.cupyx.scipy.sparse.linalg as under_cupyx
        from cuprous.cupyx.scipy import ndimage
        from cuprous.cupyx.scipy.sparse import csr_matrix
        import cuprous.cupyx, cuprous.scipy.ndimage, cuprous.scipy.sparse.linalg
        assert under_cupyx is cuprous.scipy.sparse.linalg and ndimage is cuprous.scipy.ndimage
        assert csr_matrix is cuprous.scipy.sparse.csr_matrix and cuprous.cupyx.scipy is cuprous.scipy
        try:
            import cuprous.cupyx.scipy.nothing
        except ModuleNotFoundError as error:
            print(error)
    """
    assert output(code) == "No module named 'cuprous.cupyx.scipy.nothing'"
