"""The factor `webauthn`: a security key, or what a device has in its place.

Its first challenge is answered by making a credential (`create`), every other by using it (`request`). The row keeps
the credential in the form that other servers of this interface write, so that rows may come from there.
Source: reference page "auth", sections 9.1 to 9.3 and 24.2.
"""

from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct, field

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.factors import passkeys, webauthn_rules
from workers.auth.factors.relying_party import relying_party
from workers.auth.factors.second_factor import (
    Answer,
    ChallengeRow,
    ChallengeWish,
    Enrolment,
    FactorRow,
    Kind,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.factors.webauthn_credentials import Kept, Known, NewCredential, Unverified
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.rows import User
from workers.database.interactive import Transaction
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
    """A credential as the row holds it, bytes in base64."""

    id: bytes
    public_key: bytes
    transport: list[str] | None = None
    flags: _Flags = field(default_factory=_Flags)
    authenticator: _Authenticator = field(default_factory=_Authenticator)
    attestation_type: str = "none"

    @property
    def kept(self) -> Kept:
        return Kept(self.public_key, self.authenticator.signCount, self.flags.backup_eligible)

    @property
    def known(self) -> Known:
        return Known(self.id, tuple(self.transport or ()))


class _Asked(Struct):
    """What a challenge keeps: bytes in base64."""

    type: _Type
    challenge: bytes


class _Response(Struct):
    """What a browser answers. It names a party, too, which is not its business: ours stands in the settings."""

    type: _Type
    credential_response: Shown


async def _enroll(accounts: Accounts, transaction: Transaction, user: User, wanted: Enrolment) -> NewFactor:
    """Begin a factor; its credential is made when it is challenged."""
    del accounts, transaction, user, wanted
    return NewFactor({})


async def _challenge(
    accounts: Accounts, transaction: Transaction, user: User, factor: FactorRow, wanted: ChallengeWish
) -> NewChallenge:
    """Give the options to make the factor's credential, or to use it."""
    del wanted
    party, challenge = relying_party(accounts.settings), webauthn_rules.new_challenge()
    lasts_s = float(accounts.settings.mfa.challenge_expiry_duration)
    type, credential = _type(factor), _credential(factor)
    if type == "create":
        known = await passkeys.known(transaction, user.id)
        options = webauthn_rules.creation_options(party, user, challenge, known, lasts_s, is_passkey=False)
    else:
        allowed = [credential.known] if credential is not None else []
        options = webauthn_rules.request_options(party, challenge, allowed, lasts_s)
    shown: Shown = {"webauthn": {"type": type, "credential_options": {"publicKey": options}}}
    return NewChallenge(shown, web_authn_session_data=msgspec.json.encode(_Asked(type, challenge)))


async def _verify(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: Answer,
) -> bool:
    """Tell whether a credential was made or used as it should be, and keep what that changes."""
    try:
        asked = msgspec.convert(challenge.web_authn_session_data, _Asked)
        given = msgspec.convert(answer.webauthn, _Response)
    except msgspec.ValidationError:
        raise rejections.WEBAUTHN_ANSWER() from None
    if given.type != asked.type:
        raise rejections.WEBAUTHN_ANSWER()
    party, old = relying_party(accounts.settings), _credential(factor)
    try:
        if asked.type == "create":
            # Whoever began the factor had one challenge answered; another one must not put a foreign key in its place.
            if factor.is_verified or old is not None:
                return False
            made = webauthn_rules.verify_creation(party, asked.challenge, given.credential_response)
            if any(each.id == made.id for each in await passkeys.known(transaction, user.id)):
                raise rejections.CREDENTIAL_EXISTS()
            credential = _new(made)
        elif old is None or not _is_from(old, user, given.credential_response):
            return False
        else:
            used = webauthn_rules.verify_request(party, asked.challenge, given.credential_response, old.kept)
            old.authenticator.signCount = used.sign_count
            old.flags.backup_state, old.flags.user_verified = used.is_backed_up, used.is_user_verified
            credential = old
    except Unverified:
        return False
    await _keep(transaction, factor, challenge, asked.type, credential)
    return True


def _is_from(credential: _Credential, user: User, response: Shown) -> bool:
    """Tell whether an answer claims to be from the factor's credential, and from no other user's. Raises: Unverified."""
    handle = webauthn_rules.told_user_handle(response)
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
    """Read a factor's credential; None without one that can be used."""
    if factor.web_authn_credential is None:
        return None
    try:
        return msgspec.convert(factor.web_authn_credential, _Credential)
    except msgspec.ValidationError:
        return None


def _new(made: NewCredential) -> _Credential:
    return _Credential(
        made.id,
        made.public_key,
        list(made.transports),
        _Flags(made.is_user_verified, made.is_backup_eligible, made.is_backed_up),
        _Authenticator(made.aaguid.bytes, made.sign_count),
    )


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.web_authn.enroll_enabled, mfa.web_authn.verify_enabled)


KIND = Kind(
    method=Method.MFA_WEBAUTHN,
    switches=_switches,
    enroll_off=Code.MFA_WEBAUTHN_ENROLL_NOT_ENABLED,
    verify_off=Code.MFA_WEBAUTHN_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_WEBAUTHN,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
)
"""See `factor_kinds.py`."""
