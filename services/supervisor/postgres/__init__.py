"""The embedded Postgres server: its folder, user, extensions, configuration, and temporary servers."""
