"""Training steps of whole networks, by `cuprous.torch` and by PyTorch: `python -m bench.learning`."""
