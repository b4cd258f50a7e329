"""[auth.mfa], [auth.passkey] and [auth.webauthn]: second factors, and sign-in without a password.

Source: docs/reference/auth.md, sections 9, 10 and 25.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from schemas.settings.types import Count, Duration, Rate

CodeCount = Annotated[int, Meta(ge=4, le=16, description="a whole number, 4 to 16")]
CodeLength = Annotated[int, Meta(ge=13, le=32, description="a whole number, 13 to 32")]
CodeAttempts = Annotated[int, Meta(ge=3, le=15, description="a whole number, 3 to 15")]


class Totp(Struct, frozen=True):
    """[auth.mfa.totp]: codes of an authenticator app."""

    enroll_enabled: bool = True
    verify_enabled: bool = True


class PhoneFactor(Struct, frozen=True):
    """[auth.mfa.phone]: codes by SMS."""

    enroll_enabled: bool = False
    verify_enabled: bool = False
    otp_length: int = 6
    """Digits of a code, 6 to 10."""
    template: str = "Your code is {{ .Code }}"
    max_frequency: Duration = Duration(5)
    """Least time between two messages to one user."""


class WebAuthnFactor(Struct, frozen=True):
    """[auth.mfa.web_authn]: security keys."""

    enroll_enabled: bool = False
    verify_enabled: bool = False


class RecoveryCodes(Struct, frozen=True):
    """[auth.mfa.recovery_codes]: codes on paper, each valid for one sign-in."""

    enroll_enabled: bool = False
    verify_enabled: bool = False
    count: CodeCount = 10
    """Codes of one set."""
    code_length: CodeLength = 16
    max_verify_attempts: CodeAttempts = 5
    """Wrong codes before the user is locked out."""
    lockout_duration: Duration = Duration(900)
    """From 1m to 24h."""


class Mfa(Struct, frozen=True):
    """[auth.mfa]: second factors."""

    max_enrolled_factors: Count = 10
    """Factors of one user, verified or not."""
    max_verified_factors: Count = 10
    challenge_expiry_duration: Duration = Duration(300)
    """How long a challenge may be answered, at least 300 seconds."""
    factor_expiry_duration: Duration = Duration(300)
    """How long a new factor may stay unverified, at least 300 seconds."""
    rate_limit_challenge_and_verify: Rate = 15.0
    """Challenges and answers a minute of one client address; 0 lifts the limit."""
    totp: Totp = field(default_factory=Totp)
    phone: PhoneFactor = field(default_factory=PhoneFactor)
    web_authn: WebAuthnFactor = field(default_factory=WebAuthnFactor)
    recovery_codes: RecoveryCodes = field(default_factory=RecoveryCodes)


class PasskeySettings(Struct, frozen=True):
    """[auth.passkey]: sign-in with a passkey; needs [auth.webauthn]."""

    enabled: bool = False
    max_passkeys_per_user: Count = 10


class WebAuthn(Struct, frozen=True):
    """[auth.webauthn]: how this service identifies itself to authenticators."""

    rp_id: str = ""
    """Host of the application, such as `example.com`; passkeys are bound to it."""
    rp_display_name: str = ""
    """Shown when a passkey is created. Empty: `rp_id`."""
    rp_origins: list[str] = field(default_factory=list)
    """Origins that may use the passkeys, such as `https://app.example.com`."""
    challenge_expiry_duration: Duration = Duration(300)
