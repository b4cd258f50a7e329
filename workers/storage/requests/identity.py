"""The identity that the database sees in a storage transaction: role, claims, request headers. Pure.

The gateway has verified the caller. The role comes from the token alone; storage uses the service role itself where
policies must not apply. Source: docs/reference/storage.md, section 2.
"""

from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, UserCaller
from schemas.http import Headers, Request, header
from workers.storage.model.errors import token_rejected

SessionSettings = list[tuple[str, str]]

SERVICE_ROLE = "service_role"
_STATEMENT_TIMEOUT = "30s"
_LOCK_TIMEOUT = "5s"
_LOCK_TIMEOUT_OF_SEVERAL = "1s"
"""Shorter: what one request waits for keeps the others."""
_SEARCH_PATH = "storage, public, extensions"
_HIDDEN_HEADERS = frozenset({"cookie"})


@dataclass(frozen=True, slots=True)
class StorageIdentity:
    """A role with the claims that policies read. `claims` is JSON text of an object; `subject` the claim `sub`."""

    role: str
    claims: str
    subject: str | None = None
    token: str = field(default="", repr=False)

    @property
    def is_service(self) -> bool:
        """Whether policies do not apply."""
        return self.role == SERVICE_ROLE

    @property
    def owner(self) -> str | None:
        """The subject if it is a UUID."""
        return _uuid(self.subject)


ANONYMOUS = StorageIdentity("anon", '{"role":"anon"}')
SERVICE = StorageIdentity(SERVICE_ROLE, '{"role":"service_role"}')


def identity_of(caller: Caller, headers: Headers) -> StorageIdentity:
    """Return the identity of a caller. Raises: StorageError (AccessDenied) for an invalid token."""
    match caller:
        case AnonymousCaller():
            return ANONYMOUS
        case ServiceCaller():
            return SERVICE
        case RejectedCaller():
            raise token_rejected(caller)
        case UserCaller():
            claims = caller.decoded()
    role, subject = claims.get("role"), claims.get("sub")
    named = role if isinstance(role, str) and role else ANONYMOUS.role
    text = msgspec.json.encode({**claims, "role": named}).decode()
    return StorageIdentity(named, text, subject if isinstance(subject, str) else None, _bearer(headers))


def has_credential(headers: Headers) -> bool:
    """Return whether a request has an `Authorization` header: an API key alone does not count."""
    return bool((header(headers, "authorization") or "").strip())


def uuid_or_none(text: str | None) -> str | None:
    """Return a text in canonical form if it is a UUID."""
    return _uuid(text)


def settings_for(identity: StorageIdentity, request: Request, operation: str) -> SessionSettings:
    """Return the session settings of a transaction as an identity."""
    return [("search_path", _SEARCH_PATH), *role_settings(identity), *_request_settings(request, operation)]


def settings_for_several(identity: StorageIdentity, operation: str, request_ids: str) -> SessionSettings:
    """Return the settings of a transaction that serves several requests of an identity.

    They have no headers, method or path. `request_ids` is JSON: the ids of the requests by versions of objects.
    """
    return [
        ("search_path", _SEARCH_PATH),
        *role_settings(identity),
        ("storage.operation", operation),
        ("storage.request_ids", request_ids),
        ("statement_timeout", _STATEMENT_TIMEOUT),
        ("lock_timeout", _LOCK_TIMEOUT_OF_SEVERAL),
    ]


def role_settings(identity: StorageIdentity) -> SessionSettings:
    """Return the settings that select a role and its claims."""
    return [
        ("role", identity.role),
        ("request.jwt.claim.role", identity.role),
        ("request.jwt", identity.token),
        ("request.jwt.claim.sub", identity.subject or ""),
        ("request.jwt.claims", identity.claims),
    ]


def _request_settings(request: Request, operation: str) -> SessionSettings:
    return [
        ("request.headers", _headers_json(request)),
        ("request.method", request.method),
        ("request.path", request.path),
        ("storage.operation", operation),
        ("storage.allow_delete_query", "true"),
        ("statement_timeout", _STATEMENT_TIMEOUT),
        ("lock_timeout", _LOCK_TIMEOUT),
    ]


def _headers_json(request: Request) -> str:
    """Return `request.headers`: a JSON object of texts, with the id of the request."""
    headers: dict[str, str] = {}
    for name, value in request.headers:
        if name not in _HIDDEN_HEADERS:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    headers.setdefault("x-request-id", request.id)
    return msgspec.json.encode(headers).decode()


def _bearer(headers: Headers) -> str:
    scheme, _, token = (header(headers, "authorization") or "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else scheme


def _uuid(text: str | None) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        return None
