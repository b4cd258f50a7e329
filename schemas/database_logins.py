"""Select the password of each database login of the platform (pure).

The password of role `postgres` belongs to the project and is widely known. It must not open the logins of the
platform: the scheduler's login can create logins for others, and the login that reads the log sees every row. So each
login has a separate password: random on the embedded server, a file each on several machines (docs/operations.md). A
login without one falls back to `db.password`, for older deployments; migrate and `doctor` warn of it.
"""

import hashlib
import hmac
from urllib.parse import unquote, urlsplit

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings

AUTH, STORAGE, SCHEDULER = "supabase_auth_admin", "supabase_storage_admin", "headwater_scheduler"
MANAGEMENT = "headwater_management"
DEVELOPER, READER, VIEWER = "headwater_developer", "headwater_reader", "headwater_viewer"
SESSION_LOGINS = (DEVELOPER, READER, VIEWER)
"""Logins for the SQL of administrators (workers/management): members of `postgres`, of `supabase_read_only_user` and of the
roles of tokens. Their passwords are derived from that of `headwater_management`."""
WITHOUT_PASSWORD = ("supabase_functions_admin", "pgbouncer")
"""Roles with LOGIN that get no password: the platform does not use them, or runs no pooler."""
POOLER = "pgbouncer"
"""Login of the pooler, which gets a password where one runs."""
_OWNER = "postgres"


def password_variables(settings: Settings) -> dict[str, str]:
    """Return the environment variable of each login's password: role -> variable."""
    return {
        settings.db.authenticator: "HEADWATER_DB_AUTHENTICATOR_PASSWORD",
        AUTH: "HEADWATER_DB_AUTH_ADMIN_PASSWORD",
        STORAGE: "HEADWATER_DB_STORAGE_ADMIN_PASSWORD",
        SCHEDULER: "HEADWATER_DB_SCHEDULER_PASSWORD",
        MANAGEMENT: "HEADWATER_DB_MANAGEMENT_PASSWORD",
        settings.realtime.login: "HEADWATER_REALTIME_LOGIN_PASSWORD",
        **({POOLER: "HEADWATER_DB_POOLER_PASSWORD"} if _has_pooler(settings) else {}),
    }


def configured_passwords(settings: Settings) -> dict[str, Secret | None]:
    """Return the password of each login in the settings; None where it is not set."""
    return {
        settings.db.authenticator: settings.db.authenticator_password or _password_of_url(settings),
        AUTH: settings.db.auth_admin_password,
        STORAGE: settings.db.storage_admin_password,
        SCHEDULER: settings.db.scheduler_password,
        MANAGEMENT: settings.db.management_password,
        settings.realtime.login: settings.realtime.login_password,
        **({POOLER: settings.db.pooler.password} if _has_pooler(settings) else {}),
    }


def _has_pooler(settings: Settings) -> bool:
    """Return whether a pooler runs before this database: the embedded one, whose URL only its children know, with the password."""
    pooler = settings.db.pooler
    return pooler.enabled and (settings.db.url is None or pooler.password is not None)


def _password_of_url(settings: Settings) -> Secret | None:
    """Return the password in the database's URL if its user is the data pools' login, as in separately started processes."""
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
    configured = configured_passwords(settings)
    fallback = settings.db.password
    passwords = {role: password or fallback for role, password in configured.items()}
    derived = {login: _session_password(passwords[MANAGEMENT], login) for login in SESSION_LOGINS}
    return {_OWNER: fallback, **passwords, **derived}


def _session_password(management: Secret, login: str) -> Secret:
    """Derive the password of a login for sessions, so that one secret opens all logins of the pool management."""
    return Secret(hmac.new(management.reveal().encode(), login.encode(), hashlib.sha256).hexdigest())


def sharing_logins(settings: Settings) -> list[str]:
    """Return the logins whose password equals that of another login."""
    passwords = login_passwords(settings)
    return [
        role
        for role, password in passwords.items()
        if role != _OWNER
        and any(password.matches(other.reveal()) for name, other in passwords.items() if name != role)
    ]
