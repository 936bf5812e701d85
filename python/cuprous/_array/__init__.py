"""The parts of the native array type that are written in Python: methods, attributes, other libraries' protocols."""
