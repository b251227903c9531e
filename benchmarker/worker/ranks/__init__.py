"""A rank of a run that has several: its place, its program, its proof."""
