"""Benchmarks against peers, in one run on one machine: `python -m bench.run`. Never compare figures of two machines."""
