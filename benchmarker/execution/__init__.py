"""One isolated process: its interpreter, its variables, how it is started, and how it ended."""
