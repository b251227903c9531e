"""Data sets: read in their true formats, kept as plain arrays that every framework's worker can read."""
