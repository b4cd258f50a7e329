"""Every endpoint of storage, one line each: who must be known, and the name that policies know it by.

Source: reference page "storage", sections 2, 5 to 8 and 12.4.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from schemas.http import Response
from workers.routing import Route, Router
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.endpoints import (
    buckets,
    cdn,
    deleting,
    download,
    info,
    listing,
    moving,
    public,
    render,
    resumable,
    s3,
    signed,
    upload,
)
from workers.storage.s3 import keys as s3_keys

Endpoint = Callable[[Store, Asked], Awaitable[Response]]


class Known(Enum):
    """Whether an endpoint must know who asks."""

    NEEDED = "needed"
    OPTIONAL = "optional"
    """Whoever is not known reads public buckets."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Call:
    """An endpoint. `operation` is what `storage.operation()` says while it runs."""

    endpoint: Endpoint
    operation: str
    known: Known = Known.NEEDED


_OBJECT = "/object/{bucket}/{key...}"
_READ, _INFO = "storage.object.get_authenticated", "object.get_authenticated_info"
_HEAD = "object.head_authenticated_info"
_RENDER = "storage.render."

ROUTES: tuple[Route[Call], ...] = (
    Route("GET", "/status", Call(public.status, "", Known.NEVER)),
    Route("GET", "/version", Call(public.version_text, "", Known.NEVER)),
    Route("GET", "/health", Call(public.health, "", Known.NEVER)),
    Route("GET", "/bucket", Call(buckets.listing, "storage.bucket.list")),
    Route("GET", "/bucket/", Call(buckets.listing, "storage.bucket.list")),
    Route("POST", "/bucket", Call(buckets.create, "storage.bucket.create")),
    Route("POST", "/bucket/", Call(buckets.create, "storage.bucket.create")),
    Route("GET", "/bucket/{bucket}", Call(buckets.show, "storage.bucket.get")),
    Route("PUT", "/bucket/{bucket}", Call(buckets.update, "storage.bucket.update")),
    Route("DELETE", "/bucket/{bucket}", Call(buckets.delete, "storage.bucket.delete")),
    Route("POST", "/bucket/{bucket}/empty", Call(buckets.empty, "storage.bucket.empty")),
    Route("GET", "/bucket/{bucket}/size", Call(buckets.size, "storage.bucket.get")),
    Route("GET", "/object/public/{bucket}/{key...}", Call(download.openly, "storage.object.get_public", Known.NEVER)),
    Route("HEAD", "/object/public/{bucket}/{key...}", Call(info.head_openly, "storage.object.info_public", Known.NEVER)),
    Route("GET", "/object/authenticated/{bucket}/{key...}", Call(download.readable, _READ)),
    Route("HEAD", "/object/authenticated/{bucket}/{key...}", Call(info.head_readable, _HEAD)),
    Route("GET", "/object/sign/{bucket}/{key...}", Call(download.signed, "storage.object.get_signed", Known.NEVER)),
    Route("HEAD", "/object/sign/{bucket}/{key...}", Call(download.signed, "storage.object.get_signed", Known.NEVER)),
    Route("POST", "/object/sign/{bucket}/{key...}", Call(signed.one, "storage.object.sign")),
    Route("POST", "/object/sign/{bucket}", Call(signed.many, "storage.object.sign_many")),
    Route("POST", "/object/upload/sign/{bucket}/{key...}", Call(signed.upload, "storage.object.sign_upload_url")),
    Route("PUT", "/object/upload/sign/{bucket}/{key...}", Call(upload.signed, "storage.object.upload_signed", Known.NEVER)),
    Route("GET", "/object/info/public/{bucket}/{key...}", Call(info.openly, "storage.object.info_public", Known.NEVER)),
    Route("GET", "/object/info/authenticated/{bucket}/{key...}", Call(info.readable, _INFO)),
    Route("GET", "/object/info/{bucket}/{key...}", Call(info.readable, _INFO, Known.OPTIONAL)),
    Route("POST", "/object/list/{bucket}", Call(listing.listing, "storage.object.list")),
    Route("POST", "/object/list-v2/{bucket}", Call(listing.listing_v2, "storage.object.list_v2")),
    Route("POST", "/object/move", Call(moving.moving, "storage.object.move")),
    Route("POST", "/object/copy", Call(moving.copying, "storage.object.copy")),
    Route("GET", _OBJECT, Call(download.readable, _READ, Known.OPTIONAL)),
    Route("HEAD", _OBJECT, Call(info.head_readable, _HEAD, Known.OPTIONAL)),
    Route("POST", _OBJECT, Call(upload.create, "storage.object.upload")),
    Route("PUT", _OBJECT, Call(upload.replace, "storage.object.upload_update")),
    Route("DELETE", _OBJECT, Call(deleting.one, "storage.object.delete")),
    Route("DELETE", "/object/{bucket}", Call(deleting.many, "storage.object.delete_many")),
    Route("GET", "/render/image/public/{bucket}/{key...}", Call(render.openly, f"{_RENDER}image_public", Known.NEVER)),
    Route("GET", "/render/image/authenticated/{bucket}/{key...}", Call(render.authenticated, f"{_RENDER}image_authenticated")),
    Route("GET", "/render/image/sign/{bucket}/{key...}", Call(render.signed, f"{_RENDER}image_sign", Known.NEVER)),
    *(
        Route(method, pattern, Call(s3.answer, "", Known.NEVER))
        for method in ("GET", "HEAD", "PUT", "POST", "DELETE")
        for pattern in ("/s3", "/s3/", "/s3/{path...}")
    ),
    Route("POST", "/s3-keys", Call(s3_keys.create, "storage.s3.key.create")),
    Route("GET", "/s3-keys", Call(s3_keys.listing, "storage.s3.key.list")),
    Route("DELETE", "/s3-keys/{id}", Call(s3_keys.delete, "storage.s3.key.delete")),
    *(
        Route(method, f"/upload/resumable{below}", Call(endpoint, f"storage.tus.upload.{step}{suffix}", Known.NEVER))
        for root, suffix in (("", ""), ("/sign", "_signed"))
        for method, below, endpoint, step in (
            ("POST", root, resumable.create, "create"),
            ("POST", f"{root}/", resumable.create, "create"),
            ("HEAD", f"{root}/{{id}}", resumable.show, "get"),
            ("PATCH", f"{root}/{{id}}", resumable.write, "part"),
            ("DELETE", f"{root}/{{id}}", resumable.terminate, "delete"),
        )
    ),
    Route("DELETE", "/cdn", Call(cdn.everything, "storage.cdn.purge_tenant_cache")),
    Route("DELETE", "/cdn/{bucket}", Call(cdn.bucket, "storage.cdn.purge_bucket_cache")),
    Route("DELETE", "/cdn/{bucket}/{key...}", Call(cdn.one, "storage.cdn.purge_object_cache")),
)  # fmt: skip

ROUTER = Router(ROUTES)

AREAS = frozenset(route.pattern.split("/")[1] for route in ROUTES)
"""First segments of paths that are known."""
