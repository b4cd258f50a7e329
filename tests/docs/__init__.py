"""The examples of the documentation."""
