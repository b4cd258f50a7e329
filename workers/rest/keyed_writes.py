"""Writes of REST with an `Idempotency-Key`: which requests have a key, and how they run once. docs/rest-additions.md, "Idempotency keys"."""

from collections.abc import Callable, Sequence

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Request, Response
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.idempotency.errors import IdempotencyError
from workers.idempotency.key import keyed_request, parse_key
from workers.idempotency.record import StoredAnswer
from workers.idempotency.writes import Finished, KeyedWrites, MakeResponse, Prepare
from workers.request_context.identity import RequestIdentity
from workers.rest.batch import RunKeyed
from workers.rest.conditional import GuardedWrite, error_of
from workers.rest.errors.parse import KeyRejected
from workers.rest.execute import RestContext, RestTask, work_of
from workers.rest.model import RestPlan, RestResult

_AREA = "rest"
_OF_BODIES = frozenset({"content-type", "content-length", "etag"})

Respond = Callable[[RestResult], Response | StreamedResponse]


def run_with_key(
    writes: KeyedWrites | None, request: Request, identity: RequestIdentity, body: bytes
) -> RunKeyed | None:
    """Return what carries out a write once; None for a request without a key. Raises: KeyRejected."""
    if writes is None:
        return None
    try:
        key = parse_key(request.headers)
    except IdempotencyError as error:
        raise KeyRejected(error) from None
    if key is None:
        return None
    keyed = keyed_request(request, _AREA, key, identity.role, body)

    async def run(prepare: Prepare) -> Response:
        try:
            return await writes.run(keyed, prepare)
        except IdempotencyError as error:
            raise KeyRejected(error) from None

    return run


def takes_key(plan: RestPlan, method: str) -> bool:
    """Return whether a request changes anything that is kept."""
    return method not in ("GET", "HEAD") and plan.may_write


async def execute_keyed(
    run: RunKeyed, task: RestTask, read: RestTask | None, context: RestContext, respond: Respond
) -> Response:
    """Carry out a write once and return its answer; `read` gives the rows of its condition, where it has one.

    Raises: as `execute` and `execute_if`; KeyRejected.
    """

    def prepare() -> tuple[TransactionSpec, MakeResponse]:
        if read is not None:
            guarded = GuardedWrite(read, task, context)
            return guarded.work(), lambda results: _answer_guarded(guarded, results, respond)
        work = msgspec.structs.replace(work_of(task, context), end=TransactionEnd.DECIDE)
        return work, lambda results: Finished(_whole(respond(task.result(results))))

    try:
        return await run(prepare)
    except DatabaseError as error:
        raise (error if read is None else error_of(error)) from None


def _answer_guarded(
    guarded: GuardedWrite, results: list[Rows], respond: Respond
) -> Finished | Sequence[Statement]:
    following = guarded(results)
    if not isinstance(following, bool):
        return following
    assert guarded.result is not None  # the write is done
    return Finished(_whole(respond(guarded.result)), following)


def _whole(response: Response | StreamedResponse) -> Response:
    if isinstance(response, StreamedResponse):  # pragma: no cover - long values come without a decision only
        raise TypeError("the answer of a write is not streamed")
    return response


def without_body(stored: StoredAnswer) -> Response:
    """Return the answer of a repeat where the first one was too long to be stored: as with `Prefer: return=minimal`."""
    headers: Headers = [
        (
            name,
            value.replace("return=representation", "return=minimal")
            if name == "preference-applied"
            else value,
        )
        for name, value in stored.headers
        if name not in _OF_BODIES
    ]
    return Response(204 if stored.status == 200 else stored.status, headers)
