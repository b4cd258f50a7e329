"""Purges of a cache in front of the platform, by the service that the settings name (`storage.cdn_purge_endpoint_url`).

What is posted has the form of the official server, so that a service written for that works here: `{"type", "tenant": {"ref"},
"bucketId", "objectName"}`, where the type is `object`, `bucket` or `tenant`, and ends in `-transforms` if renditions alone are
meant. Source: docs/reference/storage.md, section 7.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import orjson

from schemas.settings.storage import Storage
from workers.http_client.client import FetchFailed, HttpClient
from workers.storage.model.errors import StorageError, StorageErrorCode

_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class OutsideCache:
    """Posts purges. `tenant` is the project's id."""

    outgoing: HttpClient
    tenant: str

    async def purge(self, settings: Storage, bucket: str, key: str, *, only_renditions: bool) -> None:
        """Purge an object, without `key` a bucket, without both everything. Does nothing where no service is set.

        Raises: StorageError (500) if the service does not accept it.
        """
        if settings.cdn_purge_endpoint_url is None:
            return
        kind = "object" if key else "bucket" if bucket else "tenant"
        body: dict[str, object] = {
            "type": f"{kind}-transforms" if only_renditions else kind,
            "tenant": {"ref": self.tenant},
        }
        body |= {name: value for name, value in (("bucketId", bucket), ("objectName", key)) if value}
        token = settings.cdn_purge_endpoint_key
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {token.reveal()}"} if token else {}
        )
        try:
            answer = await self.outgoing.fetch(
                "POST",
                _purge_url(settings.cdn_purge_endpoint_url.reveal()),
                headers=headers,
                body=orjson.dumps(body),
                timeout_s=_TIMEOUT_S,
            )
        except FetchFailed as error:
            raise _not_purged(str(error)) from None
        if not answer.is_ok:
            raise _not_purged(f"it answered with status {answer.status}")


def _purge_url(text: str) -> str:
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/") + "/purge", "", ""))


def _not_purged(reason: str) -> StorageError:
    message = f"The cache was not purged: the service of storage.cdn_purge_endpoint_url failed, {reason}"
    return StorageError(StorageErrorCode.INTERNAL_ERROR, message, 500, error="Internal")
