"""Image transformation as values, and how they are read from requests."""
