"""The claims of an access token, and what they say of how a session signed in. Pure.

AMR: each way in that a session has used, once, with the time it was last used. AAL: `aal2` as soon as one of them is a
second factor. Source: reference page "auth", sections 3.1, 6.2, 8.4 and 17; seed 2.4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Aal(StrEnum):
    """How sure we are who signed in: by one factor, or by two."""

    AAL1 = "aal1"
    AAL2 = "aal2"


class Method(StrEnum):
    """A way in. `token_refresh` is told to the access-token hook only and never kept."""

    PASSWORD = "password"  # noqa: S105 - the name of a way in
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
    TOKEN_REFRESH = "token_refresh"  # noqa: S105 - the name of a way in


SECOND_FACTORS = frozenset({Method.TOTP, Method.MFA_PHONE, Method.MFA_WEBAUTHN, Method.MFA_RECOVERY_CODE})
_RECOVERY = frozenset({Method.OTP, Method.MAGICLINK, Method.RECOVERY})


@dataclass(frozen=True, slots=True)
class Used:
    """One entry of AMR: a way in, when it was last used (epoch seconds), and the SSO provider's id for `sso/saml`."""

    method: Method
    at: int
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class TokenUser:
    """What a token tells of its user. Addresses are empty when there are none; phones have no `+`."""

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
    """What a token tells of its session; `client_id` and `scope` only for sessions of an OAuth client."""

    id: str
    amr: tuple[Used, ...]
    client_id: str | None = None
    scope: str | None = None


def access_claims(
    user: TokenUser, session: TokenSession, *, issued_at: int, expires_at: int, issuer: str
) -> dict[str, object]:
    """Give the claims of an access token. Times are epoch seconds; without an issuer there is no `iss`."""
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


def expiry(
    issued_at: int,
    lifetime_s: int,
    *,
    amr: Iterable[Used],
    has_verified_factor: bool,
    session_began_at: int,
    low_aal_s: int | None,
) -> int:
    """Give `exp`. A user with a second factor who has not used it may stay so only `low_aal_s` after the session began."""
    usual = issued_at + lifetime_s
    if low_aal_s is None or not has_verified_factor or aal_of(amr) is Aal.AAL2:
        return usual
    return min(usual, session_began_at + low_aal_s)


def aal_of(amr: Iterable[Used]) -> Aal:
    """Give the level that a session has reached."""
    return Aal.AAL2 if any(used.method in SECOND_FACTORS for used in amr) else Aal.AAL1


def is_enough(amr: Iterable[Used], *, has_verified_factor: bool) -> bool:
    """Tell whether a session may change what protects the account: it is as sure as its user can be."""
    return not has_verified_factor or aal_of(amr) is Aal.AAL2


def is_recovery(amr: Iterable[Used]) -> bool:
    """Tell whether a session came in by a mailed or sent code, so that its user may not know the current password."""
    return any(used.method in _RECOVERY for used in amr)


def with_method(amr: Iterable[Used], used: Used) -> tuple[Used, ...]:
    """Add a way in; used again, it moves to its new time."""
    return (*(each for each in amr if each.method is not used.method), used)


def without_second_factors(amr: Iterable[Used]) -> tuple[Used, ...]:
    """Take the second factors away: the factor a session used is gone, and it drops to aal1."""
    return tuple(each for each in amr if each.method not in SECOND_FACTORS)


def amr_claim(amr: Iterable[Used]) -> list[dict[str, object]]:
    """Write AMR as a token has it, newest first; the provider stands only with `sso/saml`."""
    entries: list[dict[str, object]] = []
    for used in sorted(amr, key=lambda each: each.at, reverse=True):
        entry: dict[str, object] = {"method": used.method.value, "timestamp": used.at}
        if used.method is Method.SSO_SAML and used.provider:
            entry["provider"] = used.provider
        entries.append(entry)
    return entries


_KEPT_BY_HOOKS: dict[str, tuple[type, ...]] = {
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
_IF_GIVEN: dict[str, tuple[type, ...]] = {"iss": (str,), "jti": (str,), "nbf": (int,)}
_TIMES = range(2**53)
"""What every reader of JSON holds exactly."""


def faults_of_hook(claims: Mapping[str, object]) -> list[str]:
    """Name the claims that an access-token hook left out or gave another type, or a time that no token can hold."""
    asked = {**_KEPT_BY_HOOKS, **{name: types for name, types in _IF_GIVEN.items() if name in claims}}
    return [name for name, types in asked.items() if not _is_of(claims.get(name), types)]


def _is_of(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, list):
        return list in types and all(isinstance(each, str) for each in value)
    if isinstance(value, int) and value not in _TIMES:
        return False
    return isinstance(value, types)
