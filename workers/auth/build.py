"""The settings of the accounts -> what every endpoint works with. Everything that can be wrong is refused here."""

from pathlib import Path

from schemas.auth_settings import Auth
from schemas.settings import SettingsError
from schemas.signing import SigningKey, public_keys, read_signing_key
from workers.auth.codes import code_key
from workers.auth.context import Accounts
from workers.auth.globs import BadGlob
from workers.auth.hashing import Hashing
from workers.auth.outgoing import Outgoing
from workers.auth.redirects import RedirectRules
from workers.auth.vault import read_vault
from workers.database.pool import Pool


def build_accounts(own: Auth, database: Pool, hashing: Hashing, outgoing: Outgoing) -> Accounts:
    """Make what endpoints work with. Raises: SettingsError."""
    keys = key_text(own)
    return Accounts(
        own,
        database,
        hashing,
        signing_key(own, keys),
        public_keys=tuple(public_keys(keys)),
        vault=read_vault(own),
        code_key=code_key(own.jwt_secret),
        redirects=redirect_rules(own),
        outgoing=outgoing,
    )


def redirect_rules(own: Auth) -> RedirectRules:
    """Read where browsers may be sent. Raises: SettingsError."""
    try:
        return RedirectRules(own.site_url, own.additional_redirect_urls)
    except BadGlob as error:
        raise SettingsError(f"auth.additional_redirect_urls: {error}") from None


def key_text(own: Auth) -> str:
    """Give the list of JWKs that the settings hold or name; empty without one. Raises: SettingsError."""
    if own.jwt_keys is not None:
        return own.jwt_keys.reveal()
    if not own.signing_keys_path:
        return ""
    try:
        return Path(own.signing_keys_path).read_text(encoding="utf-8")
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SettingsError(f"auth.signing_keys_path cannot be read: {reason}") from None


def signing_key(own: Auth, keys: str) -> SigningKey:
    """Give the key that signs access tokens: of the list of JWKs if there is one, else the shared secret.

    Raises: SettingsError.
    """
    if keys:
        try:
            return read_signing_key(keys)
        except ValueError as error:
            raise SettingsError(f"auth.jwt_keys or auth.signing_keys_path cannot be used: {error}") from None
    return SigningKey(own.jwt_secret.reveal(), "HS256", own.jwt_key_id)
