"""Signatures of calls to hooks, by Standard Webhooks. Pure.

`webhook-signature` is `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`; one for each key, so that keys can be
replaced without an interruption. Source: docs/reference/auth.md, section 17; standardwebhooks.com, "Signature scheme".
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from standardwebhooks import Webhook

from schemas.keys.secret import Secret

_PREFIX = "v1,whsec_"
_KEY_BYTES = range(24, 65)


class BadSecrets(ValueError):
    """The keys of a hook are not valid. The text does not contain them."""


@dataclass(frozen=True, slots=True)
class WebhookSigner:
    """Signs with every key of a hook."""

    keys: tuple[Webhook, ...] = field(repr=False)

    def headers(self, id: str, at: datetime, body: str) -> Mapping[str, str]:
        """Return the headers that sign a call; `at` is in UTC."""
        return {
            "webhook-id": id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(key.sign(id, at, body) for key in self.keys),
        }


def read_signer(secrets: Secret | None) -> WebhookSigner:
    """Parse keys of the form `v1,whsec_<base64>`, joined by `|`. Raises: BadSecrets."""
    texts = [text.strip() for text in (secrets.reveal() if secrets else "").split("|")]
    keys = tuple(Webhook(_key(text)) for text in texts if text)
    if not keys:
        raise BadSecrets("is needed: calls over HTTP are signed")
    return WebhookSigner(keys)


def _key(text: str) -> bytes:
    if not text.startswith(_PREFIX):
        raise BadSecrets(f"must be keys of the form {_PREFIX}<base64>, joined by |")
    bare = text.removeprefix(_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadSecrets("holds a key that is no base64") from None
    if len(key) not in _KEY_BYTES:
        raise BadSecrets("holds a key that is not of 24 to 64 bytes")
    return key
