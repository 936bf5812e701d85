"""Random programs of views, writes and aliases, run by NumPy and by Cuprous and compared.

`python -m tests.fuzz --programs 100000 --seed 0 --device cpu` from the repository's root.

A program is a list of Python lines over `xp` (NumPy or Cuprous), inputs `i0, i1, ...`, scalars `k0, k1` and variables.
It is drawn while NumPy executes it, so every line is valid. Beside each array the generator keeps a `Bound` that holds
for all inputs of the program: results that float arithmetic can hold exactly are compared exactly, all others within
their accumulated rounding error.
"""
