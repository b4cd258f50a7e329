"""The wing to the database: one folder a pool."""
