"""The seven points at which hooks are called, with their payloads and answers. Pure.

Each payload begins with `metadata`. The answer is one JSON object, or empty at points that need none. An object with `error`
rejects the request, at every point. Source: docs/reference/auth.md, section 17.
"""

from enum import StrEnum
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.user_json import JsonObject

_FAILED = 500
_REFUSALS = range(400, 600)
_object = msgspec.json.Decoder(dict[str, object] | None)


class HookPoint(StrEnum):
    """A point, by the name of its setting; `payload_name` is its name in the metadata of the payload."""

    payload_name: str

    def __new__(cls, setting: str, payload_name: str) -> "HookPoint":
        member = str.__new__(cls, setting)
        member._value_ = setting
        member.payload_name = payload_name
        return member

    BEFORE_USER_CREATED = "before_user_created", "before-user-created"
    AFTER_USER_CREATED = "after_user_created", "after-user-created"
    CUSTOM_ACCESS_TOKEN = "custom_access_token", "customize-access-token"
    SEND_EMAIL = "send_email", "send-email"
    SEND_SMS = "send_sms", "send-sms"
    MFA_VERIFICATION = "mfa_verification_attempt", "mfa-verification"
    PASSWORD_VERIFICATION = "password_verification_attempt", "password-verification"


# --- Payloads -----------------------------------------------------------------------------------------------


class HookMetadata(Struct, frozen=True):
    """The id and time of a call, its point, and the IP address of the request that led to it."""

    uuid: str
    time: str
    name: str
    ip_address: str


class UserCreation(Struct, frozen=True):
    """An account that is about to be created, or has been."""

    metadata: HookMetadata
    user: JsonObject


class AccessToken(Struct, frozen=True):
    """The claims of a token that is about to be signed."""

    metadata: HookMetadata
    user_id: str
    claims: JsonObject
    authentication_method: str


class EmailData(Struct, frozen=True):
    """The content of an email.

    A secure change of address makes one call for both emails: `token` and `token_hash_new` belong to the current address,
    `token_new` and `token_hash` to the new one. They are crossed because hooks written for Supabase Auth expect that.
    """

    token: str = ""
    token_hash: str = ""
    redirect_to: str = ""
    email_action_type: str = ""
    site_url: str = ""
    token_new: str = ""
    token_hash_new: str = ""
    old_email: str = ""
    old_phone: str = ""
    provider: str = ""
    factor_type: str = ""

    def __repr__(self) -> str:
        return f"EmailData({self.email_action_type})"  # the codes are secret


class SendEmail(Struct, frozen=True):
    """An email to be sent."""

    metadata: HookMetadata
    user: JsonObject
    email_data: EmailData


class SmsData(Struct, frozen=True, omit_defaults=True):
    """The content of a text message; `sms_type` is `mfa` for a second factor."""

    otp: str
    phone: str
    sms_type: str = ""

    def __repr__(self) -> str:
        return "SmsData(***)"


class SendSms(Struct, frozen=True):
    """A message to be sent."""

    metadata: HookMetadata
    user: JsonObject
    sms: SmsData


class MfaVerification(Struct, frozen=True):
    """A second factor was checked."""

    metadata: HookMetadata
    user_id: str
    factor_id: str
    factor_type: str
    valid: bool


class PasswordVerification(Struct, frozen=True):
    """A password was checked."""

    metadata: HookMetadata
    user_id: str
    valid: bool


HookPayload = UserCreation | AccessToken | SendEmail | SendSms | MfaVerification | PasswordVerification


# --- Answers ---------------------------------------------------------------------------------------------


class EmptyAnswer(Struct, frozen=True):
    """An answer without content."""


class NewClaims(Struct, frozen=True):
    """The claims to sign instead of ours."""

    claims: dict[str, object]


class HookDecision(Struct, frozen=True):
    """Whether an attempt may go on; the message is for the user. The default is that it may."""

    decision: Literal["continue", "reject"] = "continue"
    message: str = ""
    should_logout_user: bool = False

    @property
    def is_rejected(self) -> bool:
        """Return whether the attempt is rejected."""
        return self.decision == "reject"


A = TypeVar("A", EmptyAnswer, NewClaims, HookDecision)


class _Error(Struct, frozen=True):
    message: str = ""
    http_code: int = _FAILED


class WrongShape(ValueError):
    """An answer does not have the members that its point requires."""

    def __str__(self) -> str:
        return "The hook's answer has not the form that this hook must give"


def read_answer(body: bytes, kind: type[A]) -> A:
    """Parse an answer; null is an empty object, and members that are null count as absent.

    Raises: AuthError with the answer's own status and message if it is an error; WrongShape.
    """
    try:
        members = {key: value for key, value in (_object.decode(body) or {}).items() if value is not None}
        error = msgspec.convert(members.get("error", {}), _Error)
        if not error.message:
            return msgspec.convert(members, kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise WrongShape from None
    status = error.http_code if error.http_code in _REFUSALS else _FAILED
    code = ErrorCode.UNEXPECTED_FAILURE if status == _FAILED else ErrorCode.UNKNOWN
    raise AuthError(code, error.message, status)
