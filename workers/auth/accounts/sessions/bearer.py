"""The bearer of a request: what its access token says, checked as far as the token alone can tell. Pure.

The door has verified the signature and the time claims; whether the user and the session still exist is for the
database. Source: reference page "auth", section 1.4; seed 7.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from schemas.caller import Caller, Rejected, User
from workers.auth.model import rejections


@dataclass(frozen=True, slots=True)
class Bearer:
    """A user and, if the token names one, the session."""

    user_id: UUID
    session_id: UUID | None
    claims: Mapping[str, object]

    @property
    def role(self) -> str:
        """Give the token's role, empty if it has none."""
        role = self.claims.get("role")
        return role if isinstance(role, str) else ""

    @property
    def is_anonymous(self) -> bool:
        """Tell whether the user has no address yet."""
        return self.claims.get("is_anonymous") is True


def bearer_claims(caller: Caller) -> Mapping[str, object]:
    """Give the claims of the token that came along.

    Raises: AuthError (401) without one, (403) if it was refused.
    """
    match caller:
        case User():
            return caller.decoded()
        case Rejected():
            raise rejections.BAD_TOKEN(reason=_words(caller))
    raise rejections.NO_BEARER()


def parse_bearer(claims: Mapping[str, object]) -> Bearer:
    """Read who the token speaks for.

    Raises: AuthError (403, or 400 for a `sub` that is no UUID).
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


def refuse_unless_admin(claims: Mapping[str, object], admin_roles: Collection[str]) -> None:
    """Raise if the token's role is no admin role. Such a token needs no `sub`.

    Raises: AuthError (403).
    """
    role = claims.get("role")
    if not isinstance(role, str) or role not in admin_roles:
        raise rejections.NOT_ADMIN()


def refuse_anonymous(bearer: Bearer) -> None:
    """Raise if the user is anonymous; factors and passkeys are not for them.

    Raises: AuthError (403).
    """
    if bearer.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()


def _words(refused: Rejected) -> str:
    """Give the door's reason; for an expired token in the words of either kind of client."""
    return "JWT expired, token is expired" if refused.message == "JWT expired" else refused.message


def _uuid(value: object) -> UUID | None:
    """Read a UUID in its usual form only: 36 characters with hyphens."""
    try:
        uuid = UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return uuid if str(uuid) == str(value).lower() else None
