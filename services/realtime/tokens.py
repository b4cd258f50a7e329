"""Who a socket and its channels act for: API keys and access tokens -> `Identity`, and the words of every refusal.

The same refusal reads `<text>` when a socket is opened and `<code>: <text>` when a channel is joined.
A token must name `role` and `exp`. Opaque keys are no tokens; they stand for their role and do not end.
Source: reference page "realtime", sections 1 ("JWT rules"), 4 and 6.
"""

import base64
import math
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec

from schemas.caller import Anonymous, Caller, Refusal, Rejected, Service, User
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from services.gateway.doorkeeper import Doorkeeper

_EXPIRED = "JWT expired"
_WRONG_KEY = "No suitable key or wrong key type"
_BAD_EXPIRY = "The JWT 'exp' claim must be a number"


@dataclass(frozen=True, slots=True)
class Identity:
    """A role with its claims, and until when they hold (seconds since 1970)."""

    role: str
    claims: bytes = field(repr=False)
    """JSON object."""
    expires_at: float = math.inf
    token: str = field(default="", repr=False)
    """What it was read from; empty where nothing can be verified again."""


class TokenRefused(Exception):
    """A key or token that lets nobody in: the code of a join's refusal, and the text."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text

    @property
    def reason(self) -> str:
        """What a refused join is told."""
        return f"{self.code}: {self.text}"


class Tokens:
    """Reads keys and tokens with what the gateway knows of them."""

    def __init__(self, keeper: Doorkeeper) -> None:
        self._keeper = keeper

    async def connect(self, key: str, now: float) -> Identity:
        """Give whom an API key stands for. Raises: TokenRefused."""
        key = _bare(key)
        if not key:
            raise TokenRefused("InvalidJWTToken", "API key is missing")
        holder = self._keeper.keys.holder(key, now)
        if key.count(".") == 2:
            try:
                return await self.read(key, now)
            except TokenRefused as refused:
                if holder is None or refused.code == "InvalidJWTToken":
                    raise
        if holder is None:
            raise TokenRefused("MalformedJWT", "The token provided is not a valid JWT")
        return of_caller(holder)

    async def read(self, token: str, now: float) -> Identity:
        """Give whom an access token stands for; new keys are asked for where they may have changed. Raises: TokenRefused."""
        token = _bare(token)
        verifier = self._keeper.objects
        caller = verifier.verify(token, now)
        if isinstance(caller, Rejected) and caller.kind is Refusal.UNDECODABLE:
            issuer = verifier.lacking(token)
            if issuer is not None and await self._keeper.learn(issuer):
                caller = verifier.verify(token, now)
        if isinstance(caller, Rejected):
            raise _refused(caller, token, now, is_lacking=verifier.lacking(token) is not None)
        return identity_of(caller, token, now)


def identity_of(user: User, token: str, now: float) -> Identity:
    """Give the identity of a verified token. Raises: TokenRefused for one without a role or an end, or past it."""
    claims = user.decoded()
    role, until = claims.get("role"), claims.get("exp")
    if not isinstance(role, str) or not role or until is None:
        raise TokenRefused("InvalidJWTToken", "Fields `role` and `exp` are required in JWT")
    ends_at = read_json_number(until, least=0, most=FAR_S)
    if ends_at is None:
        raise TokenRefused("InvalidJWTToken", "Token expiration time is invalid")
    if ends_at <= now:
        raise _expired(ends_at, now)
    return Identity(role, user.claims, ends_at, token)


def of_caller(caller: Caller) -> Identity:
    """Give the identity of a caller whom the gateway let in: by a key alone, or by a token without demands."""
    match caller:
        case Service():
            return Identity("service_role", b'{"role":"service_role"}')
        case User(claims=claims):
            role = caller.decoded().get("role")
            return Identity(role if isinstance(role, str) and role else "anon", claims)
        case Anonymous() | Rejected():
            return Identity("anon", b'{"role":"anon"}')


def expired_text(until: float, now: float) -> str:
    """Say for how long a token has been over."""
    return f"Token has expired {max(int(now - until), 0)} seconds ago"


def _bare(token: str) -> str:
    """Take away blanks and percent signs, which proxies and clients add."""
    return "".join(unquote(token).split())


def _refused(rejected: Rejected, token: str, now: float, *, is_lacking: bool) -> TokenRefused:
    """Put the refusal of a token into the words of this area."""
    if rejected.kind is Refusal.CLAIMS:
        until = read_json_number(_part(token, 1).get("exp"), least=0, most=FAR_S)
        if rejected.message == _EXPIRED and until is not None:
            return _expired(until, now)
        if rejected.message == _BAD_EXPIRY:
            return TokenRefused("InvalidJWTToken", "Token expiration time is invalid")
        return TokenRefused("InvalidJWTToken", rejected.message)
    if rejected.message != _WRONG_KEY:
        return TokenRefused("MalformedJWT", "The token provided is not a valid JWT")
    header = _part(token, 0)
    kid = header.get("kid")
    if is_lacking and isinstance(kid, str) and not str(header.get("alg")).startswith("HS"):
        return TokenRefused(
            "JwtSignerError",
            f'Failed to generate JWT signer for key ID (kid) "{kid}", check your JWT secret or JWKS configuration',
        )
    return TokenRefused("JwtSignatureError", "Failed to validate JWT signature")


def _expired(until: float, now: float) -> TokenRefused:
    return TokenRefused("InvalidJWTToken", expired_text(until, now))


def _part(token: str, index: int) -> dict[str, Any]:
    """Read a part of a token that the verifier has been through."""
    try:
        text = token.split(".")[index]
        found = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, IndexError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
