"""Which rows each caller may read and write in one state of a database.

Expressions of policies run as the caller, over rows that a role which sees all of them has read, in a part of the transaction that cannot write and is
rolled back: they are code of the project. Sub-selects in them see what the caller sees. An expression is evaluated once for rows that are equal in
the columns that it reads.

    role, claims -> select (select <truth of each row> from unnest(rows) as "table"), ... -> one digit for each row and expression
"""

import contextlib
from collections.abc import AsyncIterator, Sequence

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from workers.project.access.callers import CallerClass
from workers.project.access.catalog import AccessRelation, request_path
from workers.project.access.conditions import Condition, Expression, combined, conditions, expressions_of
from workers.project.access.model import AccessQuestion
from workers.project.access.row_classes import JudgedRow
from workers.sql import compose

_DIGITS = bytes(1 if number == ord("1") else 0 for number in range(256))


class Verdicts:
    """Bits of each row for each class of callers, in the order of both; `errors` of conditions that failed, each once."""

    def __init__(self) -> None:
        """Begin without any."""
        self.bits: list[bytes] = []
        self.errors: dict[str, None] = {}


@contextlib.asynccontextmanager
async def reading_only(connection: asyncpg.Connection, timeout_s: float) -> AsyncIterator[None]:
    """Run a part of a transaction that cannot write, with a limit for each statement, and roll it back."""
    await connection.execute("savepoint headwater_reads")
    try:
        await connection.execute("set transaction read only")
        await connection.execute(f"set local statement_timeout = {round(timeout_s * 1000)}")
        yield
    finally:
        await connection.execute("rollback to savepoint headwater_reads")
        await connection.execute("release savepoint headwater_reads")


async def become(connection: asyncpg.Connection, settings: Sequence[tuple[str, str]]) -> None:
    """Apply settings to the rest of a part of a transaction. Raises: the driver's errors."""
    await connection.execute(become_sql(len(settings)), *(part for pair in settings for part in pair))


def become_sql(count: int) -> str:
    """Return the statement that applies so many settings, in their order (pure)."""
    calls = (f"pg_catalog.set_config(${2 * at + 1}, ${2 * at + 2}, true)" for at in range(count))
    return f"select {', '.join(calls)}"


async def read_verdicts(
    connection: asyncpg.Connection,
    relation: AccessRelation,
    rows: Sequence[JudgedRow],
    classes: Sequence[CallerClass],
    question: AccessQuestion,
    extra: Sequence[tuple[str, str]] = (),
) -> Verdicts:
    """Evaluate rows for callers; a row that is not there has no bits. `extra` settings come with each caller's.

    Raises: the driver's errors, but those of conditions.
    """
    verdicts = Verdicts()
    settings = [
        ("search_path", request_path(relation.schema, question.search_path)),
        ("statement_timeout", str(round(question.statement_timeout_s * 1000))),
        *extra,
    ]
    there = int.from_bytes(bytes(row.text is not None for row in rows), "little") * 31
    judges: dict[str, _Judge] = {}
    async with (
        _names_visible(connection, relation, classes),
        reading_only(connection, question.statement_timeout_s),
    ):
        for item in classes:
            role = item.caller.role
            if role not in judges:
                judges[role] = _Judge(connection, relation, rows, conditions(relation, role), verdicts)
            bits = await judges[role].bits([*settings, *item.caller.settings])
            masked = int.from_bytes(bits, "little") & there
            verdicts.bits.append(masked.to_bytes(len(rows), "little"))
    return verdicts


