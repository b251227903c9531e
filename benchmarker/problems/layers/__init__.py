"""Blocks that several problems are made of: functions of a network, one family a file."""
