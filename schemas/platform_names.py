"""List the schemas and roles of a database that belong to the platform and not to the project."""

PLATFORM_SCHEMAS = (
    "_realtime", "auth", "cron", "extensions", "graphql", "graphql_public", "headwater", "headwater_history", "headwater_jobs",
    "net", "pgbouncer", "pgmq", "pgsodium", "pgtle", "realtime", "storage", "supabase_functions", "supabase_migrations", "vault",
)  # fmt: skip
"""Schemas that the platform or one of its extensions creates."""

PLATFORM_ROLES = frozenset({
    "anon", "authenticated", "authenticator", "dashboard_user", "pgbouncer", "postgres", "service_role",
    "supabase_admin", "supabase_auth_admin", "supabase_etl_admin", "supabase_functions_admin",
    "supabase_read_only_user", "supabase_realtime_admin", "supabase_replication_admin", "supabase_storage_admin",
    "headwater_developer", "headwater_http", "headwater_management", "headwater_reader", "headwater_scheduler", "headwater_sweeper",
    "headwater_vault", "headwater_viewer", "cli_login_postgres", "cli_login_supabase_read_only_user",
})  # fmt: skip
"""Roles that the platform creates."""

LOGIN_PREFIXES = ("headwater_job_", "headwater_http_", "headwater_login_")
"""Prefixes of logins that the database creates itself: for jobs of its roles, requests over HTTP, the sessions of one task."""
