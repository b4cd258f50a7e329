"""Step one: from the bytes of a request to an operation with its variables."""
