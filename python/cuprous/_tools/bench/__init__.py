"""`cuprous bench`: Cuprous beside the array libraries that are installed, on this machine."""
