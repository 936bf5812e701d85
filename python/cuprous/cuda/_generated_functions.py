"""Python functions that the package generates. Kernels are compiled from source, so generated functions have source."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from cuprous.cuda import types
from cuprous.cuda._jit import jit

_numbers = itertools.count()

#: Types in generated CUDA C++ -> dtypes.
_FROM_C = {
    "bool": "bool", "float": "float32", "double": "float64", "half": "float16", "__half": "float16",
    "bfloat16": "bfloat16", "__nv_bfloat16": "bfloat16", "complex64": "complex64", "complex128": "complex128",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "int": "int32",
}  # fmt: skip


def make_function(name: str, params: list[str], body: list[str], names: Mapping[str, Any]) -> FunctionType:
    """Creates the function `def name(params): body` with the globals `names`."""
    name = re.sub(r"\W", "_", name)  # `<lambda>` is not an identifier
    lines = [f"def {name}({', '.join(params)}):\n", *(f"    {line}\n" for line in body)]
    file = f"<made by cuprous: {name} {next(_numbers)}>"
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    space = dict(names)
    exec(compile("".join(lines), file, "exec"), space)
    function = space[name]
    assert isinstance(function, FunctionType)
    return function


def result_types(core: Any, keys: list[types.Type]) -> list[str]:
    """The dtypes that a device function returns for arguments of these types: none, one, or those of a tuple."""
    params = [f"p{k}" for k in range(len(keys))]
    probe = jit(make_function("probe", params, [f"core({', '.join(params)})"], {"core": core}))
    code = probe.cuda_source(tuple(keys))
    declared = {name: kind for kind, name in re.findall(r"(?m)^static __device__ (\w+) (\w+)\(.*\);$", code)}
    called = re.search(r"(?m)^    (?:.* = )?(\w+)\(p0.*\);$", code[code.index("__global__ void probe(") :])
    found = declared.get(called[1], "void") if called else "void"
    if found == "void":
        return []
    if found in _FROM_C:
        return [_FROM_C[found]]
    fields = re.search(rf"struct {found} {{ (.*?) }};", code)
    parts = [part.rsplit(" ", 1)[0] for part in fields[1].rstrip(";").split("; ")] if fields else []
    if not parts or not all(part in _FROM_C for part in parts):
        raise TypeError(f"{core.__name__} returns {found}, which is neither a number nor a tuple of numbers")
    return [_FROM_C[part] for part in parts]
