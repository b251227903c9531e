"""The built-in collectors: what the machine and its software are, and what they did during a run.

Each reads quick facts from files when its context is entered (well under a millisecond each, as a
rule), and hands whatever takes longer to a child process or a thread that runs while the worker
imports its framework and is waited for before anything is timed. A fact that the system does not
tell is ``None``.
"""
