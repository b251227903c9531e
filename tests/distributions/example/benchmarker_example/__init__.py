"""A distribution of somebody else: a framework, a problem, a collector, a chart, a data set and a scheme."""
