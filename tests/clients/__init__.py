"""Libraries that nobody here wrote, given Cuprous arrays. `make test-clients` installs and runs them."""
