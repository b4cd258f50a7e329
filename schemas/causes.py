"""Causes of changes: which request wrote, and who sent it, as a worker signs it and the reader of history believes it. Pure.

    worker --setting headwater.cause--> trigger of a table with history --message headwater.cause--> log --> consumer (workers/history)

Theory. The setting and the messages are in the hands of the project's SQL too: role postgres may set the one and write the other. So the
text carries a MAC whose key no database holds, and three rules decide whether it is believed:

- the MAC is right: only a worker can write a name that has not been written before;
- it is at most `LONGEST_S` old when its transaction commits;
- no other transaction came with its nonce before: what is read from the log and written again comes too late.

What remains: SQL of the project that runs inside of a request sees the text before its own transaction commits, can roll back and use the
text in another one within `LONGEST_S`. That code could have written in the request's name anyway. Labels without a signature (`login`,
`application`) are what the session said of itself. Source: RFC 2104.
"""

import hmac
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from schemas.keys.sealing_keys import MasterKey, sealing_keys, signing_secrets
from schemas.settings.auth import Auth

SETTING = "headwater.cause"
"""The transaction's setting, and the prefix of the message in the log."""
LONGEST_S = 120.0
"""How long after it was signed a cause is believed: longer than any request lasts."""
LONGEST_MESSAGE = 2048
"""Bytes of the longest message that is kept."""
_PURPOSE = b"headwater causes 1"
_MAC_DIGITS = 32
_LONGEST_TEXT = 200


class SignedCause(Struct, frozen=True, array_like=True):
    """What a worker says of a transaction. `role` is that of the database, `request` the method and path without the query string."""

    nonce: str
    issued_ms: int
    request_id: str
    role: str
    sub: str
    area: str
    request: str


class LoggedCause(Struct, frozen=True):
    """A message of the log: the signed cause, if its signature is right, and what the session said of itself."""

    signed: SignedCause | None
    login: str
    application: str
    by_trigger: bool
    """The statement ran inside of a trigger, a cascade among them."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SignedCause).decode


def cause_keys(auth: Auth) -> list[bytes]:
    """Return the keys of causes: the first signs, all verify."""
    masters = [*sealing_keys(auth), *(MasterKey("signing", secret) for secret in signing_secrets(auth))]
    return [master.derive(_PURPOSE) for master in masters]


def sign_cause(key: bytes, cause: SignedCause) -> str:
    """Return the text of a cause with its MAC, on one line."""
    text = _encode(cause)
    return hmac.digest(key, text, "sha256").hex()[:_MAC_DIGITS] + text.decode()


def shortened(text: str) -> str:
    """Return the beginning of a text that a client chose."""
    return text[:_LONGEST_TEXT]


def read_cause(keys: Sequence[bytes], content: bytes) -> LoggedCause | None:
    """Return the cause in a message of the log: four lines (signed text, depth of triggers, login, application).

    None for a message of another form, which anyone may write.
    """
    lines = content.decode(errors="replace").split("\n")
    if len(content) > LONGEST_MESSAGE or len(lines) != 4 or not lines[1].isdigit():
        return None
    return LoggedCause(_verified(keys, lines[0]), shortened(lines[2]), shortened(lines[3]), lines[1] != "1")


def _verified(keys: Sequence[bytes], text: str) -> SignedCause | None:
    mac, signed = text[:_MAC_DIGITS].encode(errors="replace"), text[_MAC_DIGITS:].encode(errors="replace")
    for key in keys:
        if hmac.compare_digest(mac, hmac.digest(key, signed, "sha256").hex()[:_MAC_DIGITS].encode()):
            try:
                return _decode(signed)
            except msgspec.MsgspecError:
                return None  # signed by a version with another form
    return None
