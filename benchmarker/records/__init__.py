"""One record: its schema, how it is assembled, stored and read."""
