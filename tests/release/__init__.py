"""What is released."""
