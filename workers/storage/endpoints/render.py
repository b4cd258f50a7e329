"""Rendition endpoints: check the object's row here, have the images pool render, let the gateway send the bytes.

Source: docs/reference/storage.md, section 8.
"""

from functools import lru_cache

import msgspec

from schemas.blobs import BlobClaim
from schemas.caller import ServiceCaller
from schemas.http import Response
from schemas.images.reading import BadTransform, SideLimits, transform_of_query, transform_of_token
from schemas.images.transform import (
    RenderOrder,
    Transform,
    is_negotiated,
    output_of,
    variant_etag,
    x_transformations,
)
from workers.storage.endpoints.download import object_of_token
from workers.storage.endpoints.object_response import caching, disposition, epoch_seconds
from workers.storage.model.errors import feature_not_enabled, invalid_request
from workers.storage.model.signed_urls import SignedUrlClaims, split_url
from workers.storage.objects.rows import (
    ObjectRow,
    any_object,
    object_headers,
    public_object,
    readable_object,
)
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.write_conditions import check_read_conditions

_LONGEST_KEPT = 256


async def public(context: StorageContext, request: StorageRequest) -> Response:
    """`GET render/image/public/{bucket}/{path}`."""
    transform = _of_query(context, request)
    return await _rendered(
        context, request, await public_object(context, request, request.bucket, request.key), transform
    )


async def authenticated(context: StorageContext, request: StorageRequest) -> Response:
    """`GET render/image/authenticated/{bucket}/{path}`."""
    transform = _of_query(context, request)
    row = await readable_object(context, request, request.bucket, request.key)
    return await _rendered(context, request, row, transform)


async def signed(context: StorageContext, request: StorageRequest) -> Response:
    """`GET render/image/sign/{bucket}/{path}?token=`: the transformation comes from the token alone."""
    claims = object_of_token(context, request)
    transform = _of_token(context, claims)
    row = await any_object(context, request, *split_url(claims.url))
    return await _rendered(context, request, row, transform, claims.exp)


def _of_query(context: StorageContext, request: StorageRequest) -> Transform:
    _refuse_if_off(context)
    query = request.http.query
    read = _parse_cached if len(query) <= _LONGEST_KEPT else transform_of_query
    try:
        return read(query, context.side_limits)
    except BadTransform as error:
        raise invalid_request(str(error)) from None


@lru_cache(maxsize=1024)
def _parse_cached(query: str, sides: SideLimits) -> Transform:
    """Return the transformation of a query from a small cache: pages request few different sizes."""
    return transform_of_query(query, sides)


def _of_token(context: StorageContext, claims: SignedUrlClaims) -> Transform:
    _refuse_if_off(context)
    try:
        transform = transform_of_token(claims.transformations, context.side_limits)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
    is_told = claims.format == "origin" and not transform.format
    return msgspec.structs.replace(transform, format="origin") if is_told else transform


async def _rendered(
    context: StorageContext,
    request: StorageRequest,
    row: ObjectRow,
    transform: Transform,
    expires_at: float | None = None,
) -> Response:
    order = RenderOrder(row.blob, transform, output_of(transform, request.header("accept") or ""))
    rendition = await context.render(order, request.http.id, request.http.budget_ms, _client_of(request))
    etag = variant_etag(row.etag, order.key)
    check_read_conditions(request.http.headers, etag, row.modified)
    headers = object_headers(row, rendition.content_type)
    headers += caching(request, row, expires_at)
    if transformations := x_transformations(transform):
        headers.append(("x-transformations", transformations))
    if is_negotiated(transform):
        headers.append(("vary", "Accept"))
    claim = BlobClaim(
        order.source if rendition.is_source else order.result,
        rendition.size,
        etag,
        epoch_seconds(row.modified),
        has_ranges=False,
    )
    return Response(200, [*headers, *disposition(request)], claim=claim)


def _client_of(request: StorageRequest) -> str:
    """Return the client that a new rendition counts for: the user id, or the address. The service role is not counted."""
    if isinstance(request.http.caller, ServiceCaller):
        return ""
    subject = request.caller.subject
    return f"user {subject}" if subject else request.http.client


def _refuse_if_off(context: StorageContext) -> None:
    if not context.settings.image_transformation.enabled:
        raise feature_not_enabled("imageTransformation")