class _Judge:
    """The expressions of one role over rows, prepared once for all its callers."""

    def __init__(
        self,
        connection: asyncpg.Connection,
        relation: AccessRelation,
        rows: Sequence[JudgedRow],
        by_bit: dict[int, list[Condition]],
        verdicts: Verdicts,
    ) -> None:
        self._connection, self._relation, self._by_bit, self._verdicts = (
            connection,
            relation,
            by_bit,
            verdicts,
        )
        self._count = len(rows)
        self._expressions = expressions_of(by_bit) if rows else []
        self._arrays: list[str] = []
        self._places: list[list[int]] = []
        for expression in self._expressions:
            distinct: dict[tuple[object, ...], int] = {}
            texts: list[str | None] = []
            places = []
            for row in rows:
                values = row.values_of(expression.columns)
                if values not in distinct:
                    distinct[values] = len(texts)
                    texts.append(row.text)
                places.append(distinct[values])
            self._arrays.append(_array(texts))
            self._places.append(places)
        self._become: PreparedStatement | None = None
        self._evaluate: PreparedStatement | None = None

    async def bits(self, settings: Sequence[tuple[str, str]]) -> bytes:
        """Return the bits of each row for the caller of these settings; an expression that raises an error counts as false."""
        truth: dict[Expression, int] = {}
        if self._expressions:
            flat = [part for pair in settings for part in pair]
            try:
                if self._become is None:
                    self._become = await self._connection.prepare(become_sql(len(settings)))
                await self._become.fetch(*flat)
                if self._evaluate is None:
                    self._evaluate = await self._connection.prepare(self._sql(range(len(self._expressions))))
                digits = list(await self._evaluate.fetchrow(*self._arrays) or ())
            except asyncpg.PostgresError:
                digits = [await self._alone(number, settings) for number in range(len(self._expressions))]
            for number, text in enumerate(digits):
                values = (text or "").encode().translate(_DIGITS)
                each = bytes(map(values.__getitem__, self._places[number])) if values else b""
                truth[self._expressions[number]] = int.from_bytes(each, "little")
        return combined(self._by_bit, truth, self._count)

    async def _alone(self, number: int, settings: Sequence[tuple[str, str]]) -> str:
        """Return the digits of one expression, or none if it raises an error."""
        await self._connection.execute("rollback to savepoint headwater_reads")
        await self._connection.execute("set transaction read only")
        await become(self._connection, settings)
        try:
            return str(await self._connection.fetchval(self._sql([number]), self._arrays[number]))
        except asyncpg.PostgresError as error:
            self._verdicts.errors[f"{self._relation.title}: {str(error)[:300]}"] = None
            await self._connection.execute("rollback to savepoint headwater_reads")
            await self._connection.execute("set transaction read only")
            return ""

    def _sql(self, numbers: Sequence[int]) -> str:
        name = compose.quoted(self._relation.name)
        table = f"{compose.quoted(self._relation.schema)}.{name}"
        parts = [
            f"(select pg_catalog.string_agg(case when ({self._expressions[number].text}) then '1' else '0' end, '') "  # noqa: S608 - expressions and quoted names of the catalog, run as the caller
            f"from pg_catalog.unnest((${place}::pg_catalog.text)::{table}[]) as {name})"
            for place, number in enumerate(numbers, start=1)
        ]
        return f"select {', '.join(parts)}"


@contextlib.asynccontextmanager
async def _names_visible(
    connection: asyncpg.Connection, relation: AccessRelation, classes: Sequence[CallerClass]
) -> AsyncIterator[None]:
    """Let callers name what policies name, until the block ends: Postgres looks names of policies up when they are written, not for each caller."""
    schemas = sorted(
        {schema for policy in relation.policies for schema in policy.schemas} | {relation.schema}
    )
    await connection.execute("savepoint headwater_names")
    try:
        for role in sorted({item.caller.role for item in classes}):
            for schema in schemas:
                has_usage = "select pg_catalog.has_schema_privilege($1::pg_catalog.text::pg_catalog.name, $2::pg_catalog.text, 'usage')"
                if not await connection.fetchval(has_usage, role, schema):
                    with contextlib.suppress(
                        asyncpg.InsufficientPrivilegeError
                    ):  # then the evaluation says so
                        async with connection.transaction():
                            await connection.execute(
                                f"grant usage on schema {compose.quoted(schema)} to {compose.quoted(role)}"
                            )
        yield
    finally:
        await connection.execute("rollback to savepoint headwater_names")
        await connection.execute("release savepoint headwater_names")


def _array(rows: Sequence[str | None]) -> str:
    """Return rows as the text of an array of composite values; a row that is not there is null (pure)."""
    texts = [
        "null" if row is None else '"' + row.replace("\\", "\\\\").replace('"', '\\"') + '"' for row in rows
    ]
    return "{" + ",".join(texts) + "}"
