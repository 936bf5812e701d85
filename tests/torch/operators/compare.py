"""Calls what `record` recorded and compares: `python -m tests.torch.operators.compare FOLDER [--only REGEX]`.

Values, dtypes, shapes, gradients and classes of errors are compared. A result that differs beyond rounding, but is
nearer than PyTorch's own to the result in float64, is right.
"""

from __future__ import annotations

import argparse
import pickle
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import cuprous.torch as torch
from tests.torch.operators import modules
from tests.torch.operators.encoding import (
    Unencodable,
    attribute,
    decode,
    numpy_dtype,
    overlaps,
    tensors,
    values,
    weighted,
)

TOLERANCES = {
    "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9), "float32": (1e-4, 2e-5), "complex64": (1e-4, 2e-5),
    "bfloat16": (2e-2, 1e-2), "float16": (3e-3, 2e-3),
}  # fmt: skip
LOW = ("float32", "complex64", "bfloat16", "float16")
REMAINDER = Path(__file__).with_name("remainder.txt")
#: Differences that need no reason each.
EXPECTED = ("equal", "missing", "lenient")
#: Errors of names that Cuprous lacks and says so; `docs/coverage.md` lists them.
MISSING = re.compile(r"is not supported|has no attribute")


def main() -> int:
    """Compares, prints what differs and is not in the remainder, and returns 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    # The results that were recorded are those of a CPU.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    known, seen, count, shown = remainder(), set(), Counter[str](), Counter[tuple[str, ...]]()
    for operator, name, case, kind, text in found(arguments.folder, arguments.only, arguments.device):
        count[kind] += 1
        key = (kind, operator)
        if kind in EXPECTED or key in known:
            seen.add(key)
            continue
        count["unknown"] += 1
        shown[kind, name, case["dtype"]] += 1
        if shown[kind, name, case["dtype"]] <= 2:
            print(f"{kind}: {operator}, {name}, {brief(case['operands'])}: {text[:300]}", flush=True)
    print(", ".join(f"{kind} {n}" for kind, n in sorted(count.items())))
    for kind, name in sorted(known - seen) if not arguments.only else ():
        print(f"in the remainder, but not seen: {kind} {name}")
    return 1 if count["unknown"] else 0


def found(folder: Path, only: str, device: str) -> Iterator[tuple[str, str, Any, str, str]]:
    """Yields what was compared: operator or module, how it was called, the case, kind and text of the difference."""
    for file in sorted(folder.glob("*.pkl")):
        operator = pickle.loads(file.read_bytes())
        if not re.search(only, operator["name"]):
            continue
        for case in (*operator["cases"], *operator["errors"]):
            for how, name, outcome, slopes in case["calls"]:
                for kind, text in differences(case, how, name, outcome, slopes, device):
                    yield operator["name"], name, case, kind, text
    file = folder / "modules.pickle"
    if file.exists() and re.search(only, "modules"):
        for case in pickle.loads(file.read_bytes()):
            for kind, text in modules.differences(torch, case, device, unequal):
                yield case["name"], case["class"], case, kind, text


def remainder() -> set[tuple[str, str]]:
    """Returns the differences that have a reason: kind and operator."""
    lines = [line for line in REMAINDER.read_text().splitlines() if line.startswith("  ")]
    return {(line.split()[0], name) for line in lines for name in line.split()[1:]}


def differences(case: Any, how: str, name: str, outcome: Any, slopes: Any, device: str) -> Iterator[tuple[str, str]]:
    """Yields how a call differs from PyTorch's: the kind and a text."""
    input = case["operands"][1][0]
    if outcome[0] == "unknown" or (name.endswith("_") and input[0] == "tensor" and overlaps(input[1])):
        return
    try:
        result = call(case, how, name, device)
        for found in tensors(torch, result):
            found.cpu()
    except Unencodable:
        return
    except Exception as error:
        if isinstance(error, (AttributeError, NotImplementedError)) and MISSING.search(str(error)):
            yield "missing", str(error)
        elif outcome[0] == "result":
            yield "raises", f"{type(error).__name__}: {error}"
        elif outcome[1] not in {kind.__name__ for kind in type(error).__mro__}:
            yield "error", f"{type(error).__name__}: {error}, not {outcome[1]}: {outcome[2]}"
        else:
            yield "equal", ""
        return
    if outcome[0] == "error":
        # Numbers where PyTorch's parser of arguments asks for tensors, and the reverse.
        yield "lenient" if outcome[1] == "TypeError" else "accepts", f"no {outcome[1]}: {outcome[2]}"
        return
    difference = unequal(result, outcome[1])
    if (
        difference
        and case["dtype"] in LOW
        and "values" in difference
        and is_nearer(case, how, name, result, outcome, device)
    ):
        difference = ""
    yield ("values" if difference else "equal"), difference
    if slopes is not None and not difference:
        difference = unequal_gradients(case, name, slopes, device)
        yield ("gradient" if difference else "equal"), difference


def call(case: Any, how: str, name: str, device: str, double: bool = False) -> Any:
    """Returns the result of Cuprous's function or method."""
    input, args, kwargs = decode(torch, case["operands"], device, double)
    function = attribute(torch, name) if how == "function" else getattr(type(input), name)
    return function(input, *args, **kwargs)


