"""Sessions and refresh tokens."""
