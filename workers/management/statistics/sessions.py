"""Which sessions belong to the platform itself. Pure."""

from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES

_OF_PROJECTS = frozenset({"anon", "authenticated", "service_role", "postgres"})


def is_of_platform(role: str | None, is_of_a_client: bool) -> bool:
    """Return whether a session is one of the platform's logins, or a process of the server."""
    if role is None or not is_of_a_client:
        return True
    return role in PLATFORM_ROLES - _OF_PROJECTS or role.startswith(LOGIN_PREFIXES)
