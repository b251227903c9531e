"""What the kernel tells in text files (``/proc``, ``/sys``, control groups), with the standard library alone."""
