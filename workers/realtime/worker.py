"""The realtime pool at work: a question of an edge in, its answer out (schemas/realtime.py).

Nothing is remembered but where clients stood (`client_positions.py`).
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from broker.codec import Undecodable, decoder, encode
from broker.observability.observe import observe
from broker.requests.serve import RequestBody
from schemas import realtime
from schemas.errors import Unavailable
from schemas.http import Request, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.pool import Pool
from workers.realtime.channels import may_write, read_channel
from workers.realtime.checking import check_entries
from workers.realtime.client_positions import RememberedPositions
from workers.realtime.errors import BadQuestion, QuestionFailed, UnknownQuestion, is_passing
from workers.realtime.matching import find_matching
from workers.realtime.numbers import Numbers
from workers.realtime.observations import QuestionRefused, telling
from workers.realtime.tables import describe_table
from workers.realtime.visibility import find_visible

MOST_BODY = 64 * 1024 * 1024
"""Bytes of the longest question: many rows, or many groups."""

T = TypeVar("T", bound=Struct)
Answer = Callable[[bytes], Awaitable[Struct]]


class RealtimeWorker:
    """Answers the questions of the realtime edges."""

    def __init__(
        self, database: Pool, numbers: Numbers, positions: RememberedPositions | None = None
    ) -> None:
        self._numbers = numbers
        self._positions = RememberedPositions(0) if positions is None else positions
        self._answers: dict[str, Answer] = {
            realtime.CHECK: _reading(realtime.Check, lambda asked: check_entries(database, asked)),
            realtime.TABLE: _reading(
                realtime.TableAsked, lambda asked: describe_table(database, asked, numbers)
            ),
            realtime.VISIBLE: _reading(
                realtime.VisibleAsked, lambda asked: find_visible(database, asked, numbers)
            ),
            realtime.MATCH: _reading(
                realtime.MatchAsked, lambda asked: find_matching(database, asked, numbers)
            ),
            realtime.CHANNEL: _reading(
                realtime.ChannelAsked, lambda asked: read_channel(database, asked, numbers)
            ),
            realtime.WRITE: _reading(realtime.WriteAsked, lambda asked: may_write(database, asked, numbers)),
            realtime.POSITION: _reading(realtime.PositionQuery, self._take_position),
        }

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one question. Raises: ApiError."""
        answer = self._answers.get(request.path)
        if answer is None:
            raise UnknownQuestion(f"there is no question {request.path}")
        began = time.perf_counter()
        try:
            found = await answer(await body.read(MOST_BODY))
        except (Undecodable, msgspec.DecodeError) as error:
            raise BadQuestion(str(error)) from None
        except (Disconnected, PoolTimeout):
            raise Unavailable("the database cannot be reached") from None
        except DatabaseError as error:
            raise _refused(request, error) from None
        finally:
            self._numbers.answered(request.path[1:], time.perf_counter() - began)
        return Response(200, body=encode(found))

    async def _take_position(self, query: realtime.PositionQuery) -> realtime.PositionAnswer:
        return self._positions.take(query, time.monotonic())


def kinds() -> list[str]:
    """Give the names of the questions there are."""
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


def _refused(request: Request, error: DatabaseError) -> Unavailable | QuestionFailed:
    if is_passing(error):
        return Unavailable("the database cannot answer now")
    observe(QuestionRefused(request.path[1:], request.id, error.code, telling(error)))
    return QuestionFailed("the database refused the question")
