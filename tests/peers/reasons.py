"""Why a test fails, told by the error: what `--update` writes for tests that no list has yet.

A rule has three regular expressions (suite, file and test, error) and the reason. The first that matches counts. An
error that could be a wrong result has no rule for all tests: each is looked at.
"""

from __future__ import annotations

import re

_DTYPES = "documented: dtypes of objects, text, dates, records, long doubles and foreign byte orders"
_PRIVATE = "private: looks into the peer's own modules"
_OPERANDS = "documented: NumPy arrays as operands"
_GPU = "needs a GPU"

RULES: tuple[tuple[str, str, str, str], ...] = (
    (".*", "", r"ends the process|hangs", "crash"),
    # dtypes and classes
    (".*", "", r"dtype .* is not supported on a device|Unsupported dtype", _DTYPES),
    (".*", "", r"it would become an array of Python objects|numpy\.c?longdouble|float128|complex256", _DTYPES),
    (".*", "", r"Unsupported type <class 'numpy\.(str_|bytes_|void|datetime64|timedelta64)", _DTYPES),
    (".*", "", r"not an acceptable base type", "documented: no subclasses of ndarray"),
    (".*", "", r"numpy\.(ma\.|matrix)|MaskedArray", "documented: no masked arrays and matrices"),
    (".*", "", r"ImplicitConversionError|Unsupported type <class .numpy\.ndarray", _OPERANDS),
    (".*", "", r"Unsupported type <class '(list|tuple|range)'>", "documented: ufuncs and operators take no lists"),
    (".*", "", r"fpe error|FloatingPointError|RuntimeWarning", "documented: no floating-point warnings"),
    (".*", "", r"not a multiple of \w+'s size|are not multiples of the item size", "views at unaligned bytes"),
    # the peer's own modules
    (".*", "", r"No module named '\w+(\.\w+)*\._\w+|has no attribute '_\w+'|No module named 'cupy_backends", _PRIVATE),
    ("numpy", "", r"has no attribute '(setflags|ctypes|__array_interface__|newbyteorder|byteswap)'",
     "documented: the array's layout and memory are not NumPy's"),
    ("numpy", "", r"'writeable' is read-only|attribute '(shape|strides|dtype)' of .* not writable",
     "documented: the array's layout and memory are not NumPy's"),
    # what there is none of
    (".*", "", r"runs on a GPU only|no usable GPU|needs a GPU|needs a CUDA device|__cuda_array_interface__", _GPU),
    (".*", "", r"got an unexpected keyword argument '(\w+)'", "missing: an argument"),
    (".*", "", r"takes .* positional arguments? but|positional arguments? but", "missing: an argument"),
    (".*", "", r"No module named|has no attribute|cannot import name", "missing: a name"),
    (".*", "", r"NotImplementedError", "missing: NotImplementedError says what"),
    (".*", "", r"Regex pattern did not match", "wording: another text of the same error"),
)  # fmt: skip


def reason_for(suite: str, test: str, error: str) -> str | None:
    """Returns the reason of the first rule that matches, None if there is none."""
    for suites, tests, errors, reason in RULES:
        if re.fullmatch(suites, suite) and re.search(tests, test) and re.search(errors, error):
            return reason
    return None
