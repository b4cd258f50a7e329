"""The accounts pool of a process: its own login to the database, its threads, its key."""

from pathlib import Path

from broker.subjects import AUTH
from schemas.auth_settings import Auth
from schemas.settings import SettingsError
from schemas.signing import SigningKey, read_signing_key
from schemas.signing import public_keys as shown_keys
from workers.auth.context import Accounts
from workers.auth.hashing import Hashing
from workers.auth.passwords import Cost
from workers.auth.worker import AuthWorker
from workers.resources import Resources

LOGIN = "supabase_auth_admin"


async def serve_pool(resources: Resources) -> None:
    """Answer requests of the accounts until the process drains. Raises: SettingsError, Unavailable."""
    own = resources.settings.auth
    argon2 = own.password.argon2
    hashing = Hashing(Cost(argon2.memory_cost, argon2.time_cost, argon2.parallelism))
    database = await resources.login_as(LOGIN)
    keys = key_text(own)
    accounts = Accounts(own, database, hashing, signing_key(own, keys), public_keys=tuple(shown_keys(keys)))
    worker = AuthWorker(accounts)
    await resources.serve(AUTH, worker.answer)


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
