"""Passkeys of administrators (WebAuthn Level 3): registered by a session, used to sign in, as a second factor, to confirm.

A passkey is bound to the host name under which the interface was reached, and the browser names the page's origin in what the key
signs: a page of another site cannot use it. The authenticator must have checked its user (PIN, finger, face), so a passkey alone
is two factors. A challenge is deleted before its answer is verified: it works once.
"""

import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Struct

from workers.credentials import webauthn_rules
from workers.credentials.authenticator_names import authenticator_name
from workers.credentials.relying_party import RelyingParty
from workers.credentials.webauthn_credentials import (
    CredentialOwner,
    JsonObject,
    KnownCredential,
    NewCredential,
    StoredCredential,
    Unverified,
)
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.store import (
    SQL,
    as_uuid,
    decode_rows,
    fetch,
    fetch_one,
    opened_rows,
)

_CHALLENGE_S = 5 * 60.0
_MOST_PASSKEYS = 20
_MOST_NAME = 120
_REGISTRATION, _AUTHENTICATION = "registration", "authentication"


class PasskeyOptions(Struct, frozen=True):
    """What a page passes to `navigator.credentials` (`options`, bytes in base64url), and the id to send with its answer."""

    challenge_id: str
    options: dict[str, Any]


class PasskeyAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """What `navigator.credentials` returned, as JSON (`PublicKeyCredential.toJSON()`)."""

    challenge_id: str
    credential: dict[str, Any]


class AdministratorPasskey(Struct, frozen=True):
    """A passkey as its owner sees it; `rp_id` is the host name under which it works."""

    id: str
    name: str
    rp_id: str
    created_at: str
    used_at: str | None
    is_backed_up: bool


@dataclass(frozen=True, slots=True)
class PasskeyUse:
    """Whose passkey signed."""

    administrator_id: str
    email: str


class _Id(Struct):
    id: str


class _Challenge(Struct):
    challenge: str


class _Credential(Struct):
    id: str
    transports: list[str]


class _StoredPasskey(Struct):
    id: str
    administrator_id: str
    email: str
    public_key: str
    sign_count: int
    backup_eligible: bool

    @property
    def stored(self) -> StoredCredential:
        return StoredCredential(bytes.fromhex(self.public_key), self.sign_count, self.backup_eligible)


def party_of(origin: str) -> RelyingParty:
    """Return this server as pages of its own origin see it. Raises: ManagementError (400) if its address lacks a host name."""
    host = urlsplit(origin).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if host:
            return RelyingParty(host, "Headwater", (origin.lower(),))
    raise ManagementError(
        400,
        "no_host_name",
        "A passkey is bound to a host name, and this page was opened by an IP address",
        hint="Open it as http://localhost:<port>, or under the name that its TLS certificate has.",
    )


async def registration_options(
    pool: OwnPool, party: RelyingParty, administrator_id: str, email: str
) -> PasskeyOptions:
    """Return the options by which a browser creates a passkey."""
    challenge = webauthn_rules.new_challenge()
    owner = CredentialOwner(webauthn_rules.user_handle(UUID(administrator_id)), email, email)
    existing = await _known(pool, party, administrator_id)
    options = webauthn_rules.creation_options(
        party, owner, challenge, existing, _CHALLENGE_S, is_passkey=True, needs_verification=True
    )
    return await _opened(pool, challenge, _REGISTRATION, administrator_id, options)


async def authentication_options(
    pool: OwnPool, party: RelyingParty, administrator_id: str | None
) -> PasskeyOptions:
    """Return the options by which a browser uses a passkey: one of an administrator, or any that it has for this server."""
    challenge = webauthn_rules.new_challenge()
    allowed = await _known(pool, party, administrator_id) if administrator_id else []
    options = webauthn_rules.request_options(party, challenge, allowed, _CHALLENGE_S, needs_verification=True)
    return await _opened(pool, challenge, _AUTHENTICATION, administrator_id, options)


