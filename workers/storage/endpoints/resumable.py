"""Resumable uploads by TUS 1.0.0: each request to its step. Refusals are text, with the status that they really have.

`OPTIONS` is answered at the door (services/gateway/resuming.py): it asks nothing of anybody.
Source: reference page "storage", section 9.
"""

from collections.abc import Awaitable, Callable

import msgspec

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from schemas.http import Headers, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.database_errors import refusal_of
from workers.storage.errors import StorageError
from workers.storage.observations import database_refused
from workers.storage.tus import creating, ending, writing
from workers.storage.tus.headers import OWN, refuse_other_versions
from workers.storage.tus.refusals import Refused

_TEXT = ("content-type", "text/plain; charset=utf-8")
_Step = Callable[[Store, Asked], Awaitable[Response]]


async def create(store: Store, asked: Asked) -> Response:
    """`POST upload/resumable`."""
    return await _answer(store, asked, _create)


async def write(store: Store, asked: Asked) -> Response:
    """`PATCH upload/resumable/{id}`."""
    return await _answer(store, asked, _write)


async def show(store: Store, asked: Asked) -> Response:
    """`HEAD upload/resumable/{id}`."""
    return await _answer(store, asked, ending.show)


async def terminate(store: Store, asked: Asked) -> Response:
    """`DELETE upload/resumable/{id}`."""
    return await _answer(store, asked, ending.terminate)


async def _create(store: Store, asked: Asked) -> Response:
    stored = asked.request.stored
    if stored is None:
        return await creating.begin(store, asked)
    if stored.is_under_way:
        return await writing.renew(store, stored)
    return creating.begun(asked, *await writing.arrived(store, asked, stored))


async def _write(store: Store, asked: Asked) -> Response:
    stored = asked.request.stored
    if stored is None:
        return await writing.begin(store, asked)
    if stored.is_under_way:
        return await writing.renew(store, stored)
    return writing.written(*await writing.arrived(store, asked, stored))


async def _answer(store: Store, asked: Asked, step: _Step) -> Response:
    try:
        refuse_other_versions(asked)
        response = await step(store, asked)
    except Refused as error:
        return _refusal(error.status, error.message, error.headers)
    except StorageError as error:
        return _refusal(error.inner, error.message, error.headers())
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        refused = refusal_of(error)
        if isinstance(error, DatabaseError) and refused.inner >= 500:
            observe(database_refused(error, asked.request.id))
        return _refusal(_spoken(refused), refused.message, refused.headers())
    except BlobStoreDown:
        return _refusal(503, "The blob store does not answer", [("retry-after", "1")])
    return msgspec.structs.replace(response, headers=[*response.headers, *OWN])


def _spoken(refused: StorageError) -> int:
    """Give the status of what the database refused; one that a later attempt may not meet is told as such."""
    return refused.status if refused.status == 503 else refused.inner


def _refusal(status: int, message: str, headers: Headers) -> Response:
    return Response(status, [_TEXT, *headers, *OWN], message.encode(errors="replace"))
