"""Tools beside computing: estimates, profiles, timing, the report of kernels and the demonstration."""
