"""Step four, the only one with I/O: one transaction as the caller.

Settings and statement travel together (`workers/database/transactions/perform.py`). What a function or policy reads of the request
is set before anything runs. Source: docs/reference/rest.md, section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from msgspec import Struct

from schemas.http import Request
from workers.database.protocol.long_value import LongValue
from workers.database.protocol.row_body import BodyNotStored, GatheredRows, RowBody
from workers.database.protocol.rows import Rows
from workers.database.schema_cache.catalog import Role
from workers.database.transactions.model import Statement, TransactionEnd, TransactionRunner, TransactionSpec
from workers.request_context.identity import RequestIdentity
from workers.request_context.settings import pre_request_call, request_settings
from workers.rest.errors.base import RestError
from workers.rest.errors.execute import (
    AnswerNotStored,
    AnswerTooLong,
    NotSingular,
    PlanHidden,
    TooManyAffected,
    UpsertKeyMismatch,
)
from workers.rest.errors.parse import BadBody
from workers.rest.model import (
    PAYLOAD,
    CallPlan,
    OutputColumn,
    PageEdges,
    RestPlan,
    RestResult,
    RestStatement,
    WritePlan,
)
from workers.sql.compose import ParameterSlot, quoted

_Ends = tuple[str | None, ...] | None
_decode_edges = msgspec.json.Decoder(tuple[_Ends, _Ends, bool]).decode
Settings = tuple[tuple[str, str], ...]
_BODY_IN_BINARY = [frozenset({columns - 1}) for columns in range(len(OutputColumn) + 1)]
"""The columns wanted in binary, by the number of columns: the body is the last one."""


@dataclass(frozen=True, slots=True)
class TransactionDefaults:
    """The settings that a configuration adds to every transaction."""

    extra_search_path: tuple[str, ...] = ()
    app_settings: Settings = ()
    pre_request: str | None = None


@lru_cache(maxsize=1024)
def _search_path(schema: str, further: tuple[str, ...]) -> str:
    return ", ".join(quoted(name) for name in dict.fromkeys((schema, *further)))


class RestContext(Struct, frozen=True):
    """The request that a transaction serves, its caller and its role."""

    request: Request
    identity: RequestIdentity
    role: Role
    defaults: TransactionDefaults


class RestTask(Struct, frozen=True):
    """A planned request with the values of its URL and its body."""

    plan: RestPlan
    prepared: RestStatement
    values: Sequence[str] = ()
    payload: bytes = b""

    def statements(self, defaults: TransactionDefaults) -> list[Statement]:
        """Return the statements to run. The one with the answer is the last, so that its result can be streamed."""
        prepared = self.prepared
        statements = []
        if defaults.pre_request is not None:
            statements.append(Statement(pre_request_call(defaults.pre_request)))
        for item in prepared.before:
            statements.append(Statement(item.text, self._bound(item)))
        for item in prepared.estimates:
            statements.append(Statement(item.text, self._bound(item)))
        if prepared.guard is not None:
            statements.append(Statement(prepared.guard.text, self._bound(prepared.guard)))
        explains = self.plan.output.explain is not None
        if prepared.frame is not None:
            statements.append(
                Statement(prepared.text, self._bound(prepared), separator=prepared.frame.between)
            )
            return statements
        binary = frozenset[int]() if explains else _BODY_IN_BINARY[len(prepared.columns)]
        statements.append(Statement(prepared.text, self._bound(prepared), binary))
        return statements

    def result(self, results: Sequence[Rows], long: LongValue | None = None) -> RestResult:
        """Read the results of those statements, and check them against the preferences of the request.

        Raises: NotSingular, TooManyAffected, UpsertKeyMismatch, BadBody, PlanHidden.
        """
        plan, rows = self.plan, results[-1]
        if plan.output.explain is not None:
            if results[-2][0][0] == b"t":
                raise PlanHidden
            return RestResult(body=b"\n".join(row[0] or b"" for row in rows), page_total=1)
        _check_nested(plan, results)
        result = (
            _gathered(self, rows) if isinstance(rows, GatheredRows) else _result(self.prepared, rows, long)
        )
        check(plan, result)
        if not self.prepared.estimates:
            return result
        estimates = [_planned_rows(item) for item in results[-1 - len(self.prepared.estimates) : -1]]
        return _with_estimate(plan, result, *estimates)

    def _bound(self, prepared: RestStatement) -> list[bytes | None]:
        bound: list[bytes | None] = []
        for param in prepared.params:
            if not isinstance(param, ParameterSlot):
                bound.append(param)
            elif param.index == PAYLOAD.index:
                bound.append(self.payload)
            else:
                value = self.values[param.index]
                bound.append(param.convert(value) if param.convert else value.encode())
        return bound


async def execute(task: RestTask, context: RestContext, sessions: TransactionRunner) -> RestResult:
    """Run a plan's statements and check what they did.

    The body of a long answer is read while it is sent: a `LongValue`, which keeps its connection until it is read to
    its end or abandoned. Only reads do that: the response to a write is sent after its commit.
    Raises: DatabaseError and its siblings; what `Task.result` raises, after a rollback.
    """
    plan, work = task.plan, work_of(task, context)
    if work.end is TransactionEnd.DECIDE:

        def decide(results: list[Rows]) -> bool:
            task.result(results)
            return True

        return task.result(await sessions.run(work, decide))
    long: LongValue | None = None
    if not work.read_only or work.end is not TransactionEnd.COMMIT or plan.output.explain is not None:
        results = await sessions.run(work)
    else:
        results, long = await sessions.run_long(work)
    body = results[-1].body if isinstance(results[-1], GatheredRows) else long
    try:
        if isinstance(body, RowBody):
            await body.complete()
        return task.result(results, long)
    except BodyNotStored as error:
        raise _not_stored(error, plan) from None
    except RestError:
        if body is not None:
            body.abandon()
        raise


def _not_stored(error: BodyNotStored, plan: RestPlan) -> RestError:
    """Return the error of an answer that could not be gathered."""
    is_kept = not plan.read_only and plan.end is TransactionEnd.COMMIT
    if error.is_too_long:
        return AnswerTooLong(error.reason, is_kept=is_kept)
    return AnswerNotStored(error.reason, is_kept=is_kept)


def work_of(task: RestTask, context: RestContext) -> TransactionSpec:
    """Return the transaction of a planned request."""
    plan = task.plan
    return TransactionSpec(
        settings=settings_of(plan, context),
        statements=task.statements(context.defaults),
        read_only=plan.read_only,
        isolation=plan.isolation or context.role.isolation,
        end=plan.end,
        writes=isinstance(plan, WritePlan),
        may_share=_may_share(plan, context.defaults),
        may_run_on_replica=not isinstance(plan, CallPlan) or plan.call.function.volatility != "v",
    )


def _may_share(plan: RestPlan, defaults: TransactionDefaults) -> bool:
    """Return whether a read may be repeated: not if it calls a named function, which may have effects outside of the database."""
    return not isinstance(plan, CallPlan) and plan.output.handler is None and defaults.pre_request is None


def settings_of(plan: RestPlan, context: RestContext) -> list[tuple[str, str]]:
    """Return the settings of the transaction, in the order in which they are applied."""
    defaults = context.defaults
    search_path = _search_path(plan.request.schema, defaults.extra_search_path)
    settings = request_settings(context.request, context.identity, context.role, search_path)
    if plan.request.preferences.timezone is not None:
        settings.append(("timezone", plan.request.preferences.timezone))
    settings += plan.settings
    settings += defaults.app_settings
    return settings


def check(plan: RestPlan, result: RestResult) -> None:
    """Check what a statement did. Raises: BadBody, NotSingular, UpsertKeyMismatch, TooManyAffected."""
    if result.repeats_keys:
        raise BadBody("Two objects of the body name one row by their key columns")
    if plan.output.is_singular and result.page_total != 1:
        raise NotSingular(result.page_total)
    if isinstance(plan, WritePlan) and plan.write.key_check and result.page_total != 1:
        raise UpsertKeyMismatch
    if plan.max_affected is not None and result.page_total > plan.max_affected:
        raise TooManyAffected(result.page_total)


def _check_nested(plan: RestPlan, results: Sequence[Rows]) -> None:
    """See that inserts made as many rows as they were given: later ones refer to them by their place."""
    if not isinstance(plan, WritePlan) or not plan.nested:
        return
    inserted = results[len(results) - 1 - len(plan.nested) : -1]
    for insert, rows in zip(plan.nested, inserted, strict=True):
        if insert.keeps and int(rows[0][0] or 0) != insert.count:
            raise BadBody(
                f"A trigger or rule kept back rows of {insert.relation.name}, so nothing can refer to them",
                hint="Insert the rows one relation after the other",
            )


def _result(prepared: RestStatement, rows: Rows, long: LongValue | None = None) -> RestResult:
    """Read the one row of an answer: four columns are always the first ones, and the body the last (`query.py: _columns`)."""
    if not rows:  # a trigger that the catalog does not know yet kept the only row back (`query/plain.py`)
        return RestResult()
    row = rows[0]
    total, page_total, headers, status = row[:4]
    location: tuple[str | None, ...] = ()
    inserted = edges = None
    transaction_id = None
    is_guarded = repeats_keys = False
    if len(row) > 5:
        further = dict(zip(prepared.columns[4:-1], row[4:-1], strict=True))
        keys, count = further.get(OutputColumn.LOCATION), further.get(OutputColumn.INSERTED)
        location = () if keys is None else tuple(msgspec.json.decode(keys, type=list[str | None]))
        inserted = None if count is None else int(count)
        edges = _edges(further.get(OutputColumn.EDGES))
        is_guarded = further.get(OutputColumn.GUARDED) == b"t"
        repeats_keys = further.get(OutputColumn.REPEATED_KEYS) == b"t"
        transaction_id = _text(further.get(OutputColumn.TRANSACTION_ID))
    return RestResult(
        body=long or row[-1] or b"",
        page_total=int(page_total or 0),
        total=None if total is None else int(total),
        location=location,
        inserted=inserted,
        edges=edges,
        is_guarded=is_guarded,
        repeats_keys=repeats_keys,
        headers=None if headers is None else headers.decode(),
        status=None if status is None else status.decode(),
        transaction_id=transaction_id,
    )


def _gathered(task: RestTask, rows: GatheredRows) -> RestResult:
    """Read the trailer of a body that came row by row: three columns are always the first ones behind the NULL (`query/rows.py`)."""
    prepared, row, body = task.prepared, rows[0], rows.body
    frame = prepared.frame
    assert frame is not None  # else nothing is gathered
    total, headers, status = row[1:4]
    before = frame.before
    location: tuple[str | None, ...] = ()
    inserted = edges = None
    transaction_id = None
    is_guarded = False
    if len(row) > 4:
        further = dict(zip(prepared.columns[3:], row[4:], strict=True))
        keys, count = further.get(OutputColumn.LOCATION), further.get(OutputColumn.INSERTED)
        location = () if keys is None else tuple(msgspec.json.decode(keys, type=list[str | None]))
        inserted = None if count is None else int(count)
        edges = _edges(further.get(OutputColumn.EDGES))
        is_guarded = further.get(OutputColumn.GUARDED) == b"t"
        transaction_id = _text(further.get(OutputColumn.TRANSACTION_ID))
        if OutputColumn.PREFIX in further:
            before = (further[OutputColumn.PREFIX] or b"") + b"\n"
    counted = None if total is None else int(total)
    if prepared.counts_rows and (task.plan.counts_exactly or is_guarded):
        counted = body.count
    return RestResult(
        body=body.wrap(before, frame.behind),
        page_total=body.count,
        total=counted,
        location=location,
        inserted=inserted,
        edges=edges,
        is_guarded=is_guarded,
        headers=_text(headers),
        status=_text(status),
        transaction_id=transaction_id,
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _edges(data: bytes | None) -> PageEdges | None:
    if data is None:
        return None
    first, last, has_more = _decode_edges(data)
    return PageEdges(first, last, has_more)


def _planned_rows(rows: Rows) -> int:
    explained = msgspec.json.decode(rows[0][0] or b"[]")
    return int(explained[0]["Plan"]["Plan Rows"])


def _with_estimate(plan: RestPlan, result: RestResult, estimated: int, of_all: int) -> RestResult:
    """Take the planner's figure for the total: alone, or when the exact count gave up at its limit.

    Where rows may be hidden from the caller, it is the figure for the bare relation (`of_all`), which the caller's conditions
    do not change, and only beyond what was counted.
    """
    exact = result.total
    if result.is_guarded and exact is not None:
        is_whole = plan.guarded_limit is None or exact <= plan.guarded_limit
        total = exact if is_whole else max(exact, of_all)
    elif plan.request.preferences.count == "planned" or exact is None:
        total = estimated
    elif plan.count_limit is not None and exact <= plan.count_limit:
        total = exact
    else:
        total = max(exact, estimated)
    return msgspec.structs.replace(result, total=total)
