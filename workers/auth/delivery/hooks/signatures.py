"""The keys that sign calls to hooks. Pure. Source: docs/reference/auth.md, section 17."""

import base64
import binascii

from schemas.keys.secret import Secret
from workers.credentials.webhook_signatures import WebhookSigner, signer_of

_PREFIX = "v1,whsec_"
_KEY_BYTES = range(24, 65)


class BadSecrets(ValueError):
    """The keys of a hook are not valid. The text does not contain them."""


def read_signer(secrets: Secret | None) -> WebhookSigner:
    """Parse keys of the form `v1,whsec_<base64>`, joined by `|`. Raises: BadSecrets."""
    texts = [text.strip() for text in (secrets.reveal() if secrets else "").split("|")]
    keys = [_key(text) for text in texts if text]
    if not keys:
        raise BadSecrets("is needed: calls over HTTP are signed")
    return signer_of(keys)


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
