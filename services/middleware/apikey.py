"""API key and access token -> `Caller`: who is calling, before anything else is looked at.

The key says that the request may pass; the token says for whom. A request without a token runs as the key's role, and
nothing is injected for it. An opaque key (`sb_...`) sent as a token is none: the API key decides.
Storage takes a token alone, for clients of resumable uploads know no API key; and its scheme in any case.
Source: reference page "platform", section 1 ("Keys", "How they combine").
"""

import hmac
from dataclasses import dataclass

import msgspec

from schemas.caller import Anonymous, Caller, Rejected, Service
from schemas.keys.tokens import Verifier

MISSING = (
    "No API key found in request",
    "No `apikey` request header or url param was found.",
)
UNKNOWN = (
    "Invalid API key",
    "Double check your Supabase `anon` or `service_role` API key.",
)
_ROLES = {"anon": Anonymous(), "service_role": Service()}


class KeyRefused(Exception):
    """No key, or an unknown one: message and hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """The configured keys, and the verifier of the platform's own tokens for keys that were rotated."""

    public: tuple[str, ...]
    secret: tuple[str, ...]
    verifier: Verifier

    def holder(self, key: str, now: float) -> Anonymous | Service | None:
        """Tell whose key it is: the public's, a trusted server's, or nobody's. Compares in constant time."""
        sent = _bytes(key)
        is_public = any([hmac.compare_digest(sent, known.encode()) for known in self.public])
        is_secret = any([hmac.compare_digest(sent, known.encode()) for known in self.secret])
        if is_secret:
            return Service()
        if is_public:
            return Anonymous()
        return self._signed(key, now)

    def _signed(self, key: str, now: float) -> Anonymous | Service | None:
        """Take a JWT of the project with an API role as a key: keys may be rotated."""
        if key.count(".") != 2:
            return None
        verified = self.verifier.verify(key, now)
        if isinstance(verified, Rejected):
            return None
        role = msgspec.json.decode(verified.claims, type=dict[str, object]).get("role")
        return _ROLES.get(role) if isinstance(role, str) else None  # type: ignore[return-value]  # both kinds are in the table


def identify(
    key: str | None, authorization: str | None, keys: Keys, verifier: Verifier, now: float
) -> Caller:
    """Give the caller of a request with this key and `Authorization` header. `verifier` is that of the area.

    Raises: KeyRefused.
    """
    if not key:
        raise KeyRefused(*MISSING)
    holder = keys.holder(bare(key), now)
    if holder is None:
        raise KeyRefused(*UNKNOWN)
    token = bearer(authorization)
    if token is None:
        return holder
    return _trusted(token, keys) or verifier.verify(token, now)


def identify_by_token(authorization: str | None, keys: Keys, verifier: Verifier, now: float) -> Caller:
    """Give the caller of a request without a key where a token alone will do. Raises: KeyRefused if there is none either."""
    token = bearer(authorization)
    if token is None:
        raise KeyRefused(*MISSING)
    return _trusted(token, keys) or verifier.verify(token, now)


def _trusted(token: str, keys: Keys) -> Service | None:
    """Take the configured secret key sent as a token for what it is, whatever verifies the tokens of this area."""
    sent = _bytes(token)
    matches = [hmac.compare_digest(sent, known.encode()) for known in keys.secret]
    return Service() if any(matches) else None


def spelled_usually(authorization: str | None) -> str | None:
    """Respell a token whose scheme is in another case, or left out, as storage takes it."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return f"Bearer {token}"
    return f"Bearer {scheme}" if scheme.count(".") == 2 and not token else authorization


def bearer(authorization: str | None) -> str | None:
    """Give the token of `Bearer <token>`; other schemes and opaque keys are no token, an empty one is an empty token."""
    if authorization is None:
        return None
    scheme, _, token = authorization.strip().partition(" ")
    token = token.strip()
    return token if scheme in ("Bearer", "bearer") and not token.startswith("sb_") else None


def without_key(query: str) -> str:
    """Give a query without its API key, which the data interfaces would take for a filter on a column of that name."""
    return "&".join(part for part in query.split("&") if not part.startswith("apikey="))


def bare(key: str) -> str:
    """Give a key without the word Bearer, which some send before it."""
    scheme, _, rest = key.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else key.strip()


def _bytes(text: str) -> bytes:
    """Give the bytes of what a client sent, even of what is no Unicode text."""
    return text.encode(errors="surrogatepass")
