"""The key of the former JWT secret, which verifies tokens until its time is over (`auth.former_jwt_secret`). Pure."""

from dataclasses import replace

from schemas.keys.token_keys import KeySet, read_keys
from schemas.settings.auth import Auth
from schemas.settings.former_secret import former_secret_ends


def former_keys(auth: Auth) -> KeySet:
    """Return the key, to be tried after all others; none without a former secret. Raises: ValueError."""
    if auth.former_jwt_secret is None:
        return KeySet()
    keys = read_keys(auth.former_jwt_secret.reveal()).keys
    return KeySet(tuple(replace(key, ends_at=former_secret_ends(auth)) for key in keys))
