"""The database side: one folder a pool."""
