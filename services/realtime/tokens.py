"""The identity of sockets and channels: API keys and access tokens -> `RealtimeIdentity`, and the texts of every rejection.

A rejection reads `<text>` when a socket is opened and `<code>: <text>` when a channel is joined. A token must have the claims
`role` and `exp`. An opaque key is not a token; it stands for its role and does not expire.
Source: docs/reference/realtime.md, sections 1 ("JWT rules"), 4 and 6.
"""

import base64
import math
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from services.gateway.requests.authentication import Authenticator

_EXPIRED = "JWT expired"
_WRONG_KEY = "No suitable key or wrong key type"
_BAD_EXPIRY = "The JWT 'exp' claim must be a number"


@dataclass(frozen=True, slots=True)
class RealtimeIdentity:
    """A role with its claims, and when they expire (seconds since 1970)."""

    role: str
    claims: bytes = field(repr=False)
    """JSON object."""
    expires_at: float = math.inf
    token: str = field(default="", repr=False)
    """The token that it was read from; empty for an identity without a token."""


class RealtimeTokenRejected(Exception):
    """The key or token is not valid: the code for the reply to a join, and the text."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text

    @property
    def reason(self) -> str:
        """Return the reason in the reply to a rejected join."""
        return f"{self.code}: {self.text}"


class Tokens:
    """Verifies API keys and access tokens with the keys of the gateway."""

    def __init__(self, keeper: Authenticator) -> None:
        self._keeper = keeper

    async def connect(self, key: str, now: float) -> RealtimeIdentity:
        """Return the identity of an API key. Raises: RealtimeTokenRejected."""
        key = _bare(key)
        if not key:
            raise RealtimeTokenRejected("InvalidJWTToken", "API key is missing")
        holder = self._keeper.keys.holder(key, now)
        if holder is None and await self._keeper.may_know(key, now):
            holder = self._keeper.keys.holder(key, now)
        if key.count(".") == 2:
            try:
                return await self.read(key, now)
            except RealtimeTokenRejected as rejected:
                if holder is None or rejected.code == "InvalidJWTToken":
                    raise
        if holder is None:
            raise RealtimeTokenRejected("MalformedJWT", "The token provided is not a valid JWT")
        return identity_of_caller(holder)

    async def read(self, token: str, now: float) -> RealtimeIdentity:
        """Return the identity of an access token; if its issuer may have new keys, they are fetched first.

        Raises: RealtimeTokenRejected.
        """
        token = _bare(token)
        verifier = self._keeper.objects
        caller = verifier.verify(token, now)
        if isinstance(caller, RejectedCaller) and caller.kind is TokenFault.UNDECODABLE:
            issuer = verifier.lacking(token)
            if issuer is not None and await self._keeper.learn(issuer):
                caller = verifier.verify(token, now)
        if isinstance(caller, RejectedCaller):
            raise _rejection(caller, token, now, is_lacking=verifier.lacking(token) is not None)
        return identity_of(caller, token, now)


def identity_of(user: UserCaller, token: str, now: float) -> RealtimeIdentity:
    """Return the identity of a verified token. Raises: RealtimeTokenRejected if it has no role or `exp`, or has expired."""
    claims = user.decoded()
    role, until = claims.get("role"), claims.get("exp")
    if not isinstance(role, str) or not role or until is None:
        raise RealtimeTokenRejected("InvalidJWTToken", "Fields `role` and `exp` are required in JWT")
    ends_at = read_json_number(until, least=0, most=FAR_S)
    if ends_at is None:
        raise RealtimeTokenRejected("InvalidJWTToken", "Token expiration time is invalid")
    if ends_at <= now:
        raise _expired(ends_at, now)
    return RealtimeIdentity(role, user.claims, ends_at, token)


def identity_of_caller(caller: Caller) -> RealtimeIdentity:
    """Return the identity of a caller that the gateway authenticated, by a key or by a token without required claims."""
    match caller:
        case ServiceCaller():
            return RealtimeIdentity("service_role", b'{"role":"service_role"}')
        case UserCaller(claims=claims):
            role = caller.decoded().get("role")
            return RealtimeIdentity(role if isinstance(role, str) and role else "anon", claims)
        case AnonymousCaller() | RejectedCaller():
            return RealtimeIdentity("anon", b'{"role":"anon"}')


def expired_text(until: float, now: float) -> str:
    """Return the text for an expired token."""
    return f"Token has expired {max(int(now - until), 0)} seconds ago"


def _bare(token: str) -> str:
    """Remove blanks and percent encoding, which proxies and clients add."""
    return "".join(unquote(token).split())


def _rejection(
    rejected: RejectedCaller, token: str, now: float, *, is_lacking: bool
) -> RealtimeTokenRejected:
    """Return the rejection of a token with the codes and texts of realtime."""
    if rejected.kind is TokenFault.CLAIMS:
        until = read_json_number(_part(token, 1).get("exp"), least=0, most=FAR_S)
        if rejected.message == _EXPIRED and until is not None:
            return _expired(until, now)
        if rejected.message == _BAD_EXPIRY:
            return RealtimeTokenRejected("InvalidJWTToken", "Token expiration time is invalid")
        return RealtimeTokenRejected("InvalidJWTToken", rejected.message)
    if rejected.message != _WRONG_KEY:
        return RealtimeTokenRejected("MalformedJWT", "The token provided is not a valid JWT")
    header = _part(token, 0)
    kid = header.get("kid")
    if is_lacking and isinstance(kid, str) and not str(header.get("alg")).startswith("HS"):
        return RealtimeTokenRejected(
            "JwtSignerError",
            f'Failed to generate JWT signer for key ID (kid) "{kid}", check your JWT secret or JWKS configuration',
        )
    return RealtimeTokenRejected("JwtSignatureError", "Failed to validate JWT signature")


def _expired(until: float, now: float) -> RealtimeTokenRejected:
    return RealtimeTokenRejected("InvalidJWTToken", expired_text(until, now))


def _part(token: str, index: int) -> dict[str, Any]:
    """Decode a part of a token that the verifier has seen; an empty object if it cannot be decoded."""
    try:
        text = token.split(".")[index]
        part = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, IndexError, RecursionError):
        return {}
    return part if isinstance(part, dict) else {}
