"""The code inside the isolated process: standard library, NumPy and one framework, nothing else."""
