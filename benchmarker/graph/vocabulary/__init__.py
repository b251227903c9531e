"""The operators, one group per file; ``graph/operators.py`` puts them together."""
