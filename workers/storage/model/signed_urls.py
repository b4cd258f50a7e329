"""Tokens of signed URLs: create and verify them. Pure.

A token names one object and one use. Storage alone sets the claims: a client cannot choose one. A user's access token
is signed with the same secret but names no object, so it is rejected here.
Source: docs/reference/storage.md, section 6.10.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from schemas.caller import RejectedCaller, TokenFault
from schemas.keys.signing import SigningKey, sign
from schemas.keys.token_keys import Key, KeySet
from schemas.keys.tokens import Verifier
from workers.storage.model.errors import invalid_jwt, invalid_signature

LONGEST_S = 604_800
"""Maximum seconds that a signed URL is valid: a week."""

_ALGORITHM = "HS256"


class SignedUrlScope(StrEnum):
    """The use of a token."""

    DOWNLOAD = "download"
    UPLOAD = "upload"


class SignedUrlClaims(Struct, frozen=True):
    """The claims of a token. Older tokens lack `scope`: those with `upsert` are for uploads."""

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
        """Return the use of the token."""
        if self.scope is not None:
            return self.scope
        return SignedUrlScope.DOWNLOAD if self.upsert is None else SignedUrlScope.UPLOAD


@dataclass(frozen=True, slots=True)
class UrlSigner:
    """Creates and verifies tokens of signed URLs with the project's secret."""

    secret: bytes = field(repr=False)
    clock: Callable[[], float]
    former: KeySet = field(default_factory=KeySet)
    """Keys of secrets before this one, which verify until their time is over."""
    verifier: Verifier = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Create the verifier."""
        keys = KeySet((Key(self.secret, (_ALGORITHM,)),)) + self.former.limited((_ALGORITHM,))
        object.__setattr__(self, "verifier", Verifier(keys, max_entries=1000))

    def download(self, url: str, expires_in_s: int, *, transformations: str = "", format: str = "") -> str:
        """Return a token that reads one object, or one rendition of it."""
        more = {"transformations": transformations, "format": format}
        return self._sign(url, SignedUrlScope.DOWNLOAD, expires_in_s, {k: v for k, v in more.items() if v})

    def upload(self, url: str, expires_in_s: int, *, upsert: bool, owner: str | None) -> str:
        """Return a token that writes one object on behalf of its owner."""
        more: dict[str, object] = {"upsert": upsert} | ({"owner": owner} if owner else {})
        return self._sign(url, SignedUrlScope.UPLOAD, expires_in_s, more)

    def read(self, token: str, scope: SignedUrlScope, path: str) -> SignedUrlClaims:
        """Return the claims of a token that came with a path (`<bucket>/<key>`, decoded).

        Raises: StorageError: InvalidJWT, or InvalidSignature if it is for another use or another path.
        """
        now = self.clock()
        verified = self.verifier.verify(token, now)
        if isinstance(verified, RejectedCaller):
            raise invalid_jwt(verified)
        try:
            claims = msgspec.json.decode(verified.claims, type=SignedUrlClaims)
        except msgspec.ValidationError:  # signed by us for something else, such as a user's access token
            raise invalid_signature() from None
        if claims.use != scope:
            raise invalid_signature(f"Token is not scoped for {scope.value}")
        # Some clients encode the URL twice. The object that the token names is opened, not the one of the path.
        if not (_are_equal(claims.url, path) | _are_equal(claims.url, unquote(path))):
            raise invalid_signature()
        if claims.exp < now:  # exact to the second: this server's own clock signed it, so no leeway
            raise invalid_jwt(RejectedCaller(TokenFault.CLAIMS, "JWT expired"))
        return claims

    def _sign(self, url: str, scope: SignedUrlScope, expires_in_s: int, more: dict[str, object]) -> str:
        now = int(self.clock())
        claims = {"url": url, "scope": scope.value, **more, "iat": now, "exp": now + expires_in_s}
        return sign(claims, SigningKey(self.secret, _ALGORITHM))


def split_url(url: str) -> tuple[str, str]:
    """Return bucket and key of a token's `url`."""
    bucket, _, key = url.partition("/")
    return bucket, key


def _are_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
