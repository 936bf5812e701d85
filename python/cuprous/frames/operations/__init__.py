"""The operations of plans on frames."""
