"""Training on several ranks: what is sent, and how long that takes by the formulas of the literature."""
