"""Versions of rows: a GET whose `Accept` is `application/vnd.headwater.history+json` (docs/history.md).

read      the keys of the rows that the filters find, as the caller: row policies and column rights hold
versions  of these keys, as the login of the interface, and the columns that the caller's role may read
show      what the caller sees of them (workers/row_history/view.py)
"""

from collections.abc import Sequence
from urllib.parse import quote, unquote_plus

import msgspec
from msgspec import Struct

from schemas.caller import ServiceCaller
from schemas.http import Request, Response
from workers.database.protocol.rows import Rows
from workers.database.schema_cache.catalog import CatalogRelation
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement, TransactionRunner, TransactionSpec
from workers.request_context.identity import RequestIdentity
from workers.rest.errors.plan import HistoryOfWrites, NoHistory, TooManyRowsForHistory
from workers.rest.execute import RestContext, RestTask, work_of
from workers.rest.model import ApiRequest, RequestAction
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import PlanHeaders
from workers.rest.plan.plan import find_relation
from workers.rest.prepare import parse_with, plan_and_query
from workers.rest.state import RestState
from workers.row_history.stored import SQL, StoredHistory, StoredVersion, decode_history, decode_version
from workers.row_history.view import RowVersion, versions_for_caller, whole_version
from workers.sql.operators import array_literal

MEDIA_TYPE = "application/vnd.headwater.history+json"
MOST_ROWS = 100
"""Rows whose history one request reads."""
MOST_VERSIONS = 1000
_REPLACED = frozenset({"select", "limit"})
"""Parameters that the reading of the keys has of its own; those of the request do not count."""


class RowHistory(Struct, frozen=True):
    """The answer: versions of all rows, the newest first; `gaps` where versions may be missing. `is_cut`: there are more."""

    versions: list[RowVersion]
    gaps: list["HistoryGapShown"]
    since: str
    is_cut: bool


class HistoryGapShown(Struct, frozen=True):
    """Versions may be missing around a moment."""

    at: str
    reason: str


class _Claims(Struct):
    sub: object = ""


def wants_history(parsed: ApiRequest) -> bool:
    """Return whether a request asks for versions of rows."""
    for media in parsed.accept:  # noqa: SIM110 - hot path: a generator costs two frames more
        if media.name == MEDIA_TYPE:
            return True
    return False


async def row_history(
    state: RestState,
    request: Request,
    parsed: ApiRequest,
    identity: RequestIdentity,
    sessions: TransactionRunner,
) -> Response:
    """Answer with the versions of rows. Raises: errors of parse and plan, NoHistory, TooManyRowsForHistory; as `execute`."""
    if parsed.action is not RequestAction.READ:
        raise HistoryOfWrites
    relation = find_relation(parsed, state.catalog, state.options)
    table, columns = await _history_of(relation, identity, sessions)
    keys = await _readable_keys(state, request, table, relation, identity, sessions)
    stored, is_cut = await _stored_versions(table, keys, sessions)
    if isinstance(request.caller, ServiceCaller):
        versions = [whole_version(version) for version in stored]
    else:
        sub = msgspec.json.decode(identity.claims, type=_Claims).sub
        versions = list(versions_for_caller(stored, columns, sub if isinstance(sub, str) else "", table.gaps))
    gaps = [HistoryGapShown(gap.at, gap.reason) for gap in table.gaps]
    body = msgspec.json.encode(RowHistory(versions, gaps, table.since, is_cut))
    headers = [("content-type", f"{MEDIA_TYPE}; charset=utf-8"), ("cache-control", "no-store")]
    return Response(200, headers, b"" if request.method == "HEAD" else body)


async def _history_of(
    relation: CatalogRelation, identity: RequestIdentity, sessions: TransactionRunner
) -> tuple[StoredHistory, frozenset[str]]:
    """Return a table's history and the columns that the caller's role may read. Raises: NoHistory."""
    statements = [
        statement(SQL["table"], relation.schema, relation.name),
        statement(SQL["readable"], relation.schema, relation.name, identity.role),
    ]
    found, readable = await _as_login(sessions, statements)
    if not found:
        raise NoHistory(relation.name)
    return decode_history(found[0][0] or b""), frozenset((row[0] or b"").decode() for row in readable)


async def _readable_keys(
    state: RestState,
    request: Request,
    table: StoredHistory,
    relation: CatalogRelation,
    identity: RequestIdentity,
    sessions: TransactionRunner,
) -> list[str]:
    """Return the keys of the rows that a request finds, as history spells them, read as the caller. Raises: TooManyRowsForHistory."""
    kept = [part for part in request.query.split("&") if part and _name_of(part) not in _REPLACED]
    select = ",".join(quote(f'"{name}"', safe="") for name in table.key)
    query = "&".join([*kept, f"select={select}", f"limit={MOST_ROWS + 1}"])
    shape, values = shape_of(query, is_call=False)
    # UTC: history has moments as the log spells them.
    headers = PlanHeaders(accept="application/json", prefer=("timezone=UTC",), accept_profile=relation.schema)
    key, reads = parse_with(state, "GET", request.path, shape, headers)
    planned = plan_and_query(state, key, reads, None)
    context = RestContext(request, identity, state.role(identity.role), state.defaults)
    task = RestTask(planned.plan, planned.statement, values)
    result = task.result(await sessions.run(work_of(task, context)))
    assert isinstance(result.body, bytes)  # `run` returns no long value
    rows = msgspec.json.decode(result.body, type=list[dict[str, msgspec.Raw]])
    if len(rows) > MOST_ROWS:
        raise TooManyRowsForHistory(MOST_ROWS)
    return [_key_text(table.key, relation, row) for row in rows]


def _name_of(part: str) -> str:
    """Return the name of a parameter, as the parser of queries reads it."""
    return unquote_plus(part.partition("=")[0])


def _key_text(key: Sequence[str], relation: CatalogRelation, row: dict[str, msgspec.Raw]) -> str:
    """Return the text of a key as the pool `history` stores it: the values' JSON, bytea without its prefix."""
    texts = [bytes(row[name]).decode() for name in key]
    is_binary = [relation.columns[name].base_type == "bytea" for name in key]
    parts = [
        text.replace("\\\\x", "", 1) if binary else text
        for text, binary in zip(texts, is_binary, strict=True)
    ]
    return f"[{','.join(parts)}]"


async def _stored_versions(
    table: StoredHistory, keys: Sequence[str], sessions: TransactionRunner
) -> tuple[list[StoredVersion], bool]:
    if not keys:
        return [], False
    given = array_literal(list(keys))
    reading = statement(SQL["versions"], table.id, given, None, None, None, MOST_VERSIONS + 1)
    [rows] = await _as_login(sessions, [reading])
    stored = [decode_version(row[0] or b"") for row in rows]
    return stored[:MOST_VERSIONS], len(stored) > MOST_VERSIONS


async def _as_login(sessions: TransactionRunner, statements: Sequence[Statement]) -> list[Rows]:
    """Run statements of ours as the login itself: callers have no rights in the schema of history."""
    return await sessions.run(TransactionSpec((), list(statements), read_only=True))
