"""`fully_shard` under its older name."""
