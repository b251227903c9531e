"""A rank of a run that has several."""
