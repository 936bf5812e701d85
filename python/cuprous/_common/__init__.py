"""Shared by all functions: arguments, dtypes, conversion, indexing, devices and implicit transfers."""
