"""Branches of a database: copying one that runs, making the copy another platform's, and merging its schema back."""
