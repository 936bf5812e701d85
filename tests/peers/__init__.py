"""The test suites of NumPy, CuPy, Numba and PyCUDA, run against Cuprous (`make peers`).

None of their code is kept here. `suites.py` says where each suite is found, `binding.py` makes its imports mean
Cuprous, `session.py` runs one file, and `remainder.py` compares the failures with `SUITE_remainder.txt`, which gives a
reason for each test that is known to fail.
"""
