"""The test suites of NumPy, CuPy, Numba, PyCUDA, dask and Keras, run against Cuprous (`make peers`).

This repository has none of their code. `suites.py` has the location of each suite, `binding.py` makes its imports mean
Cuprous, `numpy_names.py`, `cupy_names.py` and `numba_names.py` lend what tests import beside the public API,
`session.py` runs the files of a folder, and `remainder.py` compares the failures with `SUITE_remainder.txt`, which
gives a reason for each test that is known to fail. `children` binds the imports of processes that tests start.
"""
