"""The embedded Postgres server: its folder, user, extensions, configuration, and throwaway servers."""
