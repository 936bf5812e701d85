"""Programs as users write them, for type checkers and to be run."""
