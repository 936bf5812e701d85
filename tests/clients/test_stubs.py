"""Stubs say what is there, also in the modules that need other libraries."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import cuprous
from tests.robust.helpers import environment

ROOT = Path(__file__).parents[2]
PACKAGE = Path(str(cuprous.__file__)).parent
#: Of the libraries that modules need, Ray alone may be missing: it is not made for each version of Python.
NEEDED = ("dask", "distributed", "einops", "keras", "mypy", "polars", "sklearn")

#: What stubs say otherwise than the code, by the pattern of the line of stubtest, and why.
DIFFERENCES = {
    r"stub parameter \"self\" differs from runtime parameter": "methods of arrays are functions with a first argument",
    r"_core\.ndarray\.copy is .*Ellipsis": "the default order is that of the array, which NumPy's signature cannot say",
    r"ndarray\.(copy|to_device|__\w+__) is inconsistent": "functions that Python gives arrays: see `_core.ndarray`",
    r"_core\.(Operand|Scalar) is not present": "aliases of types",
    r"_core\.no_op ": "measures the cost of a call",
    r"_core_\w+ failed to import": "parts of the stub of `_core`",
    r"TensorBase\.__r?(pow|repr|str)__ ": "`mod` is refused; `prefix` is how `repr` calls itself",
    r"(torch|TensorBase)\.(max|min|median|nanmedian|size|stride) is inconsistent": "overloads by their arguments",
    r"modules\.dropout\.\w+\.function ": "the function of a layer is an attribute of its class",
    r"disjoint_base": "older type checkers do not know the decorator",
    r"pycuda\.driver\.Function\.\w+ is read-only": "properties that a function creates",
    r"pycuda\.driver\.Context\.get_api_version ": "raises: contexts of the driver are not used",
    r"frames\.engine\.Engine is inconsistent, metaclass": "the protocol of a Polars engine",
    r"cuprous\.polars encountered": "the names of Polars, whose expressions stubtest compares",
    r"cuprous\.__main__ failed to import": "the command, which reads its arguments",
    r"library\.CustomOpDef\.default is read-only": "a property of the class of operations",
    r"library\.Recorded@|PackedSequence@base1 ": "classes without a name of their own",
    r"torch\.sym_float\.__new__": "a subclass of Python's float",
    r"cuprous\.(ray|_clients\.for_ray) failed to import.*No module named 'ray'": "where Ray is not installed",
    r"ray\.CuprousConfig\.__init__ .*generated_": "a dataclass of a class of Ray, which may not be installed",
}


def is_private(name: str) -> bool:
    """Returns True for names in private modules or classes. `_core` and `_C` define arrays and tensors."""
    return any(re.match(r"_(?!_|core|C$)", part) for part in re.split(r"[.@]", name))


def test_stubs_are_what_is_there() -> None:
    """Compares all stubs with the code: names, parameters, defaults and kinds."""
    missing = [library for library in NEEDED if not find_spec(library)]  # Keras cannot be imported without a backend
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    line = [sys.executable, "-m", "mypy.stubtest", "cuprous", "--concise", "--ignore-missing-stub",
            "--mypy-config-file", "pyproject.toml"]  # fmt: skip
    changed = environment(MYPYPATH=str(PACKAGE.parent), PYTHONPATH=str(PACKAGE.parent))
    done = subprocess.run(line, capture_output=True, text=True, timeout=1200, cwd=ROOT, env=changed, check=False)
    assert "mypy build errors" not in done.stdout + done.stderr, done.stdout
    lines = [text for text in done.stdout.splitlines() if text.startswith("cuprous.")]
    public = [text for text in lines if not is_private(text.partition(" ")[0])]
    assert [text for text in public if not any(re.search(known, text) for known in DIFFERENCES)] == []
    assert lines  # it ran
