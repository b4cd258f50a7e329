"""Sign-in by other services: what a provider is, and what one says of its user."""
