"""What is posted to the webhook: the official server's form, with `id`, `sequence` and `owner` beside what it has. Pure.

Source: reference page "storage", section 11.
"""

from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct, field

from schemas.settings.tree import Settings
from schemas.storage_events import StorageEvent


class Tenant(Struct, frozen=True):
    """Which platform speaks: its project, and the host of its address."""

    ref: str
    host: str


class _Payload(Struct, frozen=True, rename="camel"):
    tenant: Tenant
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
    tenant: Tenant
    type: str = "Webhook"


def tenant_of(settings: Settings) -> Tenant:
    """Give the name that a platform has in the bodies."""
    url = settings.storage.public_url or settings.api.external_url
    return Tenant(settings.project_id, urlsplit(url).netloc.rpartition("@")[2])


def body_of(event: StorageEvent, tenant: Tenant, now_s: float) -> bytes:
    """Give the JSON of a post. `now_s` is the present time, in seconds since 1970."""
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
    told = _Event(event.type, payload, int(event.time.timestamp() * 1000), event.id, event.sequence)
    return msgspec.json.encode(_Body(told, datetime.fromtimestamp(now_s, UTC), tenant))
