"""Access tokens: verify, and the words of every refusal. Pure but for a cache.

Checks in the order in which refusals win: empty, three parts, key and algorithm, signature, claims is an object, exp,
nbf, iat, aud. Signatures are cached by token; time claims are looked at on every use.

A token whose `iss` is exactly that of a foreign issuer is verified with the keys of that issuer alone, and every other
token with ours alone: no key reaches the tokens of somebody else, whatever `kid` they name.
Source: reference page "rest", section 5 and errors 300 to 303; RFC 7515, 7519.
"""

import base64
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace

import jwt
import msgspec
from jwt.exceptions import InvalidKeyError, InvalidTokenError
from jwt.warnings import InsecureKeyLengthWarning

from schemas.caller import Refusal, Rejected, User
from schemas.keys.token_claims import SKEW_S as SKEW_S  # offered here, beside those who need it
from schemas.keys.token_claims import refused_claim, validity
from schemas.keys.token_keys import ASYMMETRIC, SYMMETRIC, Issuer, Key, KeySet
from schemas.keys.token_keys import read_keys as read_keys  # offered here, beside those who need it

_KEPT_TEXT = 8192
_PARTS = re.compile(r"[\w=-]*\.[\w=-]*\.[\w=-]*", re.ASCII)
_jws = jwt.api_jws.PyJWS()
_object = msgspec.json.Decoder(dict[str, object])


class Verifier:
    """Turns token texts into callers, with the keys and the audience of one area. Verified tokens are kept."""

    def __init__(self, keys: KeySet, *, audience: str | None = None, max_entries: int = 10_000) -> None:
        self._own = Issuer(keys, audience)
        self._foreign: Mapping[str, Issuer] = {}
        self._max_entries = max_entries
        self._kept: dict[str, tuple[User, float, float]] = {}

    def verify(self, token: str, now: float) -> User | Rejected:
        """Give the caller of a token at a time in seconds since 1970."""
        kept = self._kept.get(token)
        if kept is not None and kept[1] <= now <= kept[2]:
            return kept[0]
        checked = self._check(token, now)
        if isinstance(checked, Rejected):
            return checked
        user, valid_from, valid_to = checked
        if self._max_entries > 0 and len(token) <= _KEPT_TEXT:
            if len(self._kept) >= self._max_entries and token not in self._kept:
                del self._kept[next(iter(self._kept))]
            self._kept[token] = (user, valid_from, valid_to)
        return user

    def use(self, keys: KeySet) -> None:
        """Verify with these keys of ours from now on; what others signed is not valid any more."""
        self._own = replace(self._own, keys=keys)
        self.forget()

    def trust(self, issuers: Mapping[str, Issuer]) -> None:
        """Take the tokens of these issuers too, by their `iss`, from now on."""
        self._foreign = dict(issuers)
        self.forget()

    def forget(self) -> None:
        """Drop what is kept: keys have changed."""
        self._kept.clear()

    def lacking(self, token: str) -> str | None:
        """Name the issuer whose keys hold none by the `kid` of a token, the empty text for ours; None if they do.

        So a refused token tells whose keys may have changed. A token without a `kid` asks for all keys there are.
        """
        issuer = self._foreign_issuer(token)
        keys = (self._own if issuer is None else self._foreign[issuer]).keys
        header = _part(token, 0)
        if header is None or any(key.id == header.get("kid") for key in keys.keys):
            return None
        return issuer or ""

    def _foreign_issuer(self, token: str) -> str | None:
        """Give the `iss` of a token that says to be of a foreign issuer; nothing of it is verified yet."""
        claims = _part(token, 1) if self._foreign else None
        return self._foreign_name(claims) if claims else None

    def _foreign_name(self, claims: Mapping[str, object]) -> str | None:
        name = claims.get("iss")
        return name if isinstance(name, str) and name in self._foreign else None

    def _check(self, token: str, now: float) -> tuple[User, float, float] | Rejected:
        named = self._foreign_issuer(token)
        issuer = self._own if named is None else self._foreign[named]
        payload = _payload(token, issuer.keys, is_foreign=named is not None)
        if isinstance(payload, Rejected):
            return payload
        try:
            claims = _object.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Rejected(Refusal.CLAIMS, "Parsing claims failed")
        if self._foreign_name(claims) != named:  # the two readers of JSON do not agree on its `iss`
            return _undecodable("JWT cryptographic operation failed")
        is_needed = named is not None and issuer.audience is not None
        wanted = issuer.audience or self._own.audience
        refusal = refused_claim(claims, now, wanted, needs_audience=is_needed)
        if refusal:
            return Rejected(Refusal.CLAIMS, refusal)
        return User(payload), *validity(claims)


def _payload(token: str, keys: KeySet, *, is_foreign: bool) -> bytes | Rejected:
    """Verify the signature and give the payload."""
    if not token:
        return _undecodable("Empty JWT is sent in Authorization header")
    parts = token.split(".")
    if len(parts) != 3:
        return _undecodable(f"Expected 3 parts in JWT; got {len(parts)}")
    if not keys.keys and not is_foreign:
        return Rejected(Refusal.NO_SECRET, "Server lacks JWT secret")
    header = _part(token, 0) if _PARTS.fullmatch(token) else None
    if header is None:
        return _undecodable("JWT cryptographic operation failed")
    algorithm = header.get("alg")
    if algorithm == "none":
        return _undecodable(
            "Wrong or unsupported encoding algorithm", "JWT is unsecured but expected 'alg' was not 'none'"
        )
    if algorithm not in SYMMETRIC and algorithm not in ASYMMETRIC:
        return _undecodable("Wrong or unsupported encoding algorithm")
    for key in keys.candidates(header.get("kid")):
        if algorithm in key.algorithms and (payload := _verified(token, key, algorithm)) is not None:
            return payload
    return _undecodable("No suitable key or wrong key type", "None of the keys was able to decode the JWT")


def _part(token: str, index: int) -> dict[str, object] | None:
    """Read the header (0) or the claims (1) of a token, as far as they are an object; nothing is verified."""
    try:
        text = token.split(".", 2)[index]
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, IndexError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _verified(token: str, key: Key, algorithm: str) -> bytes | None:
    """Give the payload if this key signed the token."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", InsecureKeyLengthWarning
            )  # the settings say how long a secret must be
            return _jws.decode(token, key.material, algorithms=[algorithm])  # type: ignore[no-any-return, arg-type]  # bytes; any key kind
    except (InvalidTokenError, InvalidKeyError, ValueError, TypeError, RecursionError):
        return None


def _undecodable(message: str, details: str | None = None) -> Rejected:
    return Rejected(Refusal.UNDECODABLE, message, details)
