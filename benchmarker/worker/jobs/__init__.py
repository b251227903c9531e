"""What a worker can be asked, one module a question."""
