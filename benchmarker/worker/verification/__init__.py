"""The proof that a program computes what it should."""
