"""The user and session that an access token names, as far as the token alone can tell. Pure.

The gateway has verified the signature and the time claims; whether the user and the session still exist is looked up later
(`http/caller.py`). Source: docs/reference/auth.md, section 1.4.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from schemas.caller import Caller, RejectedCaller, UserCaller
from workers.auth.model import rejections


@dataclass(frozen=True, slots=True)
class Bearer:
    """A user and, if the token names one, the session."""

    user_id: UUID
    session_id: UUID | None
    claims: Mapping[str, object]

    @property
    def role(self) -> str:
        """Return the token's role, or an empty text."""
        role = self.claims.get("role")
        return role if isinstance(role, str) else ""

    @property
    def is_anonymous(self) -> bool:
        """Return whether the user signed in anonymously and has not added an address."""
        return self.claims.get("is_anonymous") is True


def bearer_claims(caller: Caller) -> Mapping[str, object]:
    """Return the claims of the bearer token.

    Raises: AuthError (401) without a token, (403) if the gateway rejected it.
    """
    match caller:
        case UserCaller():
            return caller.decoded()
        case RejectedCaller():
            raise rejections.BAD_TOKEN(reason=_reason(caller))
    raise rejections.NO_BEARER()


def parse_bearer(claims: Mapping[str, object]) -> Bearer:
    """Read the user and session that the token names.

    Raises: AuthError (403; 400 if `sub` is not a UUID).
    """
    subject, session = claims.get("sub"), claims.get("session_id")
    if not subject:
        raise rejections.NO_SUBJECT()
    user_id = _uuid(subject)
    if user_id is None:
        raise rejections.BAD_SUBJECT()
    session_id = _uuid(session) if session else None
    if session and session_id is None:
        raise rejections.BAD_SESSION_ID()
    return Bearer(user_id, session_id, claims)


def require_admin(claims: Mapping[str, object], admin_roles: Collection[str]) -> None:
    """Raise unless the token's role is an admin role. Such a token needs no `sub`.

    Raises: AuthError (403).
    """
    role = claims.get("role")
    if not isinstance(role, str) or role not in admin_roles:
        raise rejections.NOT_ADMIN()


def reject_anonymous(bearer: Bearer) -> None:
    """Raise if the user is anonymous; such users cannot have factors or passkeys.

    Raises: AuthError (403).
    """
    if bearer.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()


def _reason(refused: RejectedCaller) -> str:
    """Return the gateway's reason; for an expired token a text that both kinds of clients recognise."""
    return "JWT expired, token is expired" if refused.message == "JWT expired" else refused.message


def _uuid(value: object) -> UUID | None:
    """Parse a UUID in its usual form only: 36 characters with hyphens."""
    try:
        uuid = UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return uuid if str(uuid) == str(value).lower() else None
