"""What is shown of records: tables in text."""
