"""The project folder in the database: migrations and their history, seeds, roles; reset, comparison, types, lint."""
