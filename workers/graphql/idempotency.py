"""Mutations with an `Idempotency-Key` header: the answer is stored with the writes. docs/graphql.md, "Idempotency keys"."""

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Request, Response
from schemas.positions import TRANSACTION_ID
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import TransactionEnd, TransactionSpec
from workers.graphql.errors import GraphQLFailure, RejectedRequest
from workers.graphql.execute import BoundStatements, OperationOutcome, TransactionContext, mutation_from
from workers.graphql.respond import failure_response, respond
from workers.idempotency.errors import IdempotencyError
from workers.idempotency.key import KeyedRequest, keyed_request, parse_key
from workers.idempotency.record import StoredAnswer
from workers.idempotency.writes import Finished, KeyedWrites, MakeResponse
from workers.request_context.identity import RequestIdentity

_AREA = "graphql"
NOT_STORED = "The mutation was carried out by the first request with this Idempotency-Key; its answer was too long to be stored"


def keyed_mutation(request: Request, identity: RequestIdentity, body: bytes) -> KeyedRequest | None:
    """Return the key of a mutation with its caller and body; None without the header. Raises: RejectedRequest."""
    try:
        key = parse_key(request.headers)
    except IdempotencyError as error:
        raise rejected_key(error) from None
    return None if key is None else keyed_request(request, _AREA, key, identity.role, body)


async def execute_keyed(
    writes: KeyedWrites,
    keyed: KeyedRequest,
    bound: BoundStatements,
    outcome: OperationOutcome,
    context: TransactionContext,
) -> Response:
    """Execute a mutation at most once for its key, and return its answer. Raises: as `execute`; RejectedRequest."""
    if not bound or outcome.failures:
        return _complete_response(outcome)
    mutation = mutation_from(bound, context)

    def prepare() -> tuple[TransactionSpec, MakeResponse]:
        return mutation.work(TransactionEnd.DECIDE), answering

    def answering(results: list[Rows]) -> Finished:
        mutation.take(results, outcome)
        return Finished(_complete_response(outcome))

    try:
        return await writes.run(keyed, prepare)
    except DatabaseError as error:
        mutation.fail(error, outcome)
        return _complete_response(outcome)
    except IdempotencyError as error:
        raise rejected_key(error) from None


def without_body(stored: StoredAnswer) -> Response:
    """Return the answer to a repeated request whose first answer was too long to be stored."""
    answer = failure_response([GraphQLFailure(NOT_STORED, "ANSWER_NOT_STORED")])
    written = [pair for pair in stored.headers if pair[0] == TRANSACTION_ID]
    return msgspec.structs.replace(answer, status=stored.status, headers=[*answer.headers, *written])


def rejected_key(error: IdempotencyError) -> RejectedRequest:
    """Return the error of an idempotency key as a GraphQL error."""
    return RejectedRequest(error.status, f"{error}. {error.hint}", error.headers())


def _complete_response(outcome: OperationOutcome) -> Response:
    response = respond(outcome, is_mutation=True)
    if isinstance(response, StreamedResponse):  # pragma: no cover - only queries return long values
        raise TypeError("the answer of a mutation is not streamed")
    return response
