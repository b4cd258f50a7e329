"""Background removal of bytes and rows that are not needed any more."""
