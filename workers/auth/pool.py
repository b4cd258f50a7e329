"""The accounts pool of a process: its own login to the database, its threads, its key."""

from pathlib import Path

from broker.subjects import AUTH
from schemas.auth_settings import Auth
from schemas.settings import SettingsError
from schemas.signing import SigningKey, read_signing_key
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
    worker = AuthWorker(Accounts(own, database, hashing, signing_key(own)))
    await resources.serve(AUTH, worker.answer)


def signing_key(own: Auth) -> SigningKey:
    """Give the key that signs access tokens: of the list of JWKs if there is one, else the shared secret.

    Raises: SettingsError.
    """
    try:
        if own.jwt_keys is not None:
            return read_signing_key(own.jwt_keys.reveal())
        if own.signing_keys_path:
            return read_signing_key(Path(own.signing_keys_path).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise SettingsError(f"auth.jwt_keys or auth.signing_keys_path cannot be used: {error}") from None
    return SigningKey(own.jwt_secret.reveal(), "HS256", own.jwt_key_id)
