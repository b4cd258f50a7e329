"""The time at which the former JWT secret ends (`auth.former_jwt_secret_until`). Pure."""

from datetime import UTC, datetime

from schemas.settings.auth import Auth


def former_secret_ends(auth: Auth) -> float:
    """Return the time in epoch seconds; 0 without a former secret or a time that can be read, so that it is not accepted."""
    if auth.former_jwt_secret is None:
        return 0.0
    try:
        end = datetime.fromisoformat(auth.former_jwt_secret_until.strip())
    except ValueError:
        return 0.0
    return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()
