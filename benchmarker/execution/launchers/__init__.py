"""Where an isolated process starts."""
