"""The seven points at which a project is asked, and the values that go out and come back. Pure.

Each value going out begins with `metadata`; what comes back is one JSON object, or nothing where nothing is to be told.
An object with `error` refuses, at every point. Source: reference page "auth", section 17.
"""

from enum import StrEnum
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from workers.auth.accounts.users.shown import Shown
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError

_FAILED = 500
_REFUSALS = range(400, 600)
_object = msgspec.json.Decoder(dict[str, object] | None)


class Point(StrEnum):
    """A point, by the name of its settings; `told` is how the project is told of it."""

    told: str

    def __new__(cls, setting: str, told: str) -> "Point":
        member = str.__new__(cls, setting)
        member._value_ = setting
        member.told = told
        return member

    BEFORE_USER_CREATED = "before_user_created", "before-user-created"
    AFTER_USER_CREATED = "after_user_created", "after-user-created"
    CUSTOM_ACCESS_TOKEN = "custom_access_token", "customize-access-token"
    SEND_EMAIL = "send_email", "send-email"
    SEND_SMS = "send_sms", "send-sms"
    MFA_VERIFICATION = "mfa_verification_attempt", "mfa-verification"
    PASSWORD_VERIFICATION = "password_verification_attempt", "password-verification"


# --- What goes out -----------------------------------------------------------------------------------------------


class Metadata(Struct, frozen=True):
    """Which call this is, and whose request has led to it."""

    uuid: str
    time: str
    name: str
    ip_address: str


class UserCreation(Struct, frozen=True):
    """An account that is about to be made, or has been."""

    metadata: Metadata
    user: Shown


class AccessToken(Struct, frozen=True):
    """The claims of a token that is about to be signed."""

    metadata: Metadata
    user_id: str
    claims: Shown
    authentication_method: str


class EmailData(Struct, frozen=True):
    """What a mail has to tell.

    For a secure change of address one call carries both mails: `token` and `token_hash_new` belong to the current
    address, `token_new` and `token_hash` to the new one; crossed, as services written for other servers expect it.
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
    """A mail to be sent."""

    metadata: Metadata
    user: Shown
    email_data: EmailData


class SmsData(Struct, frozen=True, omit_defaults=True):
    """What a message has to tell; `sms_type` is `mfa` for a second factor."""

    otp: str
    phone: str
    sms_type: str = ""

    def __repr__(self) -> str:
        return "SmsData(***)"


class SendSms(Struct, frozen=True):
    """A message to be sent."""

    metadata: Metadata
    user: Shown
    sms: SmsData


class MfaAttempt(Struct, frozen=True):
    """A second factor was checked."""

    metadata: Metadata
    user_id: str
    factor_id: str
    factor_type: str
    valid: bool


class PasswordAttempt(Struct, frozen=True):
    """A password was checked."""

    metadata: Metadata
    user_id: str
    valid: bool


Question = UserCreation | AccessToken | SendEmail | SendSms | MfaAttempt | PasswordAttempt


# --- What comes back ---------------------------------------------------------------------------------------------


class Nothing(Struct, frozen=True):
    """There is nothing to tell."""


class NewClaims(Struct, frozen=True):
    """The claims to sign instead."""

    claims: dict[str, object]


class Decision(Struct, frozen=True):
    """Whether an attempt may go on; the message is for the user. Nothing said, it may."""

    decision: Literal["continue", "reject"] = "continue"
    message: str = ""
    should_logout_user: bool = False

    @property
    def is_rejected(self) -> bool:
        """Tell whether the attempt ends here."""
        return self.decision == "reject"


A = TypeVar("A", Nothing, NewClaims, Decision)


class _Error(Struct, frozen=True):
    message: str = ""
    http_code: int = _FAILED


class WrongShape(ValueError):
    """An answer cannot be understood."""

    def __str__(self) -> str:
        return "The hook's answer has not the form that this hook must give"


def read_answer(body: bytes, kind: type[A]) -> A:
    """Read an answer; null is an empty object, and members that are null are as if they were not there.

    Raises: AuthError with the answer's own status and words if it refuses; WrongShape.
    """
    try:
        found = {key: value for key, value in (_object.decode(body) or {}).items() if value is not None}
        error = msgspec.convert(found.get("error", {}), _Error)
        if not error.message:
            return msgspec.convert(found, kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise WrongShape from None
    status = error.http_code if error.http_code in _REFUSALS else _FAILED
    code = Code.UNEXPECTED_FAILURE if status == _FAILED else Code.UNKNOWN
    raise AuthError(code, error.message, status)
