"""PKCE: the code challenge of a flow and the verifier that answers it. Pure but for the random source.

Source: reference page "auth", section 4.4; RFC 7636, 4.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from enum import StrEnum

from workers.auth.model import rejections

_LEAST, _MOST = 43, 128
_CHARACTERS = re.compile(r"[A-Za-z0-9._~-]*")


class Method(StrEnum):
    """How the challenge was made from the verifier; the values are those of the database's enum."""

    S256 = "s256"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a client sent at the start of a flow; it is kept with the flow."""

    method: Method
    text: str = field(repr=False)

    def is_met_by(self, verifier: str) -> bool:
        """Tell whether the verifier is the one, in constant time. The method is the flow's, never the caller's."""
        made = s256(verifier) if self.method is Method.S256 else verifier
        return hmac.compare_digest(made.encode(errors="surrogatepass"), self.text.encode())


def parse_challenge(challenge: str | None, method: str | None) -> Challenge | None:
    """Read `code_challenge` and `code_challenge_method`; None if a request has neither, and so no PKCE flow.

    Raises: AuthError (400) if only one is there, or one is not valid.
    """
    if not challenge and not method:
        return None
    if not challenge or not method:
        raise rejections.PKCE_HALF_GIVEN()
    if not _LEAST <= len(challenge) <= _MOST:
        raise rejections.PKCE_CHALLENGE_LENGTH(least=_LEAST, most=_MOST)
    if not _CHARACTERS.fullmatch(challenge):
        raise rejections.PKCE_CHALLENGE_CHARACTERS()
    if method.lower() not in (Method.S256, Method.PLAIN):
        raise rejections.PKCE_METHOD()
    return Challenge(Method(method.lower()), challenge)


def check_verifier(challenge: Challenge, verifier: str) -> None:
    """Raise if the verifier is not the one of the challenge.

    Raises: AuthError (400).
    """
    if not verifier:
        raise rejections.PKCE_EMPTY()
    if not challenge.is_met_by(verifier):
        raise rejections.BAD_CODE_VERIFIER()


def new_verifier() -> str:
    """Draw a verifier for a flow of ours towards a provider: 43 url-safe characters."""
    return secrets.token_urlsafe(32)


def s256(verifier: str) -> str:
    """Make the challenge of a verifier: base64url of its SHA-256, without padding."""
    digest = hashlib.sha256(verifier.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
