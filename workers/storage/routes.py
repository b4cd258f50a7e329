"""The routes of storage: endpoint, whether it needs an authenticated caller, and the operation name that policies see.

Source: docs/reference/storage.md, sections 2, 5 to 8 and 12.4.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from schemas.http import Response
from workers.routing import Router, ServiceRoute
from workers.storage.endpoints import (
    buckets,
    cdn,
    delete,
    download,
    info,
    listing,
    move_and_copy,
    render,
    resumable,
    s3,
    signed,
    status,
    upload,
)
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3 import access_keys as s3_keys

Endpoint = Callable[[StorageContext, StorageRequest], Awaitable[Response]]


class CallerRequirement(Enum):
    """Whether an endpoint needs an authenticated caller."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    """Without one, only public buckets can be read."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class EndpointCall:
    """An endpoint. `operation` is what the SQL function `storage.operation()` returns while it runs."""

    endpoint: Endpoint
    operation: str
    caller: CallerRequirement = CallerRequirement.REQUIRED


_OBJECT = "/object/{bucket}/{key...}"
_READ, _INFO = "storage.object.get_authenticated", "object.get_authenticated_info"
_HEAD = "object.head_authenticated_info"
_RENDER = "storage.render."

_ROUTES: tuple[ServiceRoute[EndpointCall], ...] = (
    ServiceRoute("GET", "/status", EndpointCall(status.status, "", CallerRequirement.NONE)),
    ServiceRoute("GET", "/version", EndpointCall(status.version_text, "", CallerRequirement.NONE)),
    ServiceRoute("GET", "/health", EndpointCall(status.health, "", CallerRequirement.NONE)),
    ServiceRoute("GET", "/bucket", EndpointCall(buckets.listing, "storage.bucket.list")),
    ServiceRoute("GET", "/bucket/", EndpointCall(buckets.listing, "storage.bucket.list")),
    ServiceRoute("POST", "/bucket", EndpointCall(buckets.create, "storage.bucket.create")),
    ServiceRoute("POST", "/bucket/", EndpointCall(buckets.create, "storage.bucket.create")),
    ServiceRoute("GET", "/bucket/{bucket}", EndpointCall(buckets.show, "storage.bucket.get")),
    ServiceRoute("PUT", "/bucket/{bucket}", EndpointCall(buckets.update, "storage.bucket.update")),
    ServiceRoute("DELETE", "/bucket/{bucket}", EndpointCall(buckets.delete, "storage.bucket.delete")),
    ServiceRoute("POST", "/bucket/{bucket}/empty", EndpointCall(buckets.empty, "storage.bucket.empty")),
    ServiceRoute("GET", "/bucket/{bucket}/size", EndpointCall(buckets.size, "storage.bucket.get")),
    *(
        ServiceRoute(method, "/bucket/{bucket}/lifecycle", EndpointCall(buckets.lifecycle, "storage.bucket.get"))
        for method in ("GET", "PUT", "DELETE")
    ),
    ServiceRoute("GET", "/object/public/{bucket}/{key...}", EndpointCall(download.public, "storage.object.get_public", CallerRequirement.NONE)),
    ServiceRoute("HEAD", "/object/public/{bucket}/{key...}", EndpointCall(info.head_public, "storage.object.info_public", CallerRequirement.NONE)),
    ServiceRoute("GET", "/object/authenticated/{bucket}/{key...}", EndpointCall(download.authenticated, _READ)),
    ServiceRoute("HEAD", "/object/authenticated/{bucket}/{key...}", EndpointCall(info.head_authenticated, _HEAD)),
    ServiceRoute("GET", "/object/sign/{bucket}/{key...}", EndpointCall(download.signed, "storage.object.get_signed", CallerRequirement.NONE)),
    ServiceRoute("HEAD", "/object/sign/{bucket}/{key...}", EndpointCall(download.signed, "storage.object.get_signed", CallerRequirement.NONE)),
    ServiceRoute("POST", "/object/sign/{bucket}/{key...}", EndpointCall(signed.one, "storage.object.sign")),
    ServiceRoute("POST", "/object/sign/{bucket}", EndpointCall(signed.many, "storage.object.sign_many")),
    ServiceRoute("POST", "/object/upload/sign/{bucket}/{key...}", EndpointCall(signed.upload, "storage.object.sign_upload_url")),
    ServiceRoute("PUT", "/object/upload/sign/{bucket}/{key...}", EndpointCall(upload.signed, "storage.object.upload_signed", CallerRequirement.NONE)),
    ServiceRoute("GET", "/object/info/public/{bucket}/{key...}", EndpointCall(info.public, "storage.object.info_public", CallerRequirement.NONE)),
    ServiceRoute("GET", "/object/info/authenticated/{bucket}/{key...}", EndpointCall(info.authenticated, _INFO)),
    ServiceRoute("GET", "/object/info/{bucket}/{key...}", EndpointCall(info.authenticated, _INFO, CallerRequirement.OPTIONAL)),
    ServiceRoute("POST", "/object/list/{bucket}", EndpointCall(listing.listing, "storage.object.list")),
    ServiceRoute("POST", "/object/list-v2/{bucket}", EndpointCall(listing.listing_v2, "storage.object.list_v2")),
    ServiceRoute("POST", "/object/move", EndpointCall(move_and_copy.move, "storage.object.move")),
    ServiceRoute("POST", "/object/copy", EndpointCall(move_and_copy.copy, "storage.object.copy")),
    ServiceRoute("GET", _OBJECT, EndpointCall(download.authenticated, _READ, CallerRequirement.OPTIONAL)),
    ServiceRoute("HEAD", _OBJECT, EndpointCall(info.head_authenticated, _HEAD, CallerRequirement.OPTIONAL)),
    ServiceRoute("POST", _OBJECT, EndpointCall(upload.create, "storage.object.upload")),
    ServiceRoute("PUT", _OBJECT, EndpointCall(upload.replace, "storage.object.upload_update")),
    ServiceRoute("DELETE", _OBJECT, EndpointCall(delete.one, "storage.object.delete")),
    ServiceRoute("DELETE", "/object/{bucket}", EndpointCall(delete.many, "storage.object.delete_many")),
    ServiceRoute("GET", "/render/image/public/{bucket}/{key...}", EndpointCall(render.public, f"{_RENDER}image_public", CallerRequirement.NONE)),
    ServiceRoute("GET", "/render/image/authenticated/{bucket}/{key...}", EndpointCall(render.authenticated, f"{_RENDER}image_authenticated")),
    ServiceRoute("GET", "/render/image/sign/{bucket}/{key...}", EndpointCall(render.signed, f"{_RENDER}image_sign", CallerRequirement.NONE)),
    *(
        ServiceRoute(method, pattern, EndpointCall(s3.answer, "", CallerRequirement.NONE))
        for method in ("GET", "HEAD", "PUT", "POST", "DELETE")
        for pattern in ("/s3", "/s3/", "/s3/{path...}")
    ),
    ServiceRoute("POST", "/s3-keys", EndpointCall(s3_keys.create, "storage.s3.key.create")),
    ServiceRoute("GET", "/s3-keys", EndpointCall(s3_keys.listing, "storage.s3.key.list")),
    ServiceRoute("DELETE", "/s3-keys/{id}", EndpointCall(s3_keys.delete, "storage.s3.key.delete")),
    *(
        ServiceRoute(method, f"/upload/resumable{below}", EndpointCall(endpoint, f"storage.tus.upload.{step}{suffix}", CallerRequirement.NONE))
        for root, suffix in (("", ""), ("/sign", "_signed"))
        for method, below, endpoint, step in (
            ("POST", root, resumable.create, "create"),
            ("POST", f"{root}/", resumable.create, "create"),
            ("HEAD", f"{root}/{{id}}", resumable.show, "get"),
            ("PATCH", f"{root}/{{id}}", resumable.write, "part"),
            ("DELETE", f"{root}/{{id}}", resumable.terminate, "delete"),
        )
    ),
    *(
        ServiceRoute("DELETE", pattern, EndpointCall(cdn.everything, "storage.cdn.purge_tenant_cache"))
        for pattern in ("/cdn", "/cdn/")
    ),
    *(
        ServiceRoute("DELETE", pattern, EndpointCall(cdn.bucket, "storage.cdn.purge_bucket_cache"))
        for pattern in ("/cdn/{bucket}", "/cdn/{bucket}/")
    ),
    ServiceRoute("DELETE", "/cdn/{bucket}/{key...}", EndpointCall(cdn.one, "storage.cdn.purge_object_cache")),
)  # fmt: skip


def _heads(routes: Sequence[ServiceRoute[EndpointCall]]) -> list[ServiceRoute[EndpointCall]]:
    """Return a HEAD route for every GET route without one (RFC 9110, 9.3.2): the gateway leaves the body out."""
    has_head = {route.pattern for route in routes if route.method == "HEAD"}
    return [
        ServiceRoute("HEAD", route.pattern, route.endpoint)
        for route in routes
        if route.method == "GET" and route.pattern not in has_head
    ]


ROUTES = (*_ROUTES, *_heads(_ROUTES))

ROUTER = Router(ROUTES)

AREAS = frozenset(route.pattern.split("/")[1] for route in ROUTES)
"""The known first segments of paths."""
