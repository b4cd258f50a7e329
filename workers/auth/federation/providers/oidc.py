"""OpenID Connect: the discovery document of an issuer, its keys, and the verification of its ID tokens.

A token is valid if a published public key of the issuer signed it with an algorithm of that kind of key (never `none`, nor a
public key used as a shared secret), and `iss`, `aud`, `exp`, `nbf` and `at_hash` are right. The token does not decide where its
keys come from; it only selects one of the provider's configured issuers. Documents are cached for an hour; a token with an
unknown key id makes them fetched again, at most once a minute. The signature itself is verified in `schemas/keys/jws.py`.
Source: OpenID Connect Core 1.0, 2 and 3.1.3.7; OpenID Connect Discovery 1.0, 4; RFC 7515; RFC 8725.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from schemas.keys.jws import BadSignature, verified_payload
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from workers.auth.federation.document_cache import LASTS_S, Published
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.profile import Document, items, member, text
from workers.auth.federation.social.protocol import ProviderError

LEEWAY_S = 30
"""The tolerated difference between a provider's clock and ours."""
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
"""The algorithms of each kind of key, by `kty` and `crv`."""
ALGORITHMS = tuple(dict.fromkeys(chain.from_iterable(_KINDS.values())))
_HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}

_object = msgspec.json.Decoder(dict[str, Any])


class BadIdToken(ProviderError):
    """An ID token is not valid."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Bad ID token: {reason}")


class WrongAudience(BadIdToken):
    """An ID token was issued for other clients: `audiences`."""

    def __init__(self, audiences: tuple[str, ...]) -> None:
        super().__init__("it was made for another client")
        self.audiences = audiences


@dataclass(frozen=True, slots=True)
class IdTokenSigner:
    """An issuer that signs ID tokens, and the URL of its discovery document."""

    issuer: str
    aliases: tuple[str, ...] = ()
    """Other values that `iss` may have."""
    discovery: str = ""
    """Empty for the standard path below the issuer."""
    is_named_by_document: bool = False
    """The issuer is the one in the document; `{tenantid}` in it stands for the token's `tid`."""
    document: Published | None = None
    """The document, if it was fetched before."""
    check: Callable[[Document, str], None] | None = None
    """Raises ProviderError for a document that is not usable."""

    async def metadata(self, client: ProviderClient) -> Published:
        """Return the discovery document of the issuer. Raises: ProviderError."""
        address = self.discovery or self.issuer.rstrip("/") + WELL_KNOWN
        metadata = self.document if self.document is not None else await client.published(address)
        if self.check is not None:
            self.check(metadata, self.issuer)
        if not self.is_named_by_document and text(metadata, "issuer") != self.issuer:
            raise ProviderError(
                "Error getting provider metadata from external provider: it names another issuer"
            )
        return metadata


def signer_of(id_token: str, signers: tuple[IdTokenSigner, ...]) -> IdTokenSigner:
    """Return the signer that must have signed a token: the one of a provider's signers that the token names as its issuer.

    Raises: BadIdToken.
    """
    named = unverified_issuer(id_token)
    for signer in signers:
        if signer.is_named_by_document or named in (signer.issuer, *signer.aliases):
            return signer
    raise BadIdToken("it comes from another issuer")


def unverified_issuer(id_token: str) -> str:
    """Return the issuer that a token names; nothing is verified yet. Raises: BadIdToken."""
    return text(_peek(id_token, 1), "iss")


async def id_token_claims(
    client: ProviderClient, id_token: str, signer: IdTokenSigner, *, access_token: str = ""
) -> Document:
    """Verify an ID token for one of the client's ids, and return its claims. The caller checks the nonce.

    Raises: BadIdToken, WrongAudience; ProviderError if the issuer's documents cannot be fetched.
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


async def _key(client: ProviderClient, address: str, header: Document) -> Published:
    """Find the public key that a token names. Raises: BadIdToken, ProviderError."""
    if not address:
        raise ProviderError("Error getting provider metadata from external provider: it names no keys")
    for lasts_s in (LASTS_S, _REFETCH_S):
        published = await client.published(address, lasts_s=lasts_s)
        usable = [jwk for jwk in items(published, "keys") if isinstance(jwk, dict) and _is_for(jwk, header)]
        if len(usable) == 1 or (usable and text(header, "kid")):
            return usable[0]
    raise BadIdToken("its key is not among those of the issuer")


def _is_for(jwk: Document, header: Document) -> bool:
    """Return whether a key may verify a token: by its id, its use, and the algorithms of its kind."""
    kid, algorithm = text(header, "kid"), text(header, "alg")
    kind = (text(jwk, "kty"), text(jwk, "crv") if text(jwk, "kty") != "RSA" else "")
    if kid and text(jwk, "kid") != kid:
        return False
    if text(jwk, "use") not in ("", "sig") or text(jwk, "alg") not in ("", algorithm):
        return False
    return algorithm in _KINDS.get(kind, ())


def _verified(id_token: str, jwk: Published, algorithm: str) -> dict[str, Any]:
    """Return the claims of a token whose signature is valid. Raises: BadIdToken."""
    # Members beyond these would do nothing, or stand for a private key.
    public = {name: text(jwk, name) for name in ("kty", "crv", "n", "e", "x", "y") if text(jwk, name)}
    try:
        claims = json.loads(verified_payload(id_token, public, algorithm))
    except (BadSignature, ValueError, RecursionError):
        claims = None
    if not isinstance(claims, dict):
        raise BadIdToken("its signature is not the issuer's")
    return claims


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
    audiences = tuple(str(item) for item in named) if isinstance(named, list) else (text(claims, "aud"),)
    if not set(audiences) & set(filter(None, taken)):
        raise WrongAudience(tuple(filter(None, audiences)))


def _check_access_token(claims: Document, access_token: str, algorithm: str) -> None:
    """Check `at_hash`, the hash of the access token, if it is present. Source: OpenID Connect Core 1.0, 3.1.3.6."""
    expected = text(claims, "at_hash")
    if not expected:
        return
    digest = _HASHES.get(algorithm[-3:], hashlib.sha512)(access_token.encode()).digest()
    half_hash = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")
    if not hmac.compare_digest(half_hash, expected.rstrip("=").encode(errors="replace")):
        raise BadIdToken("it was made for another access token")


def _peek(id_token: str, part: int) -> dict[str, Any]:
    """Parse the header (0) or the claims (1), unverified. Raises: BadIdToken."""
    parts = id_token.split(".") if len(id_token) <= _MOST_LENGTH else []
    if len(parts) != 3:
        raise BadIdToken("it is no JWT")
    try:
        data = base64.urlsafe_b64decode(parts[part] + "=" * (-len(parts[part]) % 4))
        return _object.decode(data)
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        raise BadIdToken("it is no JWT") from None
