"""Random calls of single functions of arrays, each beside NumPy: values, dtypes, shapes, written operands and errors.

`python -m tests.fuzz.functions --cases 100000 --seed 0`. Case n has seed + n, so that a failure names its case; it is
printed as lines of Python. Operands are Python's and NumPy's scalars and arrays of every dtype with their extremes, NaN
and infinities, of 0-d and empty shapes, with negative strides, broadcast, and aliased by `out=`. Integers and bools
must agree exactly, floats within a bound that depends on the function.

* `operands`: what a call is made of.
* `rows`, `more_rows`, `loops`: the functions, each with how a call of it is drawn.
* `agree`: whether two outcomes are the same.
* `differences`: what differs on purpose, each with its row of `docs/differences.md`.
"""
