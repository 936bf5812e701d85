"""Compares random calls of single array functions with NumPy: values, dtypes, shapes, written operands and errors.

`python -m tests.fuzz.functions --cases 100000 --seed 0`. Case n has seed + n, so that a failure names its case; it is
printed as lines of Python. Operands are Python's and NumPy's scalars and arrays of every dtype with their extremes, NaN
and infinities, of 0-d and empty shapes, with negative strides, broadcast, and aliased by `out=`. Integers and bools
must agree exactly, floats within a bound that depends on the function.

* `operands`: the arguments of a call.
* `rows`, `more_rows`, `loops`: the functions, each with a generator of calls.
* `agree`: compares two outcomes.
* `differences`: intended differences, each with its row of `docs/differences.md`.
"""