async def register(
    pool: OwnPool, party: RelyingParty, administrator_id: str, answer: PasskeyAnswer, name: str
) -> AdministratorPasskey:
    """Store the passkey that an authenticator has created. Raises: ManagementError (400, 409)."""
    challenge = await _take(pool, answer, _REGISTRATION, administrator_id)
    try:
        new = webauthn_rules.verify_creation(party, challenge, answer.credential)
        if not new.is_user_verified:
            raise Unverified("the authenticator did not check its user")
    except Unverified as error:
        raise invalid_arguments(f"The passkey was not accepted: {error}") from None
    name = passkey_name(name) if name else authenticator_name(new.aaguid)
    async with pool.transaction() as transaction:
        await transaction.rows(SQL["lock_administrator"], administrator_id)
        existing = await transaction.rows(SQL["passkeys"], administrator_id)
        if len(existing) >= _MOST_PASSKEYS:
            raise ManagementError(409, "too_many_passkeys", f"You have {_MOST_PASSKEYS} passkeys; remove one")
        rows = await transaction.rows(SQL["add_passkey"], *_values(new, party, administrator_id, name))
    if not rows:
        raise ManagementError(409, "already_there", "This passkey is registered already")
    return decode_rows(rows, AdministratorPasskey)[0]


async def use(
    pool: OwnPool, party: RelyingParty, answer: PasskeyAnswer, administrator_id: str | None
) -> PasskeyUse:
    """Verify that a passkey signed, one of this administrator or of any. Raises: ManagementError (401)."""
    challenge = await _take(pool, answer, _AUTHENTICATION, administrator_id)
    try:
        credential_id = webauthn_rules.credential_id(answer.credential).hex()
        async with pool.transaction() as transaction:
            rows = await transaction.rows(SQL["passkey_of_credential"], credential_id, party.id)
            passkey = next(iter(opened_rows(pool, rows, _StoredPasskey)), None)
            if passkey is None or administrator_id not in (None, passkey.administrator_id):
                raise Unverified("it is not a passkey of yours for this server")
            handle = webauthn_rules.response_user_handle(answer.credential)
            # Without a session the handle names the user, and must be there (WebAuthn Level 3, 7.2, step 6).
            is_named = handle == webauthn_rules.user_handle(UUID(passkey.administrator_id))
            if not is_named and (handle or administrator_id is None):
                raise Unverified("the user handle is not that of the passkey's owner")
            used = webauthn_rules.verify_request(party, challenge, answer.credential, passkey.stored)
            if not used.is_user_verified:
                raise Unverified("the authenticator did not check its user")
            await transaction.rows(SQL["use_passkey"], passkey.id, used.sign_count, used.is_backed_up)
    except Unverified as error:
        raise ManagementError(401, "invalid_passkey", f"The passkey was not accepted: {error}") from None
    return PasskeyUse(passkey.administrator_id, passkey.email)


def passkey_name(text: str) -> str:
    """Return the name of a passkey. Raises: ManagementError (400)."""
    name = text.strip()
    if not 1 <= len(name) <= _MOST_NAME or "\0" in name:
        raise invalid_arguments(f"`name` must have 1 to {_MOST_NAME} characters")
    return name


async def _known(pool: OwnPool, party: RelyingParty, administrator_id: str | None) -> list[KnownCredential]:
    rows = await fetch(pool, "known_credentials", _Credential, administrator_id, party.id)
    return [KnownCredential(bytes.fromhex(row.id), tuple(row.transports)) for row in rows]


async def _opened(
    pool: OwnPool, challenge: bytes, purpose: str, administrator_id: str | None, options: JsonObject
) -> PasskeyOptions:
    added = await fetch_one(
        pool, "add_challenge", _Id, challenge.hex(), purpose, administrator_id, _CHALLENGE_S
    )
    assert added is not None  # an insert without a conflict clause
    return PasskeyOptions(added.id, options)


async def _take(pool: OwnPool, answer: PasskeyAnswer, purpose: str, administrator_id: str | None) -> bytes:
    challenge_id = as_uuid(answer.challenge_id)
    row = (
        await fetch_one(pool, "take_challenge", _Challenge, challenge_id, purpose, administrator_id)
        if challenge_id
        else None
    )
    if row is None:
        raise ManagementError(
            401,
            "invalid_challenge",
            "This challenge was answered, or its five minutes are over; get a new one",
        )
    return bytes.fromhex(row.challenge)


def _values(
    new: NewCredential, party: RelyingParty, administrator_id: str, name: str
) -> tuple[str | bytes | int | bool, ...]:
    return (
        administrator_id, new.id.hex(), new.public_key.hex(), party.id, new.sign_count, str(new.aaguid),
        msgspec.json.encode(new.transports), new.is_backup_eligible, new.is_backed_up, name,
    )  # fmt: skip
