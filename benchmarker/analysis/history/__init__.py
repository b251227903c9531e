"""A number over time on a machine."""