def host(x: Any) -> np.ndarray[Any, Any]:
    """Returns a tensor as an array of NumPy."""
    x = x.detach().cpu()
    found: np.ndarray[Any, Any] = (
        x.float().numpy().astype(numpy_dtype("bfloat16")) if x.dtype == torch.bfloat16 else x.numpy()
    )
    return found


def unequal(result: Any, data: Any, path: str = "") -> str:
    """Returns how a result differs from an encoded one, or an empty text."""
    kind, expected = data
    if kind == "tensor":
        if not isinstance(result, torch.Tensor):
            return f"{path}{type(result).__name__}, not a tensor"
        dtype = str(result.dtype).removeprefix("torch.")
        if (dtype, tuple(result.shape)) != (expected[1], expected[2]):
            return f"{path}{dtype}{list(result.shape)}, not {expected[1]}{list(expected[2])}"
        return path * bool(text := unequal_values(host(result), values(expected), dtype)) + text
    if kind in ("list", "tuple", "size"):
        if not isinstance(result, (list, tuple)) or len(result) != len(expected):
            return f"{path}{type(result).__name__} is not a sequence of {len(expected)}"
        parts = (
            unequal(item, other, f"{path}[{k}]") for k, (item, other) in enumerate(zip(result, expected, strict=True))
        )
        return next(filter(None, parts), "")
    if kind == "plain":
        if isinstance(expected, (float, complex)):
            same = isinstance(result, (int, float, complex)) and np.isclose(
                result, expected, 1e-4, 1e-5, equal_nan=True
            )
        else:
            same = type(result) is type(expected) and result == expected
        return "" if same else f"{path}{result!r}, not {expected!r}"
    return ""


def unequal_values(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], dtype: str) -> str:
    """Returns where arrays of one shape and dtype differ, or an empty text."""
    if dtype in ("bfloat16", "float16"):
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    with np.errstate(all="ignore"):
        relative, absolute = TOLERANCES.get(dtype, (0, 0))
        close = np.isclose(result, expected, relative, absolute, equal_nan=True) if relative else result == expected
    wrong = ~np.asarray(close)
    if not wrong.any():
        return ""
    at = np.unravel_index(np.argmax(wrong), wrong.shape)
    return f"values: {int(wrong.sum())} of {wrong.size}, at {[int(k) for k in at]} {result[at]}, not {expected[at]}"


def is_nearer(case: Any, how: str, name: str, result: Any, outcome: Any, device: str) -> bool:
    """Returns True if a result is at most as far as PyTorch's from the result in float64, or nearly so."""
    try:
        exact = call(case, how, name, device, double=True)
    except Exception:
        return False
    theirs = list(encoded_tensors(outcome[1]))
    ours, exact = tensors(torch, result), tensors(torch, exact)
    if not len(theirs) == len(ours) == len(exact):
        return False
    for our, their, right in zip(ours, theirs, exact, strict=True):
        a, b, c = (np.asarray(x).astype(np.complex128) for x in (host(our), values(their), host(right)))
        if not np.isfinite(b).all() or np.abs(a - c).max(initial=0) > 2 * np.abs(b - c).max(initial=0) + 1e-30:
            return False
    return True


def encoded_tensors(data: Any) -> Iterator[Any]:
    """Yields the encoded floating tensors in a value, in order."""
    kind, x = data
    if kind == "tensor" and x[1].startswith(("float", "bfloat", "complex")):
        yield x
    elif kind in ("list", "tuple", "dict"):
        for item in x.values() if kind == "dict" else x:
            yield from encoded_tensors(item)


def unequal_gradients(case: Any, name: str, slopes: Any, device: str) -> str:
    """Returns how gradients differ, or an empty text. No gradient and zeros are the same."""
    input, args, kwargs = decode(torch, case["operands"], device)
    leaves = [leaf.requires_grad_() for leaf in tensors(torch, (input, args, kwargs))]
    try:
        total = weighted(torch, attribute(torch, name)(input, *args, **kwargs))
        found = [None] * len(leaves) if total is None else torch.autograd.grad(total, leaves, allow_unused=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for k, (gradient, expected) in enumerate(zip(found, slopes, strict=True)):
        if expected is None or gradient is None:
            other = (
                host(gradient) if gradient is not None else values(expected[1]) if expected is not None else np.zeros(1)
            )
            if np.any(other != 0):
                return f"leaf {k}: {'no' if gradient is None else 'a'} gradient"
        elif text := unequal(gradient, expected, f"leaf {k}: "):
            return text
    return ""


def brief(data: Any) -> str:
    """Returns an encoded value in a few words."""
    kind, x = data
    if kind == "tensor":
        return f"{x[1]}{list(x[2])}"
    if kind == "dict":
        return "{" + ", ".join(f"{key}={brief(value)}" for key, value in x.items()) + "}"
    return "(" + ", ".join(map(brief, x[:8])) + ")" if isinstance(x, list) else str(x)[:60]


if __name__ == "__main__":
    sys.exit(main())
