"""Pure: SQL text and parameters, no connection."""
