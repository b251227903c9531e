"""Reading and judging this machine."""
