"""Replication: one leader reads the write-ahead log, decodes it once and publishes the changes."""
