"""Changes of a graph that leave its function as it is; each is a pure function of the graph."""
