"""Check who could reach the platform from other machines, and with which published secrets (pure)."""

import ipaddress

from schemas.database_logins import login_passwords
from schemas.settings.tree import (
    DEVELOPMENT_DB_PASSWORD,
    DEVELOPMENT_JWT_SECRET,
    DEVELOPMENT_PUBLISHABLE_KEY,
    DEVELOPMENT_SECRET_KEY,
    Settings,
)
from services.supervisor.addresses import hosts_of
from services.supervisor.errors import StartRefused


def check_exposure(settings: Settings) -> None:
    """Reject the published development secrets where other machines could use them.

    Raises: StartRefused with the names of what must be set.
    """
    published = development_secrets(settings)
    if published and not is_loopback(settings.gateway.host):
        raise StartRefused(
            f"The host {settings.gateway.host} can be reached from outside, and these still have their well-known "
            f"development values: {', '.join(published)}. Make random ones with `headwater keys >> .env`."
        )
    tls = settings.db.tls
    if tls.enabled and not is_loopback(tls.host) and settings.db.password.matches(DEVELOPMENT_DB_PASSWORD):
        raise StartRefused(
            f"Other machines reach the database at {tls.host} (db.tls.host), and the password of role postgres is the well-known "
            "development one. Set HEADWATER_DB_PASSWORD (`headwater keys` makes a random one)."
        )
    outside = settings.db.url
    weak = any(password.matches(DEVELOPMENT_DB_PASSWORD) for password in login_passwords(settings).values())
    if outside and weak and not all(is_loopback(host) for host in hosts_of(outside.reveal())):
        raise StartRefused(
            "The database is on another machine, and the password of its login roles would be the well-known development "
            "one. Set HEADWATER_DB_PASSWORD (`headwater keys` makes a random one)."
        )


def exposure_warnings(settings: Settings) -> list[str]:
    """Return warnings about settings that are safe on this machine alone, but not where others reach the platform, or that open nothing."""
    return [*_unused_tls(settings), *_unconfirmed_warnings(settings)]


def _unused_tls(settings: Settings) -> list[str]:
    tls = settings.db.tls
    if tls.enabled and settings.db.url is not None:
        return [
            "[db.tls] is for the embedded database and its pooler, so it has no effect on that of db.url."
        ]
    if not tls.enabled and tls.host != type(tls)().host:
        return ["db.tls.host (--db-host) has no effect without db.tls.enabled (--db-tls)."]
    return []


def _unconfirmed_warnings(settings: Settings) -> list[str]:
    auth = settings.auth
    if is_loopback(settings.gateway.host) or not (auth.enabled and auth.enable_signup):
        return []
    unconfirmed = [
        (auth.email.enable_signup and not auth.email.enable_confirmations, "email", "e-mail addresses"),
        (auth.sms.enable_signup and not auth.sms.enable_confirmations, "sms", "phone numbers"),
    ]
    return [
        f"Sign-ups with {what} are not confirmed, and the host {settings.gateway.host} can be reached from outside: anybody "
        f"may sign up with what belongs to somebody else. Set auth.{area}.enable_confirmations = true."
        for is_unconfirmed, area, what in unconfirmed
        if is_unconfirmed
    ]


def development_secrets(settings: Settings) -> list[str]:
    """Return the environment names of the secrets that still have their published development values."""
    published = {
        "HEADWATER_AUTH_JWT_SECRET": (settings.auth.jwt_secret, DEVELOPMENT_JWT_SECRET),
        "HEADWATER_AUTH_PUBLISHABLE_KEY": (settings.auth.publishable_key, DEVELOPMENT_PUBLISHABLE_KEY),
        "HEADWATER_AUTH_SECRET_KEY": (settings.auth.secret_key, DEVELOPMENT_SECRET_KEY),
        "HEADWATER_DB_PASSWORD": (settings.db.password, DEVELOPMENT_DB_PASSWORD),
    }
    return [name for name, (value, development) in published.items() if value.matches(development)]


def is_loopback(host: str) -> bool:
    """Return whether an address (or the folder of a Unix socket) is reachable from this machine only."""
    if host == "localhost" or host.startswith("/") or host == "":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
