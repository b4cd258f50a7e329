"""Endpoints on storage: the buckets, with the members of the official interface."""

from typing import Any

from schemas.http import Response
from workers.management.operations.storage_buckets import BucketPage, BucketSummary
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered

_PAGE = 100
_MOST = 10_000
"""Buckets of one answer, which has no pages."""


async def list_buckets(call: ProjectCall) -> Response:
    """Return the buckets by id, at most `_MOST`."""
    buckets: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page: BucketPage = await call.operate("storage.buckets", limit=_PAGE, after=after)
        buckets += map(_bucket, page.rows)
        after = page.next
        if after is None or len(buckets) >= _MOST:
            return answered(buckets)


def _bucket(bucket: BucketSummary) -> dict[str, Any]:
    """Return a bucket; `owner` is empty, for a bucket of the platform belongs to nobody who is listed."""
    return {
        "id": bucket.id,
        "name": bucket.name,
        "owner": "",
        "created_at": bucket.created_at,
        "updated_at": bucket.updated_at,
        "public": bucket.public,
    }


ENDPOINTS = (ProjectEndpoint("GET", "/v1/projects/{ref}/storage/buckets", list_buckets),)
