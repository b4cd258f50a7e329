"""One-time codes: generated, hashed, compared. Pure but for the random source.

Each code has three forms. The **code** is what a user types: digits. The **link** form is what the link in an email carries
(`token`, `token_hash`). The **stored** form is what the database holds. Each is computed from the one before it by an HMAC
with a key of the server, salted, and cannot be reversed: whoever can read the database can neither type a code nor follow a
link.

    link   = salt, then HMAC-SHA-256(key, "link", salt, address, code) cut to 40 digits
    stored = salt, then HMAC-SHA-256(key, "stored", link) cut to 40 digits

Both are 56 lower-case hex digits, as applications expect them (docs/reference/auth.md, section 5.1), with the prefix `pkce_`
if the request carried a code challenge. A link finds its row by `stored_of_link`; a typed code is looked up by the address.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from schemas.keys.secret import Secret

PKCE_PREFIX = "pkce_"
USUAL_LENGTH = 6
_MAX_LENGTH = 10
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
    """Derive the key of the codes from a secret of the server. If the secret changes, pending codes become invalid."""
    return hmac.digest(server_secret.reveal().encode(), b"headwater one-time codes", "sha256")


def code_length(setting: int) -> int:
    """Return the length of codes for a setting: 6 to 10 as they are, anything else is 6."""
    return setting if USUAL_LENGTH <= setting <= _MAX_LENGTH else USUAL_LENGTH


def new_code(length: int = USUAL_LENGTH) -> str:
    """Return a random code: digits, with leading zeros."""
    return f"{secrets.randbelow(10**length):0{length}d}"


def new_token(size_bytes: int = 32) -> str:
    """Return a random url-safe token: 43 characters for 32 bytes."""
    return secrets.token_urlsafe(size_bytes)


def hash_token(token: str) -> str:
    """Return the stored form of a token with enough entropy of its own (`new_token`): hex of SHA-256."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def issue(code: str, address: str, key: bytes, *, is_pkce: bool = False) -> OneTimeCode:
    """Return the three forms of a code for an address (email or phone, normalised), with a fresh salt."""
    salt = secrets.token_hex(_SALT_DIGITS // 2)
    link = _link(salt, code, address, key)
    prefix = PKCE_PREFIX if is_pkce else ""
    return OneTimeCode(code, prefix + link, prefix + _stored(link, key))


def is_pkce(link: str) -> bool:
    """Return whether a link's token, or its stored form, belongs to a PKCE flow."""
    return link.startswith(PKCE_PREFIX)


def stored_of_link(link: str, key: bytes) -> str | None:
    """Return the stored form of a link's token; None if the text is not such a token."""
    if not _LINK.fullmatch(link):
        return None
    prefix = PKCE_PREFIX if is_pkce(link) else ""
    return prefix + _stored(link.removeprefix(PKCE_PREFIX), key)


def is_code_of(stored: str | None, code: str, address: str, key: bytes) -> bool:
    """Return whether a typed code matches a row's stored form, in constant time. Rows with NULL or an empty text never match."""
    if stored is None or not _LINK.fullmatch(stored):
        return False
    bare = stored.removeprefix(PKCE_PREFIX)
    expected = _stored(_link(bare[:_SALT_DIGITS], code, address, key), key)
    return hmac.compare_digest(expected, bare)


def _link(salt: str, code: str, address: str, key: bytes) -> str:
    """The parts are length-prefixed, so that different pairs of code and address never produce the same message."""
    parts = [text.encode(errors="surrogatepass") for text in ("link", salt, address, code)]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return salt + hmac.digest(key, message, "sha256").hex()[:_HASH_DIGITS]


def _stored(link: str, key: bytes) -> str:
    digest = hmac.digest(key, b"stored" + link.encode(), "sha256").hex()
    return link[:_SALT_DIGITS] + digest[:_HASH_DIGITS]


# --- Attempts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """How long a code is valid after it was sent, and at which failed attempt it becomes invalid."""

    lifetime: timedelta
    max_failed: int


def is_over(sent_at: datetime | None, now: datetime, lifetime: timedelta) -> bool:
    """Return whether a code was sent `lifetime` ago or earlier, or never."""
    return sent_at is None or now >= sent_at + lifetime


def wait_s(sent_at: datetime | None, now: datetime, pause: timedelta) -> int:
    """Return the whole seconds until another message may be sent, 0 if at once (docs/reference/auth.md, section 5.6)."""
    if sent_at is None or sent_at >= now + pause:  # never, or by a clock that was set back since
        return 0
    left = (sent_at + pause - now).total_seconds()
    return max(0, -int(-left // 1))
