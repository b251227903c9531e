"""Training to accuracy inside the worker: its data, the loop, evaluation, and what becomes of the weights."""
