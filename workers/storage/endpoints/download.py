"""Objects as they are: of public buckets, under policies, by a token. Source: reference page "storage", 6.3, 6.4."""

from schemas.http import Response
from schemas.images.reading import BadTransform, transform_of_query
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.endpoints.serving import served
from workers.storage.errors import invalid_request
from workers.storage.objects import any_object, public_object, readable_object
from workers.storage.signing import Claims, Scope, split_url


async def openly(store: Store, asked: Asked) -> Response:
    """`GET|HEAD object/public/{bucket}/{path}`."""
    return served(asked, await public_object(store, asked, asked.bucket, asked.key))


async def readable(store: Store, asked: Asked) -> Response:
    """`GET|HEAD object/{bucket}/{path}`, and the same below `object/authenticated`."""
    return served(asked, await readable_object(store, asked, asked.bucket, asked.key))


async def signed(store: Store, asked: Asked) -> Response:
    """`GET|HEAD object/sign/{bucket}/{path}?token=`."""
    claims = opened(store, asked)
    return served(asked, await any_object(store, asked, *split_url(claims.url)), claims.exp)


def opened(store: Store, asked: Asked) -> Claims:
    """Read the token of a signed URL. Raises: StorageError."""
    read = asked.read_query()
    token = read.text("token", needed=True)
    read.check()
    return store.signer.read(token, Scope.DOWNLOAD, f"{asked.bucket}/{asked.key}")


def refuse_bad_transform(store: Store, asked: Asked) -> None:
    """Raises: StorageError if the query asks for a picture that cannot be."""
    try:
        transform_of_query(asked.request.query, store.sides)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
