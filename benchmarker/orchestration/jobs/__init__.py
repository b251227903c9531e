"""Questions that an isolated worker answers outside of a run."""
