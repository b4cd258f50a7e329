"""Download endpoints: objects of public buckets, objects that policies allow, objects named by a signed URL.

Source: docs/reference/storage.md, sections 6.3 and 6.4.
"""

import msgspec

from schemas.blobs import LookupReuse
from schemas.http import Response
from schemas.images.reading import BadTransform, transform_of_query
from workers.storage.endpoints.object_response import object_response
from workers.storage.model.errors import invalid_request
from workers.storage.model.signed_urls import SignedUrlClaims, SignedUrlScope, split_url
from workers.storage.objects.rows import any_object, public_object, readable_object
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest


async def public(context: StorageContext, request: StorageRequest) -> Response:
    """`GET|HEAD object/public/{bucket}/{path}`."""
    row = await public_object(context, request, request.bucket, request.key)
    response = object_response(request, row)
    seconds = float(context.settings.public_lookup_max_age)
    if not seconds or response.claim is None:
        return response
    reuse = LookupReuse(row.bucket_id, row.name, seconds)
    return msgspec.structs.replace(response, claim=msgspec.structs.replace(response.claim, reuse=reuse))


async def authenticated(context: StorageContext, request: StorageRequest) -> Response:
    """`GET|HEAD object/{bucket}/{path}`, and the same below `object/authenticated`."""
    return object_response(request, await readable_object(context, request, request.bucket, request.key))


async def signed(context: StorageContext, request: StorageRequest) -> Response:
    """`GET|HEAD object/sign/{bucket}/{path}?token=`."""
    claims = object_of_token(context, request)
    return object_response(request, await any_object(context, request, *split_url(claims.url)), claims.exp)


def object_of_token(context: StorageContext, request: StorageRequest) -> SignedUrlClaims:
    """Return the verified claims of a signed URL, which name its object. Raises: StorageError."""
    read = request.read_query()
    token = read.text("token", needed=True)
    read.check()
    return context.signer.read(token, SignedUrlScope.DOWNLOAD, f"{request.bucket}/{request.key}")


def check_transform(context: StorageContext, request: StorageRequest) -> None:
    """Raises: StorageError if the query holds an invalid transformation."""
    try:
        transform_of_query(request.http.query, context.side_limits)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
