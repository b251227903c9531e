"""What to run: options, blueprints, the plan, and which run comes next."""
