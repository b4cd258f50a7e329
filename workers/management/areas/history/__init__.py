"""History of rows for administrators: reading, undoing and erasing versions."""
