"""Keys that the gateway verifies."""
