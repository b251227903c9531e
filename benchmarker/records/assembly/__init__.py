"""What is known of a run becomes its record."""
