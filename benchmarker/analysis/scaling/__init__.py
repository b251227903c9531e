"""What a step would take on more ranks than were measured: predictions, never mixed with measurements."""
