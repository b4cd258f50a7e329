"""What everybody may ask: is the service there, which one, is it well. Source: reference page "storage", section 7."""

from importlib.metadata import PackageNotFoundError, version

from schemas.http import Response
from workers.database.interactive import statement
from workers.storage.asked import Asked, answer
from workers.storage.context import Store

_TEXT = ("content-type", "text/plain; charset=utf-8")


async def status(store: Store, asked: Asked) -> Response:
    """`GET status`: an empty answer."""
    del store, asked
    return Response(200)


async def version_text(store: Store, asked: Asked) -> Response:
    """`GET version`."""
    del store, asked
    try:
        return Response(200, [_TEXT], version("headwater").encode())
    except PackageNotFoundError:  # run from a checkout
        return Response(200, [_TEXT], b"0.0.0")


async def health(store: Store, asked: Asked) -> Response:
    """`GET health`: the database answers. Raises: Disconnected, PoolTimeout."""
    await store.run(asked.as_service(), statement("select 1"))
    return answer({"healthy": True})
