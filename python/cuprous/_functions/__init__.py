"""NumPy's functions of arrays, one module per topic."""
