"""Tests third-party libraries with Cuprous arrays. `make test-clients` installs and runs them."""
