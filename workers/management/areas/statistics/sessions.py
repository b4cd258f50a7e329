"""Which sessions belong to the platform itself, so that a signal to them needs a confirmation. Pure."""

from schemas.database_logins import DEVELOPER, READER, VIEWER
from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES

_OF_PROJECTS = frozenset({"anon", "authenticated", "service_role", "postgres"})
_RUN_SQL_OF_PROJECTS = frozenset({
    "authenticator", "cli_login_postgres", "cli_login_supabase_read_only_user", DEVELOPER, READER, VIEWER,
})  # fmt: skip
"""Logins of the platform whose statements are requests of clients or texts of administrators."""


def is_of_platform(role: str | None, is_of_a_client: bool) -> bool:
    """Return whether a session is of one of the platform's logins, or a process of the server."""
    if role is None or not is_of_a_client:
        return True
    return role in PLATFORM_ROLES - _OF_PROJECTS or role.startswith(LOGIN_PREFIXES)


def does_platform_work(role: str | None, is_of_a_client: bool) -> bool:
    """Return whether the statements of a session are the platform's own, such as reading the log of changes."""
    if role is None or not is_of_a_client:
        return True
    return is_of_platform(role, is_of_a_client) and not (
        role in _RUN_SQL_OF_PROJECTS or role.startswith(LOGIN_PREFIXES)
    )
