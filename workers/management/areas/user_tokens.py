"""A short access token in the name of a user, for calls that an administrator makes as that user.

It is signed as the pool auth signs its tokens, names no session, and is valid for a minute. It is never part of a result.
"""

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from broker.processes.key_file import read_key_file
from broker.processes.setting_files import find_file, setting_folders
from schemas.keys.signing import SigningKey, read_signing_key, sign
from schemas.settings.auth import Auth
from schemas.settings.tree import SettingsError
from workers.management.interface.errors import ManagementError

LASTS_S = 60


class TokenOwner(Struct, frozen=True):
    """What the token says about its user."""

    id: str
    aud: str
    role: str
    email: str
    phone: str
    app_metadata: dict[str, Any]
    user_metadata: dict[str, Any]
    is_anonymous: bool


def user_claims(user: TokenOwner, settings: Auth) -> dict[str, object]:
    """Return the claims of a token for a user."""
    now = int(time.time())
    claims: dict[str, object] = {
        "aud": user.aud or settings.jwt_aud,
        "exp": now + LASTS_S,
        "iat": now,
        "sub": user.id,
        "email": user.email,
        "phone": user.phone,
        "app_metadata": user.app_metadata,
        "user_metadata": user.user_metadata,
        "role": user.role or settings.jwt_default_group_name,
        "aal": "aal1",
        "is_anonymous": user.is_anonymous,
    }
    issuer = settings.jwt_issuer or settings.external_url
    return claims | ({"iss": issuer} if issuer else {})


def signed_token(claims: Mapping[str, object], settings: Auth) -> str:
    """Sign claims with the platform's signing key; reads its file. Raises: ManagementError (503) for a key that cannot be used."""
    try:
        return sign(claims, _signing_key(settings))
    except (OSError, ValueError, SettingsError) as error:
        raise ManagementError(503, "no_signing_key", f"The signing key cannot be used: {error}") from None


def _signing_key(settings: Auth) -> SigningKey:
    if settings.jwt_keys is not None:
        return read_signing_key(settings.jwt_keys.reveal())
    if settings.signing_keys_path:
        return read_signing_key(read_key_file(find_file(settings.signing_keys_path, setting_folders())))
    return SigningKey(settings.jwt_secret.reveal(), "HS256", settings.jwt_key_id)
