"""The systems that streams write to."""
