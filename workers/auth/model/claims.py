"""The claims of an access token. Pure.

AMR (authentication methods references) lists each method that the session has used, once, with the time of its last use.
AAL (authenticator assurance level) is `aal2` as soon as one of them is a second factor.
Sources: docs/reference/auth.md, sections 3.1, 6.2, 8.4 and 17; RFC 8176; NIST SP 800-63B.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Aal(StrEnum):
    """Authenticator assurance level: one factor, or two."""

    AAL1 = "aal1"
    AAL2 = "aal2"


class SignInMethod(StrEnum):
    """An authentication method. `token_refresh` is passed to the access-token hook only, and never stored."""

    PASSWORD = "password"  # noqa: S105 - the name of a method
    OTP = "otp"
    OAUTH = "oauth"
    TOTP = "totp"
    MFA_PHONE = "mfa/phone"
    MFA_WEBAUTHN = "mfa/webauthn"
    MFA_RECOVERY_CODE = "mfa/recovery_code"
    SSO_SAML = "sso/saml"
    ANONYMOUS = "anonymous"
    WEB3 = "web3"
    PASSKEY = "passkey"
    MAGICLINK = "magiclink"
    RECOVERY = "recovery"
    INVITE = "invite"
    EMAIL_SIGNUP = "email/signup"
    EMAIL_CHANGE = "email_change"
    OAUTH_CODE = "oauth_provider/authorization_code"
    TOKEN_REFRESH = "token_refresh"  # noqa: S105 - the name of a method


SECOND_FACTORS = frozenset(
    {SignInMethod.TOTP, SignInMethod.MFA_PHONE, SignInMethod.MFA_WEBAUTHN, SignInMethod.MFA_RECOVERY_CODE}
)
_KIND, _ADMINISTRATOR = "kind", "administrator"
_RECOVERY = frozenset({SignInMethod.OTP, SignInMethod.MAGICLINK, SignInMethod.RECOVERY})


@dataclass(frozen=True, slots=True)
class MethodUse:
    """One entry of AMR: a method, when it was last used (epoch seconds), and the SSO provider's id for `sso/saml`."""

    method: SignInMethod
    at: int
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class TokenUser:
    """What a token contains about its user. Missing addresses are empty; phone numbers have no `+`."""

    id: str
    aud: str
    role: str
    email: str
    phone: str
    app_metadata: Mapping[str, object]
    user_metadata: Mapping[str, object]
    is_anonymous: bool


@dataclass(frozen=True, slots=True)
class TokenSession:
    """What a token contains about its session; `client_id` and `scope` only for sessions of an OAuth client."""

    id: str
    amr: tuple[MethodUse, ...]
    client_id: str | None = None
    scope: str | None = None


def access_claims(
    user: TokenUser, session: TokenSession, *, issued_at: int, expires_at: int, issuer: str
) -> dict[str, object]:
    """Return the claims of an access token. Times are epoch seconds; without an issuer `iss` is left out."""
    claims: dict[str, object] = {
        "aud": user.aud,
        "exp": expires_at,
        "iat": issued_at,
        "sub": user.id,
        "email": user.email,
        "phone": user.phone,
        "app_metadata": dict(user.app_metadata),
        "user_metadata": dict(user.user_metadata),
        "role": user.role,
        "aal": aal_of(session.amr).value,
        "amr": amr_claim(session.amr),
        "session_id": session.id,
        "is_anonymous": user.is_anonymous,
    }
    optional = {"iss": issuer or None, "client_id": session.client_id, "scope": session.scope}
    return claims | {name: value for name, value in optional.items() if value is not None}


def acting_claim(actor: str) -> dict[str, object]:
    """Return the claim that marks the token of an administrator who acts as a user (RFC 8693, section 4.1)."""
    return {"act": {"sub": actor, _KIND: _ADMINISTRATOR}}


def is_acting(claims: Mapping[str, object]) -> bool:
    """Return whether a token is that of an administrator who acts as its user."""
    act = claims.get("act")
    return isinstance(act, Mapping) and act.get(_KIND) == _ADMINISTRATOR


def expiry(
    issued_at: int,
    lifetime_s: int,
    *,
    amr: Iterable[MethodUse],
    has_verified_factor: bool,
    session_started_at: int,
    low_aal_s: int | None,
) -> int:
    """Return `exp`.

    A user with a verified second factor whose session has not used it gets tokens only until `low_aal_s` after its start.
    """
    usual = issued_at + lifetime_s
    if low_aal_s is None or not has_verified_factor or aal_of(amr) is Aal.AAL2:
        return usual
    return min(usual, session_started_at + low_aal_s)


def aal_of(amr: Iterable[MethodUse]) -> Aal:
    """Return the level that a session has reached."""
    return Aal.AAL2 if any(used.method in SECOND_FACTORS for used in amr) else Aal.AAL1


def is_enough(amr: Iterable[MethodUse], *, has_verified_factor: bool) -> bool:
    """Return whether a session may change credentials: it has the highest level that its user can reach."""
    return not has_verified_factor or aal_of(amr) is Aal.AAL2


def is_recovery(amr: Iterable[MethodUse]) -> bool:
    """Return whether a session was started by a code or link, so that its user may not know the current password."""
    return any(used.method in _RECOVERY for used in amr)


def amr_claim(amr: Iterable[MethodUse]) -> list[dict[str, object]]:
    """Return AMR as a token contains it, newest first; `provider` only for `sso/saml`."""
    entries: list[dict[str, object]] = []
    for used in sorted(amr, key=lambda use: use.at, reverse=True):
        entry: dict[str, object] = {"method": used.method.value, "timestamp": used.at}
        if used.method is SignInMethod.SSO_SAML and used.provider:
            entry["provider"] = used.provider
        entries.append(entry)
    return entries


_REQUIRED_CLAIMS: dict[str, tuple[type, ...]] = {
    "aud": (str, list),
    "exp": (int,),
    "iat": (int,),
    "sub": (str,),
    "email": (str,),
    "phone": (str,),
    "role": (str,),
    "aal": (str,),
    "session_id": (str,),
    "is_anonymous": (bool,),
}
_OPTIONAL_CLAIMS: dict[str, tuple[type, ...]] = {"iss": (str,), "jti": (str,), "nbf": (int,)}
_TIMES = range(2**53)
"""Integers that every JSON parser represents exactly."""


def faults_of_hook(claims: Mapping[str, object]) -> list[str]:
    """Return the names of claims that an access-token hook removed or gave another type, or a time out of range."""
    checked = {
        **_REQUIRED_CLAIMS,
        **{name: types for name, types in _OPTIONAL_CLAIMS.items() if name in claims},
    }
    return [name for name, types in checked.items() if not _is_of(claims.get(name), types)]


def _is_of(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, list):
        return list in types and all(isinstance(item, str) for item in value)
    if isinstance(value, int) and value not in _TIMES:
        return False
    return isinstance(value, types)
