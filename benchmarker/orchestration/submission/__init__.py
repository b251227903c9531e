"""Experiments as jobs of a batch system: submitted, looked at, cancelled, and gone on with."""
