"""Tools for developers: estimates, profiles, timing, the kernel report and the demonstration."""
