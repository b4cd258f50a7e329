"""Passkeys and their challenges in the database. Each function runs in the caller's transaction.

A challenge is deleted before its answer is verified, in a transaction that commits whatever the outcome, so it works once.
Source: docs/reference/auth.md, sections 10 and 24.3. All functions raise: DatabaseError, Disconnected.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec
from msgspec import Struct

from workers.auth.model import rejections
from workers.auth.model.errors import UNIQUE_VIOLATION
from workers.auth.model.times import iso
from workers.auth.model.user_json import JsonObject
from workers.credentials.authenticator_names import authenticator_name
from workers.credentials.webauthn_credentials import (
    KnownCredential,
    NewCredential,
    StoredCredential,
    WebauthnAssertion,
)
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "passkeys.sql")


class ChallengePurpose(StrEnum):
    """What a challenge is for."""

    REGISTRATION = "registration"
    AUTHENTICATION = "authentication"


class PasskeyRow(Struct, frozen=True):
    """A passkey of a user. `public_key` is COSE in hex; empty where a query does not select it."""

    id: UUID
    user_id: UUID
    public_key: str
    sign_count: int
    backup_eligible: bool
    friendly_name: str
    created_at: datetime
    last_used_at: datetime | None = None

    @property
    def stored(self) -> StoredCredential:
        """Return the values by which an assertion is verified."""
        return StoredCredential(bytes.fromhex(self.public_key), self.sign_count, self.backup_eligible)


class _ChallengeRow(Struct):
    challenge: str
    expires_at: datetime


class _CredentialRow(Struct):
    id: bytes
    transports: list[str]


async def open_challenge(
    transaction: Transaction,
    purpose: ChallengePurpose,
    challenge: bytes,
    expires_at: datetime,
    user_id: UUID | None = None,
) -> UUID:
    """Store a challenge, for one user or for any, and return the id of its row."""
    data = msgspec.json.encode({"challenge": challenge.hex()})
    owner = "" if user_id is None else str(user_id)
    rows = await transaction.rows(_SQL["open_challenge"], owner, purpose.value, data, expires_at.isoformat())
    return UUID((rows[0][0] or b"").decode())


async def take_challenge(
    transaction: Transaction, id: str, purpose: ChallengePurpose, now: datetime, user_id: UUID | None = None
) -> bytes | None:
    """Delete a challenge and return it; None if it is too old. Commit before verifying the answer.

    Raises: AuthError (400) if it does not exist for this purpose and user.
    """
    try:
        row = str(UUID(id))
    except ValueError:
        raise rejections.NO_WEBAUTHN_CHALLENGE() from None
    owner = "" if user_id is None else str(user_id)
    challenge = await transaction.one(_SQL["take_challenge"], _ChallengeRow, row, purpose.value, owner)
    if challenge is None:
        raise rejections.NO_WEBAUTHN_CHALLENGE()
    return bytes.fromhex(challenge.challenge) if now < challenge.expires_at else None


async def of_user(transaction: Transaction, user_id: UUID) -> list[PasskeyRow]:
    """List the passkeys of a user, the oldest first."""
    return await transaction.all(_SQL["of_user"], PasskeyRow, str(user_id))


async def credentials_of(transaction: Transaction, user_id: UUID) -> list[KnownCredential]:
    """List all credentials of a user, passkeys and factors, so that an authenticator does not register twice."""
    rows = await transaction.all(_SQL["known"], _CredentialRow, str(user_id))
    return [KnownCredential(row.id, tuple(row.transports)) for row in rows]


async def by_credential(transaction: Transaction, credential_id: bytes) -> PasskeyRow | None:
    """Find a passkey by its credential id."""
    return await transaction.one(_SQL["by_credential"], PasskeyRow, credential_id.hex())


async def reject_beyond_limit(transaction: Transaction, user_id: UUID, most: int) -> None:
    """Raise if a user has the maximum of passkeys. Raises: AuthError (422)."""
    counted = await transaction.rows(_SQL["count"], str(user_id))
    if int(counted[0][0] or 0) >= most:
        raise rejections.TOO_MANY_PASSKEYS(most=most)


async def add(transaction: Transaction, user_id: UUID, credential: NewCredential) -> PasskeyRow:
    """Store a new passkey, named after its authenticator. Raises: AuthError (422) if the credential is registered already."""
    values = (
        str(user_id), credential.id.hex(), credential.public_key.hex(), str(credential.aaguid), credential.sign_count,
        msgspec.json.encode(credential.transports), credential.is_backup_eligible, credential.is_backed_up,
        authenticator_name(credential.aaguid),
    )  # fmt: skip
    try:
        passkey = await transaction.one(_SQL["insert"], PasskeyRow, *values)
    except DatabaseError as error:
        if error.code == UNIQUE_VIOLATION and error.constraint == "webauthn_credentials_credential_id_key":
            raise rejections.CREDENTIAL_EXISTS() from None
        raise
    if passkey is None:  # a trigger of the project deleted it
        raise rejections.NO_PASSKEY()
    return passkey


async def keep_use(transaction: Transaction, passkey: PasskeyRow, used: WebauthnAssertion) -> None:
    """Store the signature counter of a passkey that was just used."""
    await transaction.rows(_SQL["used"], str(passkey.id), used.sign_count, used.is_backed_up)


async def rename(transaction: Transaction, user_id: UUID, id: UUID, name: str) -> PasskeyRow:
    """Change the name of a user's passkey. Raises: AuthError (404)."""
    passkey = await transaction.one(_SQL["rename"], PasskeyRow, str(id), str(user_id), name)
    if passkey is None:
        raise rejections.NO_PASSKEY()
    return passkey


async def remove(transaction: Transaction, user_id: UUID, id: UUID) -> None:
    """Delete a passkey of a user. Raises: AuthError (404)."""
    if not await transaction.rows(_SQL["delete"], str(id), str(user_id)):
        raise rejections.NO_PASSKEY()


def passkey_json(passkey: PasskeyRow) -> JsonObject:
    """Return the JSON object of a passkey."""
    body: JsonObject = {
        "id": str(passkey.id),
        "friendly_name": passkey.friendly_name,
        "created_at": iso(passkey.created_at),
    }
    if passkey.last_used_at is not None:
        body["last_used_at"] = iso(passkey.last_used_at)
    return body


def passkeys_json(passkeys: Sequence[PasskeyRow]) -> list[JsonObject]:
    """Return the JSON list of a user's passkeys."""
    return [passkey_json(passkey) for passkey in passkeys]
