"""Passkeys and their challenges in the database. Each function runs in the caller's transaction.

A challenge is taken away before its answer is judged, in a transaction that is kept whatever comes of it: it works once.
Source: reference page "auth", sections 10 and 24.3. Raises, all of them: DatabaseError, Disconnected.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec
from msgspec import Struct

from workers.auth.accounts.users.shown import Shown
from workers.auth.factors.authenticator_names import authenticator_name
from workers.auth.factors.webauthn_credentials import Assertion, Kept, Known, NewCredential
from workers.auth.model import rejections
from workers.auth.model.times import iso
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "passkeys.sql")
_UNIQUE = "23505"


class Purpose(StrEnum):
    """What a challenge is for."""

    REGISTRATION = "registration"
    AUTHENTICATION = "authentication"


class Passkey(Struct, frozen=True):
    """A passkey of a user. `public_key` is COSE, in hex digits; it is empty where nobody needs it."""

    id: UUID
    user_id: UUID
    public_key: str
    sign_count: int
    backup_eligible: bool
    friendly_name: str
    created_at: datetime
    last_used_at: datetime | None = None

    @property
    def kept(self) -> Kept:
        """What a use of the passkey is judged by."""
        return Kept(bytes.fromhex(self.public_key), self.sign_count, self.backup_eligible)


class _Taken(Struct):
    challenge: str
    expires_at: datetime


class _Known(Struct):
    id: bytes
    transports: list[str]


async def open_challenge(
    transaction: Transaction,
    purpose: Purpose,
    challenge: bytes,
    expires_at: datetime,
    user_id: UUID | None = None,
) -> UUID:
    """Keep a challenge, for one user or for whoever answers it, and give the id of its row."""
    data = msgspec.json.encode({"challenge": challenge.hex()})
    owner = "" if user_id is None else str(user_id)
    made = await transaction.rows(_SQL["open_challenge"], owner, purpose.value, data, expires_at.isoformat())
    return UUID((made[0][0] or b"").decode())


async def take_challenge(
    transaction: Transaction, id: str, purpose: Purpose, now: datetime, user_id: UUID | None = None
) -> bytes | None:
    """Take a challenge away and give it; None if it is too old. Let the transaction end well before judging the answer.

    Raises: AuthError (400) if there is none of this purpose and user.
    """
    try:
        row = str(UUID(id))
    except ValueError:
        raise rejections.NO_WEBAUTHN_CHALLENGE() from None
    owner = "" if user_id is None else str(user_id)
    taken = await transaction.one(_SQL["take_challenge"], _Taken, row, purpose.value, owner)
    if taken is None:
        raise rejections.NO_WEBAUTHN_CHALLENGE()
    return bytes.fromhex(taken.challenge) if now < taken.expires_at else None


async def of_user(transaction: Transaction, user_id: UUID) -> list[Passkey]:
    """List the passkeys of a user, the oldest first."""
    return await transaction.all(_SQL["of_user"], Passkey, str(user_id))


async def known(transaction: Transaction, user_id: UUID) -> list[Known]:
    """List all credentials of a user, as passkey or as factor: no authenticator shall make another in their place."""
    found = await transaction.all(_SQL["known"], _Known, str(user_id))
    return [Known(each.id, tuple(each.transports)) for each in found]


async def by_credential(transaction: Transaction, credential_id: bytes) -> Passkey | None:
    """Find a passkey by what its authenticator calls it."""
    return await transaction.one(_SQL["by_credential"], Passkey, credential_id.hex())


async def refuse_beyond(transaction: Transaction, user_id: UUID, most: int) -> None:
    """Raise if a user has as many passkeys as may be. Raises: AuthError (422)."""
    counted = await transaction.rows(_SQL["count"], str(user_id))
    if int(counted[0][0] or 0) >= most:
        raise rejections.TOO_MANY_PASSKEYS(most=most)


async def add(transaction: Transaction, user_id: UUID, made: NewCredential) -> Passkey:
    """Keep a new passkey, named after its authenticator. Raises: AuthError (422) if somebody has it already."""
    values = (
        str(user_id), made.id.hex(), made.public_key.hex(), str(made.aaguid), made.sign_count,
        msgspec.json.encode(made.transports), made.is_backup_eligible, made.is_backed_up,
        authenticator_name(made.aaguid),
    )  # fmt: skip
    try:
        passkey = await transaction.one(_SQL["insert"], Passkey, *values)
    except DatabaseError as error:
        if error.code == _UNIQUE and error.constraint == "webauthn_credentials_credential_id_key":
            raise rejections.CREDENTIAL_EXISTS() from None
        raise
    if passkey is None:  # a trigger of the project put it away
        raise rejections.NO_PASSKEY()
    return passkey


async def keep_use(transaction: Transaction, passkey: Passkey, used: Assertion) -> None:
    """Keep the counter of a passkey that was just used."""
    await transaction.rows(_SQL["used"], str(passkey.id), used.sign_count, used.is_backed_up)


async def rename(transaction: Transaction, user_id: UUID, id: UUID, name: str) -> Passkey:
    """Give a passkey of a user another name. Raises: AuthError (404)."""
    passkey = await transaction.one(_SQL["rename"], Passkey, str(id), str(user_id), name)
    if passkey is None:
        raise rejections.NO_PASSKEY()
    return passkey


async def remove(transaction: Transaction, user_id: UUID, id: UUID) -> None:
    """Forget a passkey of a user. Raises: AuthError (404)."""
    if not await transaction.rows(_SQL["delete"], str(id), str(user_id)):
        raise rejections.NO_PASSKEY()


def passkey_shown(passkey: Passkey) -> Shown:
    """Give the object of a passkey."""
    shown: Shown = {
        "id": str(passkey.id),
        "friendly_name": passkey.friendly_name,
        "created_at": iso(passkey.created_at),
    }
    if passkey.last_used_at is not None:
        shown["last_used_at"] = iso(passkey.last_used_at)
    return shown


def passkeys_shown(passkeys: Sequence[Passkey]) -> list[Shown]:
    """Give the list of a user's passkeys."""
    return [passkey_shown(each) for each in passkeys]
