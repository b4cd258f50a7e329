"""The realtime worker: answers the queries of the realtime edges (schemas/realtime.py).

It keeps no state except the positions of clients (`client_positions.py`).
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from broker.codec import InvalidMessage, decoder, encode
from broker.observability.observe import observe
from broker.requests.handler import RequestBody
from schemas import realtime
from schemas.errors import Unavailable
from schemas.http import Request, Response
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.realtime.channels import may_write, read_channel
from workers.realtime.checking import check_subscriptions
from workers.realtime.client_positions import RememberedPositions
from workers.realtime.errors import MalformedQuery, QueryFailed, UnknownQuery, is_passing
from workers.realtime.matching import find_matching
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.observations import RealtimeQueryFailed, safe_message
from workers.realtime.tables import describe_table
from workers.realtime.visibility import find_visible

MOST_BODY = 64 * 1024 * 1024
"""Bytes of the longest query: many rows, or many groups."""

T = TypeVar("T", bound=Struct)
Answer = Callable[[bytes], Awaitable[Struct]]


class RealtimeWorker:
    """Answers the queries of the realtime edges."""

    def __init__(
        self, database: ConnectionPool, metrics: RealtimeMetrics, positions: RememberedPositions | None = None
    ) -> None:
        self._metrics = metrics
        self._positions = RememberedPositions(0) if positions is None else positions
        self._answers: dict[str, Answer] = {
            realtime.CHECK: _reading(realtime.CheckQuery, lambda query: check_subscriptions(database, query)),
            realtime.TABLE: _reading(
                realtime.TableQuery, lambda query: describe_table(database, query, metrics)
            ),
            realtime.VISIBLE: _reading(
                realtime.VisibilityQuery, lambda query: find_visible(database, query, metrics)
            ),
            realtime.MATCH: _reading(
                realtime.MatchQuery, lambda query: find_matching(database, query, metrics)
            ),
            realtime.CHANNEL: _reading(
                realtime.ChannelQuery, lambda query: read_channel(database, query, metrics)
            ),
            realtime.WRITE: _reading(realtime.WriteQuery, lambda query: may_write(database, query, metrics)),
            realtime.POSITION: _reading(realtime.PositionQuery, self._take_position),
        }

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one query. Raises: ApiError."""
        answer = self._answers.get(request.path)
        if answer is None:
            raise UnknownQuery(f"there is no query {request.path}")
        started = time.perf_counter()
        try:
            result = await answer(await body.read(MOST_BODY))
        except (InvalidMessage, msgspec.DecodeError) as error:
            raise MalformedQuery(str(error)) from None
        except (Disconnected, PoolTimeout):
            raise Unavailable("the database cannot be reached") from None
        except DatabaseError as error:
            raise _failure(request, error) from None
        finally:
            self._metrics.answered(request.path[1:], time.perf_counter() - started)
        return Response(200, body=encode(result))

    async def _take_position(self, query: realtime.PositionQuery) -> realtime.PositionAnswer:
        return self._positions.take(query, time.monotonic())


def query_names() -> list[str]:
    """Return the names of the queries."""
    paths = (
        realtime.CHECK,
        realtime.TABLE,
        realtime.VISIBLE,
        realtime.MATCH,
        realtime.CHANNEL,
        realtime.WRITE,
        realtime.POSITION,
    )
    return [path[1:] for path in paths]


def _reading(kind: type[T], answer: Callable[[T], Awaitable[Struct]]) -> Answer:
    read = decoder(kind)
    return lambda body: answer(read(body))


def _failure(request: Request, error: DatabaseError) -> Unavailable | QueryFailed:
    if is_passing(error):
        return Unavailable("the database cannot answer now")
    observe(RealtimeQueryFailed(request.path[1:], request.id, error.code, safe_message(error)))
    return QueryFailed("the database rejected the query")
