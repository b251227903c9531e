"""A distribution of somebody else: a framework, a problem and a collector."""
