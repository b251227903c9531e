"""Suites: published lists of problems with their parameters, as ``--suite`` names them."""
