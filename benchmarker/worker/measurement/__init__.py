"""Timing a program, and what is measured beside it."""
