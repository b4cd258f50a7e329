"""The gateway edge: HTTP in, messages out."""
