"""Queries on tables: the Polars engine beside Polars."""
