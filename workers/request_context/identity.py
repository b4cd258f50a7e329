"""The database role of a request and its claims as text, the same for REST and GraphQL. Pure except for a cache.

Source: docs/reference/rest.md, sections 4 and 5.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, UserCaller
from schemas.claims_path import ClaimsPath, parse_claims_path
from schemas.errors import ApiError
from schemas.settings.tree import Api

_CACHED = 10_000
RejectToken = Callable[[RejectedCaller | None], ApiError]
"""Returns an interface's error for a token that the edge rejected; for None, the error that a token is required."""


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """A role with the claims that policies read: the text of a JSON object that always has `role`."""

    role: str
    claims: str
    is_anonymous: bool


class IdentityResolver:
    """Maps callers to identities; those of tokens are cached by their claims."""

    def __init__(self, api: Api, reject: RejectToken) -> None:
        self._reject = reject
        self._path: ClaimsPath = parse_claims_path(api.jwt.role_claim_key)
        self._anonymous = _identity({}, api.anon_role, api.anon_role) if api.anon_role else None
        self._service = _identity({}, api.service_role, api.anon_role)
        self._anonymous_role = api.anon_role
        self._cache: dict[bytes, RequestIdentity] = {}

    def of(self, caller: Caller) -> RequestIdentity:
        """Return the identity of a caller.

        Raises: the error of `reject` if a token is required or the edge rejected it.
        """
        match caller:
            case UserCaller(claims):
                return self._cache.get(claims) or self._of_token(claims)
            case AnonymousCaller():
                if self._anonymous is None:
                    raise self._reject(None)
                return self._anonymous
            case ServiceCaller():
                return self._service
            case RejectedCaller():
                raise self._reject(caller)

    def _of_token(self, raw: bytes) -> RequestIdentity:
        claims = msgspec.json.decode(raw, type=dict[str, object])
        value = self._path(claims)
        role = self._anonymous_role if value is None else _text(value)
        if not role:
            raise self._reject(None)
        identity = _identity(claims, role, self._anonymous_role)
        if len(self._cache) >= _CACHED:
            self._cache.clear()
        self._cache[raw] = identity
        return identity


def _identity(claims: dict[str, object], role: str, anonymous_role: str | None) -> RequestIdentity:
    text = msgspec.json.encode({**claims, "role": role}).decode()
    return RequestIdentity(role, text, role == anonymous_role)


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
