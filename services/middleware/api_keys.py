"""API key and access token -> `Caller`.

The key decides whether the request passes; the token decides as which user it runs. A request without a token runs as the key's
role, without claims. An opaque key (`sb_...`) sent as a token does not count as one: the API key decides.
Storage accepts a token without a key, because clients of resumable uploads send none, and its scheme in any case.
Source: docs/reference/platform.md, section 1 ("Keys", "How they combine").
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from schemas.bounded_cache import BoundedCache
from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller
from schemas.keys.hashed_keys import digest_of, parse_hashed_key
from schemas.keys.tokens import Verifier

MISSING = (
    "No API key found in request",
    "No `apikey` request header or url param was found.",
)
UNKNOWN = (
    "Invalid API key",
    "Double check your Supabase `anon` or `service_role` API key.",
)
_ROLES = {"anon": AnonymousCaller(), "service_role": ServiceCaller()}


_CACHED = 4096
_LONGEST_CACHED = 4096
"""Characters of a key and a token together whose meaning is remembered."""


class _Credentials(NamedTuple):
    """Who has the key, the token, the trusted server whose secret key the token is, and the name of a key whose digest is stored."""

    holder: AnonymousCaller | ServiceCaller | None
    token: str | None
    trusted: ServiceCaller | None
    name: str


class ApiKeyRejected(Exception):
    """No key, or an unknown one: message and hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(slots=True, repr=False)
class GatewayKeys:
    """The configured keys, those of which the digest is stored, and the verifier of the platform's own tokens for keys that were rotated."""

    public: tuple[str, ...]
    secret: tuple[str, ...] = field(repr=False)
    verifier: Verifier
    last_used: dict[str, float] = field(default_factory=dict, compare=False)
    """When each key of which the digest is stored was last used at this edge: seconds since 1970 by name; 0 for never."""
    _hashed: dict[bytes, tuple[str, AnonymousCaller | ServiceCaller]] = field(
        default_factory=dict, compare=False
    )
    """Name and holder by the digest."""
    _values: Mapping[str, str] = field(default_factory=dict, compare=False)
    _identified: BoundedCache[tuple[str, str | None], "_Credentials"] = field(
        default_factory=lambda: BoundedCache(_CACHED), compare=False
    )
    """What requests showed that had a configured key, or one of which the digest is stored."""

    def use_hashed(self, values: Mapping[str, str]) -> None:
        """Accept the keys of `auth.hashed_keys` from now on, and no former ones."""
        if values == self._values:
            return
        self._values = dict(values)
        parsed = {name: key for name, text in values.items() if (key := parse_hashed_key(text))}
        self._hashed = {
            key.digest: (name, ServiceCaller() if key.kind == "secret" else AnonymousCaller())
            for name, key in parsed.items()
        }
        self.last_used = {name: self.last_used.get(name, 0.0) for name in parsed}
        self._identified = BoundedCache(_CACHED)

    def credentials(self, key: str, authorization: str | None, now: float) -> "_Credentials":
        """Return what a key and an `Authorization` header show before the token is verified. Hot path."""
        cached = self._identified.get((key, authorization))
        if cached is not None:
            if cached.name:
                self.last_used[cached.name] = now
            return cached
        holder, name = self._holder(without_bearer(key), now)
        token = bearer_token(authorization)
        credentials = _Credentials(
            holder, token, None if token is None else _trusted(token, self), name or ""
        )
        if name is not None and len(key) + len(authorization or "") <= _LONGEST_CACHED:
            self._identified.put((key, authorization), credentials)
        return credentials

    def holder(self, key: str, now: float) -> AnonymousCaller | ServiceCaller | None:
        """Return who has this key: the public, a trusted server, or None for an unknown key. Compares in constant time."""
        return self._holder(key, now)[0]

    def _holder(self, key: str, now: float) -> tuple[AnonymousCaller | ServiceCaller | None, str | None]:
        """Return who has a key, and the name of one of which the digest is stored; empty for a configured one, None for a token, which ends."""
        sent = _bytes(key)
        is_public = any([hmac.compare_digest(sent, configured.encode()) for configured in self.public])
        is_secret = any([hmac.compare_digest(sent, configured.encode()) for configured in self.secret])
        if is_secret:
            return ServiceCaller(), ""
        if is_public:
            return AnonymousCaller(), ""
        if is_opaque(key) and (hashed := self._hashed.get(digest_of(sent))):
            name, holder = hashed
            self.last_used[name] = now
            return holder, name
        return self._signed(key, now), None

    def _signed(self, key: str, now: float) -> AnonymousCaller | ServiceCaller | None:
        """Take a JWT of the project with an API role as a key: keys may be rotated."""
        if key.count(".") != 2:
            return None
        verified = self.verifier.verify(key, now)
        if isinstance(verified, RejectedCaller):
            return None
        role = msgspec.json.decode(verified.claims, type=dict[str, object]).get("role")
        return _ROLES.get(role) if isinstance(role, str) else None  # type: ignore[return-value]  # both kinds are in the table


def identify(
    key: str | None, authorization: str | None, keys: GatewayKeys, verifier: Verifier, now: float
) -> Caller:
    """Return the caller of a request with this key and `Authorization` header. `verifier` checks the tokens of the area.

    Raises: ApiKeyRejected.
    """
    if not key:
        raise ApiKeyRejected(*MISSING)
    shown = keys.credentials(key, authorization, now)
    if shown.holder is None:
        raise ApiKeyRejected(*UNKNOWN)
    if shown.token is None:
        return shown.holder
    return shown.trusted or verifier.verify(shown.token, now)


def identify_by_token(authorization: str | None, keys: GatewayKeys, verifier: Verifier, now: float) -> Caller:
    """Return the caller of a request without a key if a token alone is sufficient. Raises: ApiKeyRejected if the token is missing as well."""
    token = bearer_token(authorization)
    if token is None:
        raise ApiKeyRejected(*MISSING)
    return _trusted(token, keys) or verifier.verify(token, now)


def _trusted(token: str, keys: GatewayKeys) -> ServiceCaller | None:
    """Take the configured secret key sent as a token for what it is, whatever verifies the tokens of this area."""
    sent = _bytes(token)
    matches = [hmac.compare_digest(sent, configured.encode()) for configured in keys.secret]
    return ServiceCaller() if any(matches) else None


def normalized_authorization(authorization: str | None) -> str | None:
    """Respell a token whose scheme is in another case, or left out, as storage takes it."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return f"Bearer {token}"
    return f"Bearer {scheme}" if scheme.count(".") == 2 and not token else authorization


def bearer_token(authorization: str | None) -> str | None:
    """Return the token of `Bearer <token>`; None for other schemes and opaque keys. An empty token is returned as an empty text."""
    if authorization is None:
        return None
    scheme, _, token = authorization.strip().partition(" ")
    token = token.strip()
    return token if scheme in ("Bearer", "bearer") and not is_opaque(token) else None


def is_opaque(key: str) -> bool:
    """Return whether a text has the form of a key that is no token."""
    return key.startswith("sb_")


def without_key(query: str) -> str:
    """Return a query without its API key, which the data interfaces would take for a filter on a column of that name."""
    return "&".join(part for part in query.split("&") if not part.startswith("apikey="))


def without_bearer(key: str) -> str:
    """Return a key without the word Bearer, which some send before it."""
    scheme, _, rest = key.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else key.strip()


def _bytes(text: str) -> bytes:
    """Encode a text of a client, even one with invalid Unicode."""
    return text.encode(errors="surrogatepass")
