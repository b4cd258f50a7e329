"""PKCE (RFC 7636): only the client that started a flow can complete it. Pure but for the random source.

The client sends a challenge, the SHA-256 of a random verifier, when it starts the flow, and the verifier when it exchanges
the flow's code. A code that was stolen on its way through the browser is useless without the verifier.
Sources: docs/reference/auth.md, section 4.4; RFC 7636, section 4.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from enum import StrEnum

from workers.auth.model import rejections

_MIN_LENGTH, _MAX_LENGTH = 43, 128
_CHARACTERS = re.compile(r"[A-Za-z0-9._~-]*")


class ChallengeMethod(StrEnum):
    """How the challenge is computed from the verifier; the values are those of the database's enum."""

    S256 = "s256"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class CodeChallenge:
    """The challenge that a client sent at the start of a flow; stored with the flow."""

    method: ChallengeMethod
    text: str = field(repr=False)

    def is_met_by(self, verifier: str) -> bool:
        """Return whether the verifier matches, in constant time. The method is the stored one, never the caller's."""
        expected = s256(verifier) if self.method is ChallengeMethod.S256 else verifier
        return hmac.compare_digest(expected.encode(errors="surrogatepass"), self.text.encode())


def parse_challenge(challenge: str | None, method: str | None) -> CodeChallenge | None:
    """Parse `code_challenge` and `code_challenge_method`; None if both are missing, so the request starts no PKCE flow.

    Raises: AuthError (400) if only one is present, or one is not valid.
    """
    if not challenge and not method:
        return None
    if not challenge or not method:
        raise rejections.PKCE_INCOMPLETE()
    if not _MIN_LENGTH <= len(challenge) <= _MAX_LENGTH:
        raise rejections.PKCE_CHALLENGE_LENGTH(least=_MIN_LENGTH, most=_MAX_LENGTH)
    if not _CHARACTERS.fullmatch(challenge):
        raise rejections.PKCE_CHALLENGE_CHARACTERS()
    if method.lower() not in (ChallengeMethod.S256, ChallengeMethod.PLAIN):
        raise rejections.PKCE_METHOD()
    return CodeChallenge(ChallengeMethod(method.lower()), challenge)


def check_verifier(challenge: CodeChallenge, verifier: str) -> None:
    """Raise if the verifier does not match the challenge.

    Raises: AuthError (400).
    """
    if not verifier:
        raise rejections.PKCE_EMPTY()
    if not challenge.is_met_by(verifier):
        raise rejections.BAD_CODE_VERIFIER()


def new_verifier() -> str:
    """Return a random verifier for a flow towards a provider: 43 url-safe characters."""
    return secrets.token_urlsafe(32)


def s256(verifier: str) -> str:
    """Return the challenge of a verifier: base64url of its SHA-256, without padding."""
    digest = hashlib.sha256(verifier.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
