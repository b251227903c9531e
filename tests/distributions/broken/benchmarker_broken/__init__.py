"""Plugins with the faults that plugins have while they are written."""
