"""Helpers that all functions share: arguments, dtypes, conversion, indexing, devices and implicit transfers."""
