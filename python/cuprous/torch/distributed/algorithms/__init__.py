"""Algorithms on groups: communication hooks of `DistributedDataParallel`."""
