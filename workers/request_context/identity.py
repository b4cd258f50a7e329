"""Who the database sees: the role of a request, and its claims as text; the same for REST and GraphQL. Pure but for a cache.

Source: reference page "rest", sections 4 and 5.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from schemas.caller import Anonymous, Caller, Rejected, Service, User
from schemas.errors import ApiError
from schemas.settings.tree import Api
from workers.request_context.claims_path import ClaimsPath, claim_at, parse_claims_path

_CACHED = 10_000
Refuse = Callable[[Rejected | None], ApiError]
"""Makes the refusal, in an interface's own words, of a token that the edge refused; of None, that one is required."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A role with the claims that policies read: the JSON text of an object in which `role` is always there."""

    role: str
    claims: str
    is_anonymous: bool


class Identities:
    """Turns callers into identities; those of tokens are kept by their claims."""

    def __init__(self, api: Api, refuse: Refuse) -> None:
        self._refuse = refuse
        self._path: ClaimsPath = parse_claims_path(api.jwt.role_claim_key)
        self._anonymous = _identity({}, api.anon_role, api.anon_role) if api.anon_role else None
        self._service = _identity({}, api.service_role, api.anon_role)
        self._anonymous_role = api.anon_role
        self._kept: dict[bytes, Identity] = {}

    def of(self, caller: Caller) -> Identity:
        """Give the identity of a caller.

        Raises: what `refuse` makes, where a token is required or the edge refused it.
        """
        match caller:
            case User(claims):
                return self._kept.get(claims) or self._of_token(claims)
            case Anonymous():
                if self._anonymous is None:
                    raise self._refuse(None)
                return self._anonymous
            case Service():
                return self._service
            case Rejected():
                raise self._refuse(caller)

    def _of_token(self, raw: bytes) -> Identity:
        claims = msgspec.json.decode(raw, type=dict[str, object])
        value = claim_at(claims, self._path)
        role = self._anonymous_role if value is None else _text(value)
        if not role:
            raise self._refuse(None)
        identity = _identity(claims, role, self._anonymous_role)
        if len(self._kept) >= _CACHED:
            self._kept.clear()
        self._kept[raw] = identity
        return identity


def _identity(claims: dict[str, object], role: str, anonymous_role: str | None) -> Identity:
    text = msgspec.json.encode({**claims, "role": role}).decode()
    return Identity(role, text, role == anonymous_role)


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
