"""Expressions on columns, by Polars' rules."""
