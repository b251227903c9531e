"""Users' own operators outside of any framework: Python functions, and C++ compiled at first use, on memory."""
