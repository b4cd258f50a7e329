"""Names that every platform's database has: what belongs to the platform and not to the project."""

PLATFORM_SCHEMAS = (
    "_realtime", "auth", "cron", "extensions", "graphql", "graphql_public", "headwater", "net", "pgbouncer", "pgmq",
    "pgsodium", "pgtle", "realtime", "storage", "supabase_functions", "supabase_migrations", "vault",
)  # fmt: skip
"""Schemas that every platform, or one of its extensions, makes itself."""

PLATFORM_ROLES = frozenset({
    "anon", "authenticated", "authenticator", "dashboard_user", "pgbouncer", "postgres", "service_role",
    "supabase_admin", "supabase_auth_admin", "supabase_etl_admin", "supabase_functions_admin",
    "supabase_read_only_user", "supabase_realtime_admin", "supabase_replication_admin", "supabase_storage_admin",
    "headwater_http", "headwater_scheduler", "headwater_sweeper",
})  # fmt: skip
"""Roles that every platform makes itself."""

LOGIN_PREFIXES = ("headwater_job_", "headwater_http_", "headwater_login_")
"""How names of logins begin that a database makes for itself: its owners' jobs, its requests over HTTP, one task's sessions."""
