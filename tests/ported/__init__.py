"""Programs as people write them with NumPy, run with Cuprous by one replaced import."""
