"""The command line: one file a command; each parses and prints, and decides nothing."""
