"""The factor `webauthn`: a security key, or the authenticator of a device.

The first challenge of a factor creates its credential (`create`), every other uses it (`request`). The row holds the
credential in the form that other servers with this API write, so that rows can be imported.
Source: docs/reference/auth.md, sections 9.1 to 9.3 and 24.2.
"""

from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct, field

from schemas.settings.auth_factors import Mfa
from workers.auth.delivery.context import DeliveryContext
from workers.auth.factors import passkeys
from workers.auth.factors.relying_party import credential_owner, relying_party
from workers.auth.factors.second_factor import (
    ChallengeRequest,
    ChallengeRow,
    Enrolment,
    FactorAnswer,
    FactorKind,
    FactorRow,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.credentials import webauthn_rules
from workers.credentials.webauthn_credentials import (
    KnownCredential,
    NewCredential,
    StoredCredential,
    Unverified,
)
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "webauthn_factor.sql")
_Type = Literal["create", "request"]


class _Flags(Struct, rename="camel"):
    user_verified: bool = False
    backup_eligible: bool = False
    backup_state: bool = False


class _Authenticator(Struct):
    AAGUID: bytes = b""
    signCount: int = 0


class _Credential(Struct, rename="camel"):
    """A credential as the row contains it, bytes in base64."""

    id: bytes
    public_key: bytes
    transport: list[str] | None = None
    flags: _Flags = field(default_factory=_Flags)
    authenticator: _Authenticator = field(default_factory=_Authenticator)
    attestation_type: str = "none"

    @property
    def stored(self) -> StoredCredential:
        return StoredCredential(self.public_key, self.authenticator.signCount, self.flags.backup_eligible)

    @property
    def descriptor(self) -> KnownCredential:
        return KnownCredential(self.id, tuple(self.transport or ()))


class _StoredChallenge(Struct):
    """What a challenge's row contains: bytes in base64."""

    type: _Type
    challenge: bytes


class _Response(Struct):
    """A browser's response. It names a relying party too, which is ignored: the settings decide."""

    type: _Type
    credential_response: JsonObject


async def _enroll(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, enrolment: Enrolment
) -> NewFactor:
    """Start a factor; its credential is created by its first challenge."""
    del context, transaction, user, enrolment
    return NewFactor({})


async def _challenge(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge_request: ChallengeRequest,
) -> NewChallenge:
    """Return the options to create the factor's credential, or to use it."""
    del challenge_request
    party, challenge = relying_party(context.settings), webauthn_rules.new_challenge()
    lifetime_s = float(context.settings.mfa.challenge_expiry_duration)
    type, credential = _type(factor), _credential(factor)
    if type == "create":
        existing = await passkeys.credentials_of(transaction, user.id)
        options = webauthn_rules.creation_options(
            party, credential_owner(user), challenge, existing, lifetime_s, is_passkey=False
        )
    else:
        allowed = [credential.descriptor] if credential is not None else []
        options = webauthn_rules.request_options(party, challenge, allowed, lifetime_s)
    body: JsonObject = {"webauthn": {"type": type, "credential_options": {"publicKey": options}}}
    return NewChallenge(body, web_authn_session_data=msgspec.json.encode(_StoredChallenge(type, challenge)))


async def _verify(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: FactorAnswer,
) -> bool:
    """Verify that a credential was created or used correctly, and store what that changes."""
    try:
        expected = msgspec.convert(challenge.web_authn_session_data, _StoredChallenge)
        response = msgspec.convert(answer.webauthn, _Response)
    except msgspec.ValidationError:
        raise rejections.WEBAUTHN_ANSWER() from None
    if response.type != expected.type:
        raise rejections.WEBAUTHN_ANSWER()
    party, old = relying_party(context.settings), _credential(factor)
    try:
        if expected.type == "create":
            # A verified factor keeps its credential: a second `create` challenge must not replace it by another key.
            if factor.is_verified or old is not None:
                return False
            new = webauthn_rules.verify_creation(party, expected.challenge, response.credential_response)
            if any(other.id == new.id for other in await passkeys.credentials_of(transaction, user.id)):
                raise rejections.CREDENTIAL_EXISTS()
            credential = _new(new)
        elif old is None or not _is_from(old, user, response.credential_response):
            return False
        else:
            used = webauthn_rules.verify_request(
                party, expected.challenge, response.credential_response, old.stored
            )
            old.authenticator.signCount = used.sign_count
            old.flags.backup_state, old.flags.user_verified = used.is_backed_up, used.is_user_verified
            credential = old
    except Unverified:
        return False
    await _keep(transaction, factor, challenge, expected.type, credential)
    return True


def _is_from(credential: _Credential, user: AuthUser, response: JsonObject) -> bool:
    """Return whether a response is from the factor's credential and not another user's. Raises: Unverified."""
    handle = webauthn_rules.response_user_handle(response)
    is_foreign = bool(handle) and handle != webauthn_rules.user_handle(user.id)
    return not is_foreign and webauthn_rules.credential_id(response) == credential.id


async def _keep(
    transaction: Transaction, factor: FactorRow, challenge: ChallengeRow, type: _Type, credential: _Credential
) -> None:
    aaguid = credential.authenticator.AAGUID
    last = {
        "challenge_id": str(challenge.id),
        "type": type,
        "user_verified": credential.flags.user_verified,
    }
    await transaction.rows(
        _SQL["keep"],
        str(factor.id),
        msgspec.json.encode(credential),
        str(UUID(bytes=aaguid)) if len(aaguid) == 16 else None,
        msgspec.json.encode(last),
    )


def _type(factor: FactorRow) -> _Type:
    return "request" if factor.is_verified else "create"


def _credential(factor: FactorRow) -> _Credential | None:
    """Parse a factor's credential; None if it is missing or malformed."""
    if factor.web_authn_credential is None:
        return None
    try:
        return msgspec.convert(factor.web_authn_credential, _Credential)
    except msgspec.ValidationError:
        return None


def _new(new: NewCredential) -> _Credential:
    return _Credential(
        new.id,
        new.public_key,
        list(new.transports),
        _Flags(new.is_user_verified, new.is_backup_eligible, new.is_backed_up),
        _Authenticator(new.aaguid.bytes, new.sign_count),
    )


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.web_authn.enroll_enabled, mfa.web_authn.verify_enabled)


KIND = FactorKind(
    method=SignInMethod.MFA_WEBAUTHN,
    switches=_switches,
    enroll_off=ErrorCode.MFA_WEBAUTHN_ENROLL_NOT_ENABLED,
    verify_off=ErrorCode.MFA_WEBAUTHN_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_WEBAUTHN,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
    takes_code=False,
)
"""See `factor_kinds.py`."""
