"""Containers as environments: the worker inside one, the orchestrator outside."""
