"""The authenticator app of an administrator: enrolled with a code, required at sign-in, each code accepted once.

The secret is stored encrypted with a key that the database does not have, for its administrator alone (RFC 6238).
"""

from urllib.parse import urlsplit

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.credentials.qr import svg_of
from workers.credentials.totp import address_of, new_secret, step_of
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.attempts import count_code, forget_codes
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import CannotUnseal, FactorSecrets
from workers.management.interface.identity.store import execute, fetch_one


class TotpEnrolment(SecretRecord, Struct, frozen=True):
    """What an authenticator app needs, shown once: the secret in base32, its `otpauth:` URI, and that as a QR code (SVG)."""

    secret: str
    uri: str
    qr_code: str


class _Secrets(Struct):
    active: str | None
    pending: str | None


async def enrol(
    pool: OwnPool, keys: FactorSecrets, administrator_id: str, email: str, origin: str
) -> TotpEnrolment:
    """Store a new secret, which counts from its first code on. An app that is in use stays in use until then."""
    secret = new_secret()
    await execute(pool, "enrol_totp", administrator_id, keys.sealer.seal(secret, administrator_id))
    uri = address_of(secret, f"Headwater {urlsplit(origin).hostname or ''}".strip(), email)
    return TotpEnrolment(secret, uri, svg_of(uri))


async def activate(pool: OwnPool, keys: FactorSecrets, administrator_id: str, code: str) -> None:
    """Accept the first code of a new secret. Raises: ManagementError (401, 409, 429)."""
    secrets = await fetch_one(pool, "totp_secrets", _Secrets, administrator_id)
    if secrets is None or secrets.pending is None:
        raise ManagementError(
            409, "not_enrolled", "No authenticator app waits for its first code; run factors.enrol_totp"
        )
    await count_code(pool, administrator_id)
    step = _step(keys, administrator_id, secrets.pending, code)
    if step is None or not await execute(pool, "activate_totp", administrator_id, secrets.pending, step):
        raise wrong_code()
    await forget_codes(pool, administrator_id)


async def verify(pool: OwnPool, keys: FactorSecrets, administrator_id: str, code: str) -> None:
    """Accept a code and use it up. Raises: ManagementError (401, 429)."""
    await count_code(pool, administrator_id)
    secrets = await fetch_one(pool, "totp_secrets", _Secrets, administrator_id)
    stored = secrets.active if secrets is not None else None
    step = _step(keys, administrator_id, stored, code) if stored is not None else None
    if step is None or not await execute(pool, "use_totp_step", administrator_id, step):
        raise wrong_code()
    await forget_codes(pool, administrator_id)


def wrong_code() -> ManagementError:
    """Return the error of a code that is wrong, old, or was used."""
    return ManagementError(
        401,
        "invalid_code",
        "The code is wrong, or was used already; wait for the next one",
        hint="If it is always wrong, check the clocks of the phone and of the server.",
    )


def _step(keys: FactorSecrets, administrator_id: str, sealed: str, code: str) -> int | None:
    try:
        return step_of(code, keys.sealer.unseal(sealed, administrator_id), keys.clock(), None)
    except CannotUnseal:
        return None
