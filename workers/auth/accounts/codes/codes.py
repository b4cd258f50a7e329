"""One-time codes: made, hashed, compared, and used up. Pure but for the random source.

Each code has three forms. The **code** is what a person types: digits. The **link** is what a mail's link carries
(`token`, `token_hash`). **Stored** is what the database holds. Each is made from the one before by an HMAC with a key of
the server, salted, and none leads back: who reads the database can neither type a code nor follow a link.

    link   = salt, then HMAC-SHA-256(key, "link", salt, address, code) cut to 40 digits
    stored = salt, then HMAC-SHA-256(key, "stored", link) cut to 40 digits

Both are 56 lower-case hex digits, as applications expect them (reference page "auth", 5.1), after `pkce_` where the
request carried a code challenge. A link finds its row by `stored_of_link`; a typed code finds it by the address.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from schemas.keys.secret import Secret

PKCE_PREFIX = "pkce_"
USUAL_LENGTH = 6
_LONGEST = 10
_SALT_DIGITS = 16
_HASH_DIGITS = 40
_LINK = re.compile(r"(?:pkce_)?[0-9a-f]{56}")


@dataclass(frozen=True, slots=True)
class OneTimeCode:
    """A code in its three forms. Its `repr` shows none."""

    code: str = field(repr=False)
    link: str = field(repr=False)
    stored: str = field(repr=False)


def code_key(server_secret: Secret) -> bytes:
    """Derive the key of the codes from a secret of the server. With another secret, pending codes are void."""
    return hmac.digest(server_secret.reveal().encode(), b"headwater one-time codes", "sha256")


def code_length(setting: int) -> int:
    """Give the length of codes for a setting: 6 to 10 as they are, anything else is 6."""
    return setting if USUAL_LENGTH <= setting <= _LONGEST else USUAL_LENGTH


def new_code(length: int = USUAL_LENGTH) -> str:
    """Draw a code: digits, zeros in front kept."""
    return f"{secrets.randbelow(10**length):0{length}d}"


def new_token(size_bytes: int = 32) -> str:
    """Draw a url-safe token: 43 characters for 32 bytes."""
    return secrets.token_urlsafe(size_bytes)


def hashed_token(token: str) -> str:
    """Give what is stored of a token with entropy of its own (`new_token`): hex of SHA-256."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def issue(code: str, address: str, key: bytes, *, is_pkce: bool = False) -> OneTimeCode:
    """Make the three forms of a code for an address (e-mail or phone, normalised), with a fresh salt."""
    salt = secrets.token_hex(_SALT_DIGITS // 2)
    link = _link(salt, code, address, key)
    prefix = PKCE_PREFIX if is_pkce else ""
    return OneTimeCode(code, prefix + link, prefix + _stored(link, key))


def is_pkce(link: str) -> bool:
    """Tell whether a link's token, or the stored form of one, belongs to a PKCE flow."""
    return link.startswith(PKCE_PREFIX)


def stored_of_link(link: str, key: bytes) -> str | None:
    """Give the stored form by which the row of a link is found; None if the text is no link's token."""
    if not _LINK.fullmatch(link):
        return None
    prefix = PKCE_PREFIX if is_pkce(link) else ""
    return prefix + _stored(link.removeprefix(PKCE_PREFIX), key)


def is_code_of(stored: str | None, code: str, address: str, key: bytes) -> bool:
    """Tell whether a typed code is the one of a row, in constant time. Rows without a code (NULL, empty) have none."""
    if stored is None or not _LINK.fullmatch(stored):
        return False
    bare = stored.removeprefix(PKCE_PREFIX)
    made = _stored(_link(bare[:_SALT_DIGITS], code, address, key), key)
    return hmac.compare_digest(made, bare)


def _link(salt: str, code: str, address: str, key: bytes) -> str:
    """The parts are length-prefixed, so that no two pairs of code and address read the same."""
    parts = [text.encode(errors="surrogatepass") for text in ("link", salt, address, code)]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return salt + hmac.digest(key, message, "sha256").hex()[:_HASH_DIGITS]


def _stored(link: str, key: bytes) -> str:
    made = hmac.digest(key, b"stored" + link.encode(), "sha256").hex()
    return link[:_SALT_DIGITS] + made[:_HASH_DIGITS]


# --- The life of a code ------------------------------------------------------------------------------------------


class Outcome(Enum):
    """How a try ended. Callers are told of the first only; all others read the same to them."""

    ACCEPTED = "accepted"
    WRONG = "wrong"
    EXPIRED = "expired"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """How long a code lives after it was sent, and at which wrong try it dies."""

    lifetime: timedelta
    most_failed: int = 5


@dataclass(frozen=True, slots=True)
class CodeState:
    """A live code: when it was sent, and how often a wrong one was tried in its place."""

    sent_at: datetime
    failed: int = 0


def attempt(
    state: CodeState, *, matches: bool, now: datetime, limits: CodeLimits
) -> tuple[CodeState | None, Outcome]:
    """Try a code: give the state to keep, None if the code is used up or dead, and how the try ended.

    The row stays locked from reading the state to writing the next, or tries at the same time would count once.
    """
    if now >= state.sent_at + limits.lifetime:
        return None, Outcome.EXPIRED
    if state.failed >= limits.most_failed:
        return None, Outcome.EXHAUSTED
    if matches:
        return None, Outcome.ACCEPTED
    failed = state.failed + 1
    if failed >= limits.most_failed:
        return None, Outcome.EXHAUSTED
    return replace(state, failed=failed), Outcome.WRONG


def wait_s(sent_at: datetime | None, now: datetime, pause: timedelta) -> int:
    """Give the whole seconds until another message may be sent, 0 if at once (reference page "auth", 5.6)."""
    if sent_at is None:
        return 0
    left = (sent_at + pause - now).total_seconds()
    return max(0, -int(-left // 1))
