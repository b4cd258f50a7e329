"""Which passwords the logins of the platform have: one secret a login (pure).

Whoever knows the password of role `postgres` (the project's own, in many hands) must not open the logins of the platform:
the scheduler's may ask for logins of others, and the reader of the log sees every row. So each has a password of its own:
random on the embedded server (services/supervisor/launch.py), a file each on many machines (docs/operations.md). A login
without one falls back to `db.password`, for deployments that were made before; migrate and `doctor` warn of it.
"""

from urllib.parse import unquote, urlsplit

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings

AUTH, STORAGE, SCHEDULER = "supabase_auth_admin", "supabase_storage_admin", "headwater_scheduler"
WITHOUT_PASSWORD = ("supabase_functions_admin", "pgbouncer")
"""Roles that may log in, and that no part of the platform logs in as: they get no password."""
_OWNER = "postgres"


def password_variables(settings: Settings) -> dict[str, str]:
    """Return the environment name of each login's own password: role -> variable."""
    return {
        settings.db.authenticator: "HEADWATER_DB_AUTHENTICATOR_PASSWORD",
        AUTH: "HEADWATER_DB_AUTH_ADMIN_PASSWORD",
        STORAGE: "HEADWATER_DB_STORAGE_ADMIN_PASSWORD",
        SCHEDULER: "HEADWATER_DB_SCHEDULER_PASSWORD",
        settings.realtime.login: "HEADWATER_REALTIME_LOGIN_PASSWORD",
    }


def own_passwords(settings: Settings) -> dict[str, Secret | None]:
    """Return the password that the settings give each login; None where they give none."""
    return {
        settings.db.authenticator: settings.db.authenticator_password or _in_the_url(settings),
        AUTH: settings.db.auth_admin_password,
        STORAGE: settings.db.storage_admin_password,
        SCHEDULER: settings.db.scheduler_password,
        settings.realtime.login: settings.realtime.login_password,
    }


def _in_the_url(settings: Settings) -> Secret | None:
    """Return the password in the database's URL if that is of the data pools' login, as it is for processes by themselves."""
    if settings.db.url is None:
        return None
    try:
        parts = urlsplit(settings.db.url.reveal())
    except ValueError:
        return None
    is_theirs = unquote(parts.username or "") == settings.db.authenticator
    return Secret(unquote(parts.password)) if is_theirs and parts.password else None


def login_passwords(settings: Settings) -> dict[str, Secret]:
    """Return the password of every login of the platform, role `postgres` included."""
    own = {role: own or settings.db.password for role, own in own_passwords(settings).items()}
    return {_OWNER: settings.db.password, **own}


def sharing_logins(settings: Settings) -> list[str]:
    """Return the logins that have the password of another one."""
    passwords = login_passwords(settings)
    return [
        role
        for role, password in passwords.items()
        if role != _OWNER
        and any(password.matches(other.reveal()) for name, other in passwords.items() if name != role)
    ]
