"""Tests of tables: the Polars engine beside Polars itself. Without Polars they are skipped."""
