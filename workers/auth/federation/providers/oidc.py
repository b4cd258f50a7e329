"""OpenID Connect: the published description of an issuer, its keys, and the ID tokens that they signed.

A token is believed if a published public key of the issuer signed it with an algorithm of that very kind of key (so
neither `none` nor a shared secret made of a public key), and `iss`, `aud`, `exp`, `nbf` and `at_hash` hold. Nothing in
a token chooses where keys come from, but one: which of a provider's own issuers is asked. Documents are kept for an
hour; a key that is not among those kept has them fetched again, once a minute at most.
Source: OpenID Connect Core 1.0, 2 and 3.1.3.7; OpenID Connect Discovery 1.0, 4; RFC 7515; RFC 8725.
"""

import base64
import binascii
import hashlib
import hmac
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.documents import LASTS_S, Published
from workers.auth.federation.providers.profile import Document, items, member, text
from workers.auth.federation.social.protocol import ProviderFailed

LEEWAY_S = 30
"""How far the clocks of a provider and ours may differ."""
WELL_KNOWN = "/.well-known/openid-configuration"
_REFETCH_S = 60.0
_MOST_LENGTH = 64 * 1024
_TENANT = "{tenantid}"
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_KINDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("RSA", ""): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA", "Ed25519"),
}
"""The algorithms that each kind of key may have signed with, by `kty` and `crv`."""
ALGORITHMS = tuple(dict.fromkeys(chain.from_iterable(_KINDS.values())))
_HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}

_object = msgspec.json.Decoder(dict[str, Any])
_registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
_registry.max_header_length = 8 * 1024  # some put a chain of certificates there


class BadIdToken(ProviderFailed):
    """An ID token is not what it should be."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Bad ID token: {reason}")


class WrongAudience(BadIdToken):
    """An ID token was made for others: `audiences`."""

    def __init__(self, audiences: tuple[str, ...]) -> None:
        super().__init__("it was made for another client")
        self.audiences = audiences


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs ID tokens: an issuer, and where it describes itself."""

    issuer: str
    aliases: tuple[str, ...] = ()
    """What `iss` may be besides."""
    discovery: str = ""
    """Empty: at the usual path of the issuer."""
    is_named_by_document: bool = False
    """The issuer is what its document says; `{tenantid}` there stands for the `tid` of the token."""
    given: Published | None = None
    """The document, where it was got before."""
    check: Callable[[Document, str], None] | None = None
    """Raises ProviderFailed for a document that will not do, besides naming another issuer."""

    async def metadata(self, client: Client) -> Published:
        """Give the document by which the issuer describes itself. Raises: ProviderFailed."""
        address = self.discovery or self.issuer.rstrip("/") + WELL_KNOWN
        found = self.given if self.given is not None else await client.published(address)
        if self.check is not None:
            self.check(found, self.issuer)
        if not self.is_named_by_document and text(found, "issuer") != self.issuer:
            raise ProviderFailed(
                "Error getting provider metadata from external provider: it names another issuer"
            )
        return found


def signer_of(id_token: str, signers: tuple[Signer, ...]) -> Signer:
    """Choose who must have signed a token, by the issuer that it names: one of a provider's own.

    Raises: BadIdToken.
    """
    named = unverified_issuer(id_token)
    for each in signers:
        if each.is_named_by_document or named in (each.issuer, *each.aliases):
            return each
    raise BadIdToken("it comes from another issuer")


def unverified_issuer(id_token: str) -> str:
    """Give the issuer that a token names, before anything is known to be true. Raises: BadIdToken."""
    return text(_peek(id_token, 1), "iss")


async def id_token_claims(
    client: Client, id_token: str, signer: Signer, *, access_token: str = ""
) -> Document:
    """Verify an ID token for one of the client's ids, and give its claims; the nonce is the caller's business.

    Raises: BadIdToken, WrongAudience; ProviderFailed where the issuer's documents cannot be had.
    """
    header = _peek(id_token, 0)
    algorithm = text(header, "alg")
    if algorithm not in ALGORITHMS or "crit" in header:
        raise BadIdToken("its algorithm is not taken")
    metadata = await signer.metadata(client)
    jwk = await _key(client, text(metadata, "jwks_uri"), header)
    claims = _verified(id_token, jwk, algorithm)
    expected = text(metadata, "issuer").replace(_TENANT, text(claims, "tid") or _TENANT)
    _check_issuer(claims, (expected, *signer.aliases), jwk)
    _check_times(claims, client.clock())
    _check_audience(claims, client.ids)
    if not text(claims, "sub"):
        raise BadIdToken("it names no user")
    if access_token:
        _check_access_token(claims, access_token, algorithm)
    return claims


