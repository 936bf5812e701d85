"""Columns of tables on the device, and the way to and from Polars' memory."""
