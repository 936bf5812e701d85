"""Compares the prelude's arithmetic, built for the CPU, with NumPy and SciPy on edge cases.

Argument: the built library."""

import ctypes
import subprocess
import sys
import warnings

import numpy as np
import scipy.special as special

warnings.simplefilter("ignore")
np.seterr(all="ignore")

# Differences that are intended, or that are due to the shim, with the reason.
KNOWN = {
    "lcm": "an overflowing result is made positive, as on the CPU",
    "i0": "the shim's Bessel function fails on subnormals and stops at 700",
    "sinc": "sinpi is exact at whole numbers, sin(pi x) is not",
    "reciprocal_complex": "1 / 0 is inf + nan j, as on the CPU; NumPy's own loop gives nan",
    "power_complex": "an infinite imaginary part squared is NaN",
    "spacing_float16": "NumPy's is positive for negative float16; ours has the operand's sign, as for wider floats",
    "uint32": "out-of-range values are undefined; ours go through int64, as on the CPU",
}
TYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SCIPY = {"gamma", "gammaln", "digamma", "expit", "ndtr", "i0"}
rng = np.random.default_rng(0)


def known(name: str, is_cast: bool) -> bool:
    return any(name.startswith(k) for k in KNOWN) or (is_cast and name.endswith("_uint32"))


def operands(name: str) -> tuple[np.ndarray, np.ndarray]:
    d = np.dtype(name)
    if d.kind == "c":
        parts = [0, -0.0, 1, -1, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-3, 30.0, -30.0, 0.7, *rng.normal(size=6)]
        values = np.array([complex(x, y) for x in parts for y in parts], dtype=d)
        return values, np.roll(values, 17)
    if d.kind in "iu":
        info = np.iinfo(d)
        few = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1, -2, -3, -8]
        few += [info.max, info.max - 1, info.min, info.min + 1]
        values = np.array([x for x in few if info.min <= x <= info.max], dtype=d)
    else:
        info = np.finfo(d)
        few = [0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 1.5, -1.5, 2.5, 10, -10, 100.25, np.inf, -np.inf, np.nan]
        few += [info.max, info.min, info.tiny, info.smallest_subnormal, -info.smallest_subnormal, 0.1, 7.3, -7.3]
        values = np.concatenate([np.array(few, dtype=d), 3 * rng.normal(size=30).astype(d)])
    a, b = np.meshgrid(values, values)
    return np.ascontiguousarray(a.ravel()), np.ascontiguousarray(b.ravel())


def agree(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if got.dtype.kind not in "fc":
        return got == want
    slack = {2: 4e-3, 4: 4e-6, 8: 1e-13}[got.real.dtype.itemsize]

    def close(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        room = slack * (np.abs(y) + (1 if got.dtype.kind == "c" else 1e-3))
        return (np.isnan(x) & np.isnan(y)) | (x == y) | (np.abs(x - y) <= room)

    if got.dtype.kind == "f":
        return close(got, want)
    return (close(got.real, want.real) & close(got.imag, want.imag)) | (np.abs(got - want) <= slack * np.abs(want))


def main(path: str) -> int:
    library = ctypes.CDLL(path)
    listing = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    failures = checked = 0
    for name in sorted(line.split()[-1] for line in listing.splitlines()):
        function, _, dtype = name.rpartition("_")
        is_cast = name.startswith("cast_")
        if known(name, is_cast) or not (is_cast or dtype in TYPES):
            continue
        if is_cast:
            _, source, target = name.split("_")
            a, b = operands(source)
            want = a.astype(target)
        else:
            a, b = operands(dtype)
            ufunc = getattr(special if function in SCIPY else np, function)
            want = ufunc(a, b) if ufunc.nin == 2 else ufunc(a)
            want = want if want.dtype == bool else want.astype(a.dtype)
        got = np.empty(len(a), dtype=want.dtype)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, got)]
        getattr(library, name)(*pointers, ctypes.c_long(len(a)))
        wrong = np.flatnonzero(~agree(got, want))
        checked += 1
        if len(wrong):
            failures += 1
            print(name, [(a[k], b[k], "is", got[k], "not", want[k]) for k in wrong[:4]])
    print(f"{checked} functions checked, {failures} differ")
    return min(failures + (checked < 400), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
