"""Buckets: list, make, look at, delete, where it is. Policies hold as everywhere. Source: reference page "storage", 10."""

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.storage import buckets
from workers.storage.buckets import NewBucket
from workers.storage.context import Store
from workers.storage.rules import refuse_bad_bucket
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import invalid_argument

_PUBLIC = ("public-read", "public-read-write")
_PRIVATE = ("", "private")


class _Bucket(Struct, frozen=True):
    name: str
    created_at: str | None


async def listing(store: Store, asking: Asking) -> Response:
    """ListBuckets: those that the caller sees."""
    found = await buckets.listed(
        store, asking.asked, most=0, skipped=0, column="name", is_descending=False, search=""
    )
    listed = msgspec.json.decode(found, type=list[_Bucket])
    shown: list[xml.Item] = [
        ("Bucket", [("Name", each.name), ("CreationDate", each.created_at or "")]) for each in listed
    ]
    owner = asking.asked.caller.subject or ""
    return xml.answer(
        "ListAllMyBucketsResult", [("Owner", [("ID", owner), ("DisplayName", owner)]), ("Buckets", shown)]
    )


async def create(store: Store, asking: Asking) -> Response:
    """CreateBucket; `x-amz-acl: public-read` makes a public one. Where it shall lie is not asked."""
    acl = (asking.header("x-amz-acl") or "").strip().lower()
    if acl not in _PUBLIC + _PRIVATE:
        raise invalid_argument("x-amz-acl must be private or public-read")
    if asking.asked.body.strip():
        xml.read(asking.asked.body, "CreateBucketConfiguration")
    refuse_bad_bucket(asking.bucket)
    await buckets.create(store, asking.asked, NewBucket(asking.bucket, asking.bucket, acl in _PUBLIC))
    return Response(200, [("location", f"/{asking.bucket}")])


async def head(store: Store, asking: Asking) -> Response:
    """HeadBucket."""
    await buckets.shown(store, asking.asked, asking.bucket)
    return Response(200, [("x-amz-bucket-region", store.settings.s3_protocol.region)])


async def delete(store: Store, asking: Asking) -> Response:
    """DeleteBucket: it must be empty."""
    await buckets.delete(store, asking.asked, asking.bucket)
    return Response(204)


async def location(store: Store, asking: Asking) -> Response:
    """GetBucketLocation."""
    await buckets.shown(store, asking.asked, asking.bucket)
    region = store.settings.s3_protocol.region
    return Response(200, xml.TYPE, xml.text_document("LocationConstraint", region))


async def versioning(store: Store, asking: Asking) -> Response:
    """GetBucketVersioning: there is none."""
    await buckets.shown(store, asking.asked, asking.bucket)
    return xml.answer("VersioningConfiguration", [])
