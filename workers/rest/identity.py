"""Who the database sees: the role of a request, and its claims as text. Pure but for a cache.

Source: reference page "rest", sections 4 and 5.
"""

from dataclasses import dataclass

import msgspec

from schemas.caller import Anonymous, Caller, Refusal, Rejected, Service, User
from schemas.settings import Api
from workers.rest.claims_path import ClaimsPath, claim_at, parse_claims_path
from workers.rest.errors import BadClaims, BadToken, NoJwtSecret, RestError, TokenRequired

_CACHED = 10_000
_REFUSALS: dict[Refusal, type[RestError]] = {
    Refusal.NO_SECRET: NoJwtSecret,
    Refusal.UNDECODABLE: BadToken,
    Refusal.CLAIMS: BadClaims,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """A role with the claims that policies read: the JSON text of an object in which `role` is always there."""

    role: str
    claims: str
    is_anonymous: bool


class Identities:
    """Turns callers into identities; those of tokens are kept by their claims."""

    def __init__(self, api: Api) -> None:
        self._path: ClaimsPath = parse_claims_path(api.jwt.role_claim_key)
        self._anonymous = _identity({}, api.anon_role, api.anon_role) if api.anon_role else None
        self._service = _identity({}, api.service_role, api.anon_role)
        self._anonymous_role = api.anon_role
        self._kept: dict[bytes, Identity] = {}

    def of(self, caller: Caller) -> Identity:
        """Give the identity of a caller.

        Raises: TokenRequired, and the 3xx refusals for a token that the edge refused.
        """
        match caller:
            case User(claims):
                return self._kept.get(claims) or self._of_token(claims)
            case Anonymous():
                if self._anonymous is None:
                    raise TokenRequired
                return self._anonymous
            case Service():
                return self._service
            case Rejected(kind, message, details):
                raise _REFUSALS[kind](message, details)

    def _of_token(self, raw: bytes) -> Identity:
        claims = msgspec.json.decode(raw, type=dict[str, object])
        value = claim_at(claims, self._path)
        role = self._anonymous_role if value is None else _text(value)
        if not role:
            raise TokenRequired
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
