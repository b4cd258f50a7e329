"""Pictures made of objects: the row is checked here, the images pool makes the picture, the edge serves it.

Source: reference page "storage", section 8.
"""

from functools import lru_cache

import msgspec

from schemas.blobs import Claim
from schemas.caller import Service
from schemas.http import Response
from schemas.images.reading import BadTransform, Sides, transform_of_query, transform_of_token
from schemas.images.transform import (
    Order,
    Transform,
    is_negotiated,
    output_of,
    variant_etag,
    x_transformations,
)
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.endpoints.download import opened
from workers.storage.endpoints.serving import caching, disposition, seconds
from workers.storage.errors import feature_not_enabled, invalid_request
from workers.storage.objects import ObjectRow, any_object, public_object, readable_object, reading_headers
from workers.storage.signing import Claims, split_url

_LONGEST_KEPT = 256


async def openly(store: Store, asked: Asked) -> Response:
    """`GET render/image/public/{bucket}/{path}`."""
    transform = _of_query(store, asked)
    return await _rendered(
        store, asked, await public_object(store, asked, asked.bucket, asked.key), transform
    )


async def authenticated(store: Store, asked: Asked) -> Response:
    """`GET render/image/authenticated/{bucket}/{path}`."""
    transform = _of_query(store, asked)
    row = await readable_object(store, asked, asked.bucket, asked.key)
    return await _rendered(store, asked, row, transform)


async def signed(store: Store, asked: Asked) -> Response:
    """`GET render/image/sign/{bucket}/{path}?token=`: what is made of the picture stands in the token alone."""
    claims = opened(store, asked)
    transform = _of_token(store, claims)
    row = await any_object(store, asked, *split_url(claims.url))
    return await _rendered(store, asked, row, transform, claims.exp)


def _of_query(store: Store, asked: Asked) -> Transform:
    _refuse_if_off(store)
    query = asked.request.query
    read = _read_again if len(query) <= _LONGEST_KEPT else transform_of_query
    try:
        return read(query, store.sides)
    except BadTransform as error:
        raise invalid_request(str(error)) from None


@lru_cache(maxsize=1024)
def _read_again(query: str, sides: Sides) -> Transform:
    """Read a query that comes again and again: pages ask for few sizes."""
    return transform_of_query(query, sides)


def _of_token(store: Store, claims: Claims) -> Transform:
    _refuse_if_off(store)
    try:
        transform = transform_of_token(claims.transformations, store.sides)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
    is_told = claims.format == "origin" and not transform.format
    return msgspec.structs.replace(transform, format="origin") if is_told else transform


async def _rendered(
    store: Store, asked: Asked, row: ObjectRow, transform: Transform, expires_at: float | None = None
) -> Response:
    order = Order(row.blob, transform, output_of(transform, asked.header("accept") or ""))
    made = await store.render(order, asked.request.id, asked.request.budget_ms, _client_of(asked))
    headers = reading_headers(row, made.content_type)
    headers += caching(asked, row, expires_at)
    if told := x_transformations(transform):
        headers.append(("x-transformations", told))
    if is_negotiated(transform):
        headers.append(("vary", "Accept"))
    claim = Claim(
        order.source if made.is_source else order.result,
        made.size,
        variant_etag(row.etag, order.key),
        seconds(row.modified),
        has_ranges=False,
    )
    return Response(200, [*headers, *disposition(asked)], claim=claim)


def _client_of(asked: Asked) -> str:
    """Return whom a new picture is counted for: the user, or the address of a client without one; the service is not counted."""
    if isinstance(asked.request.caller, Service):
        return ""
    subject = asked.caller.subject
    return f"user {subject}" if subject else asked.request.client


def _refuse_if_off(store: Store) -> None:
    if not store.settings.image_transformation.enabled:
        raise feature_not_enabled("imageTransformation")