async def _key(client: Client, address: str, header: Document) -> Published:
    """Find the public key that a token names. Raises: BadIdToken, ProviderFailed."""
    if not address:
        raise ProviderFailed("Error getting provider metadata from external provider: it names no keys")
    for lasts_s in (LASTS_S, _REFETCH_S):
        published = await client.published(address, lasts_s=lasts_s)
        usable = [
            each for each in items(published, "keys") if isinstance(each, dict) and _is_for(each, header)
        ]
        if len(usable) == 1 or (usable and text(header, "kid")):
            return usable[0]
    raise BadIdToken("its key is not among those of the issuer")


def _is_for(jwk: Document, header: Document) -> bool:
    """Tell whether a key may have signed a token: its id, its purpose, and an algorithm of its own kind."""
    kid, algorithm = text(header, "kid"), text(header, "alg")
    kind = (text(jwk, "kty"), text(jwk, "crv") if text(jwk, "kty") != "RSA" else "")
    if kid and text(jwk, "kid") != kid:
        return False
    if text(jwk, "use") not in ("", "sig") or text(jwk, "alg") not in ("", algorithm):
        return False
    return algorithm in _KINDS.get(kind, ())


def _verified(id_token: str, jwk: Published, algorithm: str) -> dict[str, Any]:
    """Verify the signature. Raises: BadIdToken."""
    public: dict[str, str | list[str]] = {
        name: text(jwk, name) for name in ("kty", "crv", "n", "e", "x", "y") if text(jwk, name)
    }
    try:
        key = JWKRegistry.import_key(public)
        if not isinstance(key, RSAKey | ECKey | OKPKey):
            raise BadIdToken("its key is of the wrong kind")
        with warnings.catch_warnings():
            # "EdDSA" is an old name; here it stands for Ed25519 alone (RFC 9864).
            warnings.simplefilter("ignore", SecurityWarning)
            return dict(jwt.decode(id_token, key, algorithms=[algorithm], registry=_registry).claims)
    except (JoseError, ValueError, TypeError, KeyError):
        raise BadIdToken("its signature is not the issuer's") from None


def _check_issuer(claims: Document, expected: tuple[str, ...], jwk: Document) -> None:
    issuer = text(claims, "iss")
    if not issuer or issuer not in expected:
        raise BadIdToken("it comes from another issuer")
    # Azure publishes keys of several issuers in one set, each marked with its own.
    of_key = text(jwk, "issuer").replace(_TENANT, text(claims, "tid") or _TENANT)
    if of_key and of_key != issuer:
        raise BadIdToken("its key belongs to another issuer")


def _check_times(claims: Document, now: float) -> None:
    expires = read_json_number(member(claims, "exp"), least=0, most=FAR_S)
    if expires is None or now >= expires + LEEWAY_S:
        raise BadIdToken("it has expired")
    if member(claims, "nbf") is None:
        return
    begins = read_json_number(member(claims, "nbf"), least=0, most=FAR_S)
    if begins is None or now < begins - LEEWAY_S:
        raise BadIdToken("it is not valid yet")


def _check_audience(claims: Document, taken: tuple[str, ...]) -> None:
    named = member(claims, "aud")
    audiences = tuple(str(each) for each in named) if isinstance(named, list) else (text(claims, "aud"),)
    if not set(audiences) & set(filter(None, taken)):
        raise WrongAudience(tuple(filter(None, audiences)))


def _check_access_token(claims: Document, access_token: str, algorithm: str) -> None:
    """Raise if a token tells the hash of another access token. Source: OpenID Connect Core 1.0, 3.1.3.6."""
    told = text(claims, "at_hash")
    if not told:
        return
    digest = _HASHES.get(algorithm[-3:], hashlib.sha512)(access_token.encode()).digest()
    made = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")
    if not hmac.compare_digest(made, told.rstrip("=").encode(errors="replace")):
        raise BadIdToken("it was made for another access token")


def _peek(id_token: str, part: int) -> dict[str, Any]:
    """Read the header (0) or the claims (1) without believing them. Raises: BadIdToken."""
    parts = id_token.split(".") if len(id_token) <= _MOST_LENGTH else []
    if len(parts) != 3:
        raise BadIdToken("it is no JWT")
    try:
        found = base64.urlsafe_b64decode(parts[part] + "=" * (-len(parts[part]) % 4))
        return _object.decode(found)
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        raise BadIdToken("it is no JWT") from None
