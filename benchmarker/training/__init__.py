"""Training to accuracy: what a recipe says, and the schedules that it names."""
