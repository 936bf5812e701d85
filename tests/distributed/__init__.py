"""Jobs of several processes."""
