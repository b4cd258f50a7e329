"""Signatures by Standard Webhooks. Pure.

`webhook-signature` is `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`; one for each key, so that keys can be
replaced without an interruption. Source: standardwebhooks.com, "Signature scheme".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from standardwebhooks import Webhook


@dataclass(frozen=True, slots=True)
class WebhookSigner:
    """Signs with every key of a receiver."""

    keys: tuple[Webhook, ...] = field(repr=False)

    def headers(self, id: str, at: datetime, body: str) -> Mapping[str, str]:
        """Return the headers that sign a call; `at` is in UTC."""
        return {
            "webhook-id": id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(key.sign(id, at, body) for key in self.keys),
        }


def signer_of(keys: Iterable[bytes | str]) -> WebhookSigner:
    """Return what signs with these keys: bytes, or their base64."""
    return WebhookSigner(tuple(Webhook(key) for key in keys))
