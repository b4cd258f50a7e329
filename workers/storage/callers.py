"""Who the database sees in a transaction of storage: role, claims, what is asked for. Pure.

The caller was verified at the door. A role comes from its token alone; the service role is ours to use for what policies
have no say in. Source: reference page "storage", section 2.
"""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from schemas.caller import Anonymous, Caller, Rejected, Service, User
from schemas.http import Headers, Request, header
from workers.storage.errors import refused_token

Settings = list[tuple[str, str]]

SERVICE_ROLE = "service_role"
_STATEMENT_TIMEOUT = "30s"
_LOCK_TIMEOUT = "5s"
_SEARCH_PATH = "storage, public, extensions"
_UNTOLD = frozenset({"cookie"})


@dataclass(frozen=True, slots=True)
class Identity:
    """A role with what policies read of it. `claims` is the JSON text of an object; `subject` the claim `sub`."""

    role: str
    claims: str
    subject: str | None = None
    token: str = ""

    @property
    def is_service(self) -> bool:
        """Tell whether policies do not hold for it."""
        return self.role == SERVICE_ROLE

    @property
    def owner(self) -> str | None:
        """Give the subject where it is a UUID."""
        return _uuid(self.subject)


ANONYMOUS = Identity("anon", '{"role":"anon"}')
SERVICE = Identity(SERVICE_ROLE, '{"role":"service_role"}')


def identity_of(caller: Caller, headers: Headers) -> Identity:
    """Give who calls. Raises: StorageError (AccessDenied) for a token that does not hold."""
    match caller:
        case Anonymous():
            return ANONYMOUS
        case Service():
            return SERVICE
        case Rejected():
            raise refused_token(caller)
        case User():
            claims = caller.decoded()
    role, subject = claims.get("role"), claims.get("sub")
    named = role if isinstance(role, str) and role else ANONYMOUS.role
    text = msgspec.json.encode({**claims, "role": named}).decode()
    return Identity(named, text, subject if isinstance(subject, str) else None, _bearer(headers))


def has_credential(headers: Headers) -> bool:
    """Tell whether a request says for whom it speaks: an API key alone does not."""
    return bool((header(headers, "authorization") or "").strip())


def uuid_or_none(text: str | None) -> str | None:
    """Give a text where it spells a UUID."""
    return _uuid(text)


def settings_for(identity: Identity, request: Request, operation: str) -> Settings:
    """Give the settings of a transaction as somebody."""
    return [("search_path", _SEARCH_PATH), *become(identity), *_about(request, operation)]


def become(identity: Identity) -> Settings:
    """Give the settings that make a transaction somebody's."""
    return [
        ("role", identity.role),
        ("request.jwt.claim.role", identity.role),
        ("request.jwt", identity.token),
        ("request.jwt.claim.sub", identity.subject or ""),
        ("request.jwt.claims", identity.claims),
    ]


def _about(request: Request, operation: str) -> Settings:
    return [
        ("request.headers", _told(request)),
        ("request.method", request.method),
        ("request.path", request.path),
        ("storage.operation", operation),
        ("storage.allow_delete_query", "true"),
        ("statement_timeout", _STATEMENT_TIMEOUT),
        ("lock_timeout", _LOCK_TIMEOUT),
    ]


def _told(request: Request) -> str:
    """Give `request.headers`: an object of texts, with the id of the request."""
    told: dict[str, str] = {}
    for name, value in request.headers:
        if name not in _UNTOLD:
            told[name] = f"{told[name]}, {value}" if name in told else value
    told.setdefault("x-request-id", request.id)
    return msgspec.json.encode(told).decode()


def _bearer(headers: Headers) -> str:
    scheme, _, token = (header(headers, "authorization") or "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else scheme


def _uuid(text: str | None) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        return None
