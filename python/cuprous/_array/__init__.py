"""What Python gives the native array type: methods, attributes, and the protocols of other libraries."""
