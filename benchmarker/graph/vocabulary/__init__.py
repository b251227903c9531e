"""The operators, one group a file; ``graph/operators.py`` puts them together."""
