"""Several operations in one transaction: all of them, or none.

Each goes through the steps as a request of its own would; its statements run when the ones before have given what it
refers to. Other effects of an operation on the session (settings, temporary tables, cursors, locks) are undone
before the next one starts (`workers/database/transactions/session_reset.py`). Source: docs/rest-additions.md, "Several operations, one transaction".
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Request, Response, header_values
from schemas.positions import TRANSACTION_ID
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionRunner, TransactionSpec
from workers.database.transactions.session_reset import session_reset_statements
from workers.idempotency.writes import Finished, MakeResponse, Prepare
from workers.request_context.identity import RequestIdentity
from workers.rest.dialect import Dialect
from workers.rest.errors.parse import BadBody
from workers.rest.errors.response import FAILURES, error_response
from workers.rest.execute import RestContext, RestTask, Settings, settings_of
from workers.rest.model import RequestAction
from workers.rest.parse.batch import (
    BatchOperation,
    ResolvedOperation,
    name_of,
    parse_batch,
    parse_result,
    resolved,
)
from workers.rest.parse.payload import is_read_slowly, parse_payload
from workers.rest.parse.preferences import parse_preferences
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path
from workers.rest.plan.plan import end_of
from workers.rest.prepare import parse, plan_and_query, reads_body
from workers.rest.respond import respond
from workers.rest.state import RestState

_JSON = ("content-type", "application/json; charset=utf-8")
_READS_ONLY = ("savepoint hw_operation", "select pg_catalog.set_config('transaction_read_only', 'on', true)")
_READ = "release savepoint hw_operation"
_raw = msgspec.json.Decoder(msgspec.Raw)
_MOST_SLOW = 1024 * 1024
"""Bytes of an operation's body that is read value by value, on the event loop: a fifth of a second."""


RunKeyed = Callable[[Prepare], Awaitable[Response]]


