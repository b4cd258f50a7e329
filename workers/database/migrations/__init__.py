"""The migrations of the platform's own schemas, and what settings decide about the database."""
