"""Mutations with an `Idempotency-Key`. docs/graphql.md, "Idempotency keys"."""

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Request, Response
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import TransactionEnd, TransactionSpec
from workers.graphql.errors import GraphQLFailure, Refused
from workers.graphql.execute import Around, Bound, Outcome, mutation_of
from workers.graphql.respond import failed, respond
from workers.idempotency.errors import IdempotencyError
from workers.idempotency.key import KeyedRequest, keyed_request, parse_key
from workers.idempotency.record import StoredAnswer
from workers.idempotency.writes import Finished, KeyedWrites, MakeResponse
from workers.request_context.identity import RequestIdentity

_AREA = "graphql"
NOT_STORED = "The mutation was carried out by the first request with this Idempotency-Key; its answer was too long to be stored"


def keyed_mutation(request: Request, identity: RequestIdentity, body: bytes) -> KeyedRequest | None:
    """Return the identity of a mutation; None for one without a key. Raises: Refused."""
    try:
        key = parse_key(request.headers)
    except IdempotencyError as error:
        raise refused(error) from None
    return None if key is None else keyed_request(request, _AREA, key, identity.role, body)


async def execute_keyed(
    writes: KeyedWrites, keyed: KeyedRequest, bound: Bound, outcome: Outcome, around: Around
) -> Response:
    """Carry out a mutation once and return its answer. Raises: as `execute`; Refused."""
    if not bound or outcome.failures:
        return _whole(outcome)
    mutation = mutation_of(bound, around)

    def prepare() -> tuple[TransactionSpec, MakeResponse]:
        return mutation.work(TransactionEnd.DECIDE), answering

    def answering(results: list[Rows]) -> Finished:
        mutation.take(results, outcome)
        return Finished(_whole(outcome))

    try:
        return await writes.run(keyed, prepare)
    except DatabaseError as error:
        mutation.fail(error, outcome)
        return _whole(outcome)
    except IdempotencyError as error:
        raise refused(error) from None


def without_body(stored: StoredAnswer) -> Response:
    """Return the answer of a repeat where the first one was too long to be stored."""
    return msgspec.structs.replace(
        failed([GraphQLFailure(NOT_STORED, "ANSWER_NOT_STORED")]), status=stored.status
    )


def refused(error: IdempotencyError) -> Refused:
    """Return the error of a key in the shape of this interface."""
    return Refused(error.status, f"{error}. {error.hint}", error.headers())


def _whole(outcome: Outcome) -> Response:
    response = respond(outcome, is_mutation=True)
    if isinstance(response, StreamedResponse):  # pragma: no cover - long values come of queries only
        raise TypeError("the answer of a mutation is not streamed")
    return response
