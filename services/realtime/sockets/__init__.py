"""The WebSocket of a client: reading, writing, limits and its channels."""