class OperationFailed(Exception):
    """A function answered an operation with an error of its own making: nothing of the whole is kept."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


async def run_batch(
    state: RestState,
    request: Request,
    body: bytes,
    identity: RequestIdentity,
    dialect: Dialect,
    sessions: TransactionRunner,
    most: int,
    run_keyed: RunKeyed | None = None,
) -> Response:
    """Do the operations of a body and answer with a list of their answers; `most` bounds those, in bytes.

    The response to an error is the one of that operation alone, with the operation's number. `run_keyed` carries out a batch that has an
    Idempotency-Key. Raises: BadBody; what `run_keyed` raises for the key.
    """
    operations = parse_batch(body)
    batch = _Batch(state, request, identity, dialect, operations, most)

    def prepare() -> tuple[TransactionSpec, MakeResponse]:
        nonlocal batch
        batch = _Batch(state, request, identity, dialect, operations, most)
        return batch.begin(), batch.answering

    try:
        if run_keyed is not None and batch.is_kept:
            return await run_keyed(prepare)
        await sessions.run(batch.begin(), batch)
    except OperationFailed as failed:
        return failed.response
    except FAILURES as failure:
        return error_response(
            failure,
            dialect,
            is_anonymous=identity.is_anonymous,
            is_minimal=state.api.error_verbosity == "minimal",
            operation=batch.number,
        )
    return batch.response()


class _Batch:
    """Decides what comes next, from what has come: the operation under way, and the answers so far."""

    def __init__(
        self,
        state: RestState,
        request: Request,
        identity: RequestIdentity,
        dialect: Dialect,
        operations: list[BatchOperation],
        most: int,
    ) -> None:
        self._state, self._request, self._identity, self._dialect = state, request, identity, dialect
        self._operations = operations
        self._most = self._room = most
        self._role = state.role(identity.role)
        end, _ = end_of(
            state.options.tx_end, parse_preferences(tuple(v for n, v in request.headers if n == "prefer")).tx
        )
        self.is_kept = end is not TransactionEnd.ROLLBACK
        self._results: dict[str, object] = {}
        self._task: RestTask | None = None
        self._extra_results = (0, 0)
        self.number = 0
        """Number of the operation under way."""
        self._transaction_id: str | None = None
        self.answers: list[bytes] = []

    def response(self) -> Response:
        """Return the answer of all operations, when they are done."""
        headers = [_JSON, ("vary", "Accept, Prefer, Range")]
        if self._transaction_id is not None:
            headers.append((TRANSACTION_ID, self._transaction_id))
        return Response(200, headers, b"[" + b",".join(self.answers) + b"]")

    def answering(self, results: list[Rows]) -> Finished | Sequence[Statement]:
        """Look at results as a keyed write does."""
        following = self(results)
        return Finished(self.response(), following) if isinstance(following, bool) else following

    def begin(self) -> TransactionSpec:
        """Return the transaction with the first operation. Raises: RestError."""
        settings, statements = self._prepare()
        return TransactionSpec(
            settings, statements, isolation=self._role.isolation, end=TransactionEnd.DECIDE
        )

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]:
        self._take(results)
        if len(self.answers) == len(self._operations):
            return self.is_kept
        self.number += 1
        settings, statements = self._prepare()
        first = session_reset_statements(settings)
        self._extra_results = (self._extra_results[0] + len(first), self._extra_results[1])
        return [*first, *statements]

    def _prepare(self) -> tuple[Settings, list[Statement]]:
        """Plan the operation whose turn it is; give its settings and statements."""
        operation = self._operations[self.number]
        resolved_operation = resolved(operation, self._results, self._most)
        request = self._inner(resolved_operation)
        state = self._state
        is_read = request.method in ("GET", "HEAD")
        shape, values = shape_of(request.query, is_call=is_call_path(request.path) and is_read)
        key, parsed = parse(state, request.method, request.path, shape, request.headers)
        if parsed.action in (RequestAction.OPTIONS, RequestAction.DESCRIBE):
            raise BadBody("An operation reads, writes or calls a function")
        if parsed.preferences.tx is not None:
            raise BadBody("Prefer: tx is said of all operations together, on the request itself")
        sent = resolved_operation.body
        if len(sent) > _MOST_SLOW and is_read_slowly(parsed, len(sent)):
            raise BadBody(
                f"A form, CSV, a nested insert or rows with `key` may have {_MOST_SLOW} bytes as one of several operations",
                "Send it as a request of its own",
            )
        payload = parse_payload(parsed, sent) if reads_body(parsed) else None
        planned = plan_and_query(state, key, parsed, payload)
        if planned.plan.isolation is not None:
            raise BadBody("A function with an isolation level of its own cannot be one of several operations")
        context = RestContext(request, self._identity, self._role, state.defaults)
        self._task = RestTask(planned.plan, planned.statement, values, payload.data if payload else b"")
        statements = self._task.statements(state.defaults)
        self._extra_results = (0, 0)
        if planned.plan.read_only:
            self._extra_results = (len(_READS_ONLY), 1)
            statements = [*(Statement(text) for text in _READS_ONLY), *statements, Statement(_READ)]
        return tuple(settings_of(planned.plan, context)), statements

    def _inner(self, resolved_operation: ResolvedOperation) -> Request:
        """Return an operation as a request: its own headers before those of the batch request."""
        names = {name for name, _ in resolved_operation.headers} | {"prefer", "content-length"}
        inherited: Headers = [pair for pair in self._request.headers if pair[0] not in names]
        return msgspec.structs.replace(
            self._request,
            method=resolved_operation.method,
            path=resolved_operation.path,
            query=resolved_operation.query,
            headers=[*resolved_operation.headers, *inherited],
            body=b"",
        )

    def _take(self, results: list[Rows]) -> None:
        """Keep the answer of the operation under way. Raises: RestError, OperationFailed."""
        task = self._task
        assert task is not None  # an operation is under way
        before, after = self._extra_results
        result = task.result(results[before : len(results) - after])
        if not self.is_kept:
            result = msgspec.structs.replace(result, transaction_id=None)
        self._transaction_id = result.transaction_id or self._transaction_id
        response = respond(task.plan, result, task.values, self._dialect)
        if isinstance(
            response, StreamedResponse
        ):  # pragma: no cover - long values come without a decision only
            raise TypeError("an operation has no place for a streamed answer")
        if response.status >= 400:
            raise OperationFailed(response)
        self._room -= len(response.body)
        if self._room < 0:
            raise BadBody("The answers of all operations together are too long: ask for fewer rows")
        is_json = _is_json(response)
        name = name_of(self.number, self._operations[self.number])
        self._results[name] = _value(response.body, is_json=is_json)
        self.answers.append(_written(name, response, is_json=is_json))


def _is_json(response: Response) -> bool:
    """Return whether a body is JSON: a function may call any text JSON, and CSV may begin as JSON does."""
    if not any("json" in value for name, value in response.headers if name == "content-type"):
        return False
    try:
        _raw.decode(response.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


def _value(body: bytes, *, is_json: bool) -> object:
    if not body:
        return None
    return parse_result(body) if is_json else body.decode("utf-8", "replace")


def _written(name: str, response: Response, *, is_json: bool) -> bytes:
    body: object = None
    if response.body:
        body = msgspec.Raw(response.body) if is_json else response.body.decode("utf-8", "replace")
    headers = _by_name(response.headers)
    return msgspec.json.encode({"as": name, "status": response.status, "headers": headers, "body": body})


def _by_name(headers: Headers) -> dict[str, str | list[str]]:
    """Return headers by name. Values of a repeated one are joined (RFC 9110, 5.3), but those of `Set-Cookie`, which must not be, are a list."""
    by_name: dict[str, str | list[str]] = {}
    for name in dict(headers):
        values = header_values(headers, name)
        by_name[name] = values if name == "set-cookie" and len(values) > 1 else ", ".join(values)
    return by_name
