"""Several operations in one transaction: all of them, or none.

Each goes through the steps as a request of its own would; its statements run when the ones before have given what it
refers to. What an operation leaves in the session besides its rows (settings, temporary tables, cursors, locks) is undone
before the next one starts (`workers/database/renewal.py`). Source: docs/rest-additions.md, "Several operations, one transaction".
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from broker.requests.serve import Streamed
from schemas.http import Headers, Request, Response
from workers.database.renewal import renewal
from workers.database.session import End, Rows, Sessions, Statement, Work
from workers.idempotency.writes import Answering, Finished, Prepare
from workers.request_context.identity import Identity
from workers.rest.dialect import Dialect
from workers.rest.errors import BadBody
from workers.rest.execute import Around, Settings, Task, settings_of
from workers.rest.model import Action
from workers.rest.parse.batch import Operation, Ready, name_of, parse_batch, resolved
from workers.rest.parse.payload import parse_payload
from workers.rest.parse.preferences import parse_preferences
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path, wanted_headers
from workers.rest.plan.plan import end_of
from workers.rest.refused import FAILURES, refused
from workers.rest.respond import respond
from workers.rest.state import State

_JSON = ("content-type", "application/json; charset=utf-8")
_READS_ONLY = ("savepoint hw_operation", "select pg_catalog.set_config('transaction_read_only', 'on', true)")
_READ = "release savepoint hw_operation"


RunKeyed = Callable[[Prepare], Awaitable[Response]]


class OperationFailed(Exception):
    """A function answered an operation with an error of its own making: nothing of the whole is kept."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


async def run_batch(
    state: State,
    request: Request,
    body: bytes,
    identity: Identity,
    dialect: Dialect,
    sessions: Sessions,
    most: int,
    run_keyed: RunKeyed | None = None,
) -> Response:
    """Do the operations of a body and answer with a list of their answers; `most` bounds those, in bytes.

    A failure is answered as that of the operation alone would be, with its number. `run_keyed` carries out a batch that has an
    Idempotency-Key. Raises: BadBody; what `run_keyed` raises for the key.
    """
    operations = parse_batch(body)
    batch = _Batch(state, request, identity, dialect, operations, most)

    def prepare() -> tuple[Work, Answering]:
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
        return refused(
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
        state: State,
        request: Request,
        identity: Identity,
        dialect: Dialect,
        operations: list[Operation],
        most: int,
    ) -> None:
        self._state, self._request, self._identity, self._dialect = state, request, identity, dialect
        self._operations = operations
        self._most = self._room = most
        self._role = state.role(identity.role)
        end, _ = end_of(
            state.options.tx_end, parse_preferences([v for n, v in request.headers if n == "prefer"]).tx
        )
        self.is_kept = end is not End.ROLLBACK
        self._results: dict[str, object] = {}
        self._task: Task | None = None
        self._around_it = (0, 0)
        self.number = 0
        """Number of the operation under way."""
        self.answers: list[bytes] = []

    def response(self) -> Response:
        """Return the answer of all operations, when they are done."""
        headers = [_JSON, ("vary", "Accept, Prefer, Range")]
        return Response(200, headers, b"[" + b",".join(self.answers) + b"]")

    def answering(self, results: list[Rows]) -> Finished | Sequence[Statement]:
        """Look at results as a keyed write does."""
        following = self(results)
        return Finished(self.response(), following) if isinstance(following, bool) else following

    def begin(self) -> Work:
        """Give the transaction with the first operation. Raises: RestError."""
        settings, statements = self._prepare()
        return Work(settings, statements, isolation=self._role.isolation, end=End.DECIDE)

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]:
        self._take(results)
        if len(self.answers) == len(self._operations):
            return self.is_kept
        self.number += 1
        settings, statements = self._prepare()
        first = renewal(settings)
        self._around_it = (self._around_it[0] + len(first), self._around_it[1])
        return [*first, *statements]

    def _prepare(self) -> tuple[Settings, list[Statement]]:
        """Plan the operation whose turn it is; give its settings and statements."""
        operation = self._operations[self.number]
        ready = resolved(operation, self._results, self._most)
        request = self._inner(ready)
        state = self._state
        is_read = request.method in ("GET", "HEAD")
        shape, values = shape_of(request.query, is_call=is_call_path(request.path) and is_read)
        key, asked = state.request(request.method, request.path, shape, wanted_headers(request.headers))
        if asked.action in (Action.OPTIONS, Action.DESCRIBE):
            raise BadBody("An operation reads, writes or calls a function")
        if asked.preferences.tx is not None:
            raise BadBody("Prefer: tx is said of all operations together, on the request itself")
        payload = parse_payload(asked, ready.body) if state.reads_body(asked) else None
        planned = state.planned(key, asked, payload)
        if planned.plan.isolation is not None:
            raise BadBody("A function with an isolation level of its own cannot be one of several operations")
        around = Around(request, self._identity, self._role, state.surroundings)
        self._task = Task(planned.plan, planned.prepared, values, payload.data if payload else b"")
        statements = self._task.statements(state.surroundings)
        self._around_it = (0, 0)
        if planned.plan.read_only:
            self._around_it = (len(_READS_ONLY), 1)
            statements = [*(Statement(text) for text in _READS_ONLY), *statements, Statement(_READ)]
        return tuple(settings_of(planned.plan, around)), statements

    def _inner(self, ready: Ready) -> Request:
        """Give an operation as a request: its own headers before those of the request around it."""
        own = {name for name, _ in ready.headers} | {"prefer", "content-length"}
        kept: Headers = [pair for pair in self._request.headers if pair[0] not in own]
        return msgspec.structs.replace(
            self._request,
            method=ready.method,
            path=ready.path,
            query=ready.query,
            headers=[*ready.headers, *kept],
            body=b"",
        )

    def _take(self, results: list[Rows]) -> None:
        """Keep the answer of the operation under way. Raises: RestError, OperationFailed."""
        task = self._task
        assert task is not None  # an operation is under way
        before, after = self._around_it
        result = task.result(results[before : len(results) - after])
        response = respond(task.plan, result, task.values, self._dialect)
        if isinstance(response, Streamed):  # pragma: no cover - long values come without a decision only
            raise TypeError("an operation has no place for a streamed answer")
        if response.status >= 400:
            raise OperationFailed(response)
        self._room -= len(response.body)
        if self._room < 0:
            raise BadBody("The answers of all operations together are too long: ask for fewer rows")
        is_json = response.body[:1] in b"[{" or any(
            "json" in v for n, v in response.headers if n == "content-type"
        )
        name = name_of(self.number, self._operations[self.number])
        self._results[name] = _value(response.body, is_json=is_json)
        self.answers.append(_written(name, response, is_json=is_json))


def _value(body: bytes, *, is_json: bool) -> object:
    if not body:
        return None
    return msgspec.json.decode(body) if is_json else body.decode("utf-8", "replace")


def _written(name: str, response: Response, *, is_json: bool) -> bytes:
    body: object = None
    if response.body:
        body = msgspec.Raw(response.body) if is_json else response.body.decode("utf-8", "replace")
    headers = dict(response.headers)
    return msgspec.json.encode({"as": name, "status": response.status, "headers": headers, "body": body})
