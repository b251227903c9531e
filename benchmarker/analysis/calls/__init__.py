"""What users call: the commands as functions of Python."""
