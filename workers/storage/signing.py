"""Tokens of signed URLs: made, and held against what is asked with them. Pure.

A token names one object and one use. Claims are ours alone: nothing that a client sends becomes one. A user's access token
is signed with the same secret and names no object, so it opens nothing here.
Source: reference page "storage", section 6.10.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from schemas.caller import Refusal, Rejected
from schemas.keys.signing import SigningKey, sign
from schemas.keys.token_keys import Key, KeySet
from schemas.keys.tokens import Verifier
from workers.storage.errors import invalid_jwt, invalid_signature

LONGEST_S = 604_800
"""Seconds that a signed URL holds at most: a week."""

_ALGORITHM = "HS256"


class Scope(StrEnum):
    """What a token is for."""

    DOWNLOAD = "download"
    UPLOAD = "upload"


class Claims(Struct, frozen=True):
    """What a token says. Older ones have no `scope`: those with `upsert` are for uploads."""

    url: str
    exp: int | float
    iat: int | float | None = None
    scope: str | None = None
    transformations: str = ""
    format: str = ""
    upsert: bool | None = None
    owner: str | None = None

    @property
    def use(self) -> str:
        """Give what it is for."""
        if self.scope is not None:
            return self.scope
        return Scope.DOWNLOAD if self.upsert is None else Scope.UPLOAD


@dataclass(frozen=True, slots=True)
class Signer:
    """Makes and reads tokens of signed URLs with the project's secret."""

    secret: bytes = field(repr=False)
    clock: Callable[[], float]
    verifier: Verifier = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare what verifies."""
        keys = KeySet((Key(self.secret, (_ALGORITHM,)),))
        object.__setattr__(self, "verifier", Verifier(keys, max_entries=1000))

    def download(self, url: str, expires_in_s: int, *, transformations: str = "", format: str = "") -> str:
        """Make a token that reads one object, or one picture made of it."""
        more = {"transformations": transformations, "format": format}
        return self._sign(url, Scope.DOWNLOAD, expires_in_s, {k: v for k, v in more.items() if v})

    def upload(self, url: str, expires_in_s: int, *, upsert: bool, owner: str | None) -> str:
        """Make a token that writes one object, on behalf of its owner."""
        more: dict[str, object] = {"upsert": upsert} | ({"owner": owner} if owner else {})
        return self._sign(url, Scope.UPLOAD, expires_in_s, more)

    def read(self, token: str, scope: Scope, path: str) -> Claims:
        """Give what a token says that is presented for a path (`<bucket>/<key>`, decoded).

        Raises: StorageError: InvalidJWT, or InvalidSignature if it is for another use or another path.
        """
        now = self.clock()
        verified = self.verifier.verify(token, now)
        if isinstance(verified, Rejected):
            raise invalid_jwt(verified)
        try:
            claims = msgspec.json.decode(verified.claims, type=Claims)
        except msgspec.ValidationError:  # signed by us for something else, such as a user's access token
            raise invalid_signature() from None
        if claims.use != scope:
            raise invalid_signature(f"Token is not scoped for {scope.value}")
        # Some clients encode the address once more; what is opened is what the token names, whatever the path says.
        if not (_are_equal(claims.url, path) | _are_equal(claims.url, unquote(path))):
            raise invalid_signature()
        if claims.exp < now:  # to the second, without the grace that clocks of others are given
            raise invalid_jwt(Rejected(Refusal.CLAIMS, "JWT expired"))
        return claims

    def _sign(self, url: str, scope: Scope, expires_in_s: int, more: dict[str, object]) -> str:
        now = int(self.clock())
        claims = {"url": url, "scope": scope.value, **more, "iat": now, "exp": now + expires_in_s}
        return sign(claims, SigningKey(self.secret, _ALGORITHM))


def split_url(url: str) -> tuple[str, str]:
    """Give bucket and key of a token's `url`."""
    bucket, _, key = url.partition("/")
    return bucket, key


def _are_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
