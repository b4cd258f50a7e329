"""Public endpoints: is the service running, which version, is it healthy. Source: docs/reference/storage.md, section 7."""

from importlib.metadata import PackageNotFoundError, version

from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest, json_response

_TEXT = ("content-type", "text/plain; charset=utf-8")


async def status(context: StorageContext, request: StorageRequest) -> Response:
    """`GET status`: an empty response."""
    del context, request
    return Response(200)


async def version_text(context: StorageContext, request: StorageRequest) -> Response:
    """`GET version`."""
    del context, request
    try:
        return Response(200, [_TEXT], version("headwater").encode())
    except PackageNotFoundError:  # run from a checkout
        return Response(200, [_TEXT], b"0.0.0")


async def health(context: StorageContext, request: StorageRequest) -> Response:
    """`GET health`: check that the database answers. Raises: Disconnected, PoolTimeout."""
    await context.run(request.as_service(), statement("select 1"))
    return json_response({"healthy": True})
