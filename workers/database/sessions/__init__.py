"""Single sessions outside the connection pool: superuser sessions, throwaway logins, the leader's session, scripts."""
