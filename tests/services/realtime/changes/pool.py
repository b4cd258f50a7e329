"""A stand-in for the realtime pool on a real broker: it answers from tables that a test describes."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from broker import subjects
from broker.codec import decoder, encode
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from schemas.errors import Unavailable
from schemas.http import Request, Response
from schemas.realtime import (
    CHECK,
    MATCH,
    TABLE,
    VISIBLE,
    ChangeSubscription,
    CheckAnswer,
    CheckedSubscription,
    CheckQuery,
    EveryRow,
    FilterCondition,
    MatchQuery,
    RowFlags,
    Rule,
    TableGrant,
    TableQuery,
    VisibilityQuery,
)

COLUMNS = [("id", "int8"), ("user_id", "uuid"), ("body", "text"), ("amount", "numeric")]
LOCAL = {"id": "number", "user_id": "uuid", "amount": "number", "body": "text"}


def table(
    rule: Rule | None = None, *, columns: list[tuple[str, str]] | None = None, at: int = 0
) -> TableGrant:
    """Describe the table items for a role; a rule turns row security on."""
    names = COLUMNS if columns is None else columns
    can_see_key = any(name == "id" for name, _ in names)
    return TableGrant(names, ["id"], can_see_key, rule is not None, rule or EveryRow(), at)


@dataclass
class Pool:
    """What it answers, and what it was asked."""

    tables: dict[tuple[str, str], TableGrant] = field(default_factory=dict)
    """By role and table; `items` is open to all roles that are not named."""
    visible: Callable[[str, Mapping[str, object], bytes], bool] = lambda role, claims, key: True
    match: Callable[[FilterCondition, Mapping[str, object]], bool] = lambda filter, row: True
    refused: dict[str, str] = field(default_factory=dict)
    """Errors of entries by table."""
    asked: list[msgspec.Struct] = field(default_factory=list)
    is_away: bool = False
    gates: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(_open))
    """By path: answers wait for it."""

    async def answer(self, request: Request, body: RequestBody) -> Response:
        data = await body.read(64 << 20)
        if self.is_away:
            raise Unavailable("the database is away")
        kind = {CHECK: CheckQuery, TABLE: TableQuery, VISIBLE: VisibilityQuery, MATCH: MatchQuery}[
            request.path
        ]
        asked = decoder(kind)(data)
        self.asked.append(asked)
        await self.gates[request.path].wait()
        return Response(200, [], encode(self._answer(asked)))

    def count(self, kind: type[msgspec.Struct]) -> int:
        """Tell how often a question was asked."""
        return sum(isinstance(each, kind) for each in self.asked)

    def _answer(self, asked: object) -> msgspec.Struct:
        match asked:
            case CheckQuery(subscriptions=entries):
                return CheckAnswer([self._checked(entry) for entry in entries])
            case TableQuery(role=role, table=name, least_lsn=least_lsn):
                found = self.tables.get((role, name)) or table()
                return msgspec.structs.replace(found, at=max(found.at, least_lsn))
            case VisibilityQuery(rows=rows, groups=groups):
                return RowFlags([
                    bytes(self.visible(role, msgspec.json.decode(claims), row[0]) for row in rows)
                    for role, claims in groups
                ])  # fmt: skip
            case MatchQuery(filters=filters, rows=rows):
                decoded = [msgspec.json.decode(row) for row in rows]
                return RowFlags([bytes(all(self.match(each, row) for each in filters) for row in decoded)])
        raise AssertionError(asked)

    def _checked(self, entry: ChangeSubscription) -> CheckedSubscription:
        if error := self.refused.get(entry.table):
            return CheckedSubscription(error)
        return CheckedSubscription(filters=[_filter(part) for part in entry.filter.split(",") if part])


def _filter(text: str) -> FilterCondition:
    column, _, rest = text.partition("=")
    is_negated = rest.startswith("not.")
    op, _, value = rest.removeprefix("not.").partition(".")
    values = value.strip("()").split("|") if op == "in" else [value]
    local = "" if op in ("like", "match") else "null" if op == "is" else LOCAL[column]
    return FilterCondition(column, op, values, is_negated, dict(COLUMNS)[column], local)  # type: ignore[arg-type]  # as above


def _open() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@asynccontextmanager
async def running_pool(nats_url: str) -> AsyncIterator[Pool]:
    """Serve the questions until the end of the block."""
    pool = Pool()
    connection = await NatsConnection.open(nats_url, name="test pool")
    serving = await serve(connection, subjects.REALTIME, pool.answer, concurrency=64, queue=256)
    try:
        yield pool
    finally:
        await serving.stop()
        await connection.close()
