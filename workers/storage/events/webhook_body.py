"""The body of a webhook post: the official server's format, with `id`, `sequence` and `owner` added. Pure.

Source: docs/reference/storage.md, section 11.
"""

from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct, field

from schemas.settings.tree import Settings
from schemas.storage_events import StorageEvent


class WebhookTenant(Struct, frozen=True):
    """The platform that sends the post: its project, and the host of its public address."""

    ref: str
    host: str


class _Payload(Struct, frozen=True, rename="camel"):
    tenant: WebhookTenant
    bucket_id: str
    name: str
    version: str | None
    metadata: Raw
    upload_type: str | None
    req_id: str | None
    owner: str | None


class _Event(Struct, frozen=True, rename="camel"):
    type: str
    payload: _Payload
    apply_time: int
    id: str
    sequence: int
    form: str = field(default="v1", name="$version")


class _Body(Struct, frozen=True, rename="camel"):
    event: _Event
    sent_at: datetime
    tenant: WebhookTenant
    type: str = "Webhook"


def tenant_of(settings: Settings) -> WebhookTenant:
    """Return the platform's name for the bodies."""
    url = settings.storage.public_url or settings.api.external_url
    return WebhookTenant(settings.project_id, urlsplit(url).netloc.rpartition("@")[2])


def body_of(event: StorageEvent, tenant: WebhookTenant, now_s: float) -> bytes:
    """Return the JSON of a post. `now_s` is the current time in seconds since 1970."""
    payload = _Payload(
        tenant,
        event.bucket,
        event.name,
        event.version,
        event.metadata,
        event.upload_type,
        event.request_id,
        event.owner,
    )
    body_event = _Event(event.type, payload, int(event.time.timestamp() * 1000), event.id, event.sequence)
    return msgspec.json.encode(_Body(body_event, datetime.fromtimestamp(now_s, UTC), tenant))
