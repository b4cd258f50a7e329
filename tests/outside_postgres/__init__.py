"""Other versions of Postgres than the embedded one, and the platform on them (`make test-postgres`)."""
