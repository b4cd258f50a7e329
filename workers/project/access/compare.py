"""Compares two states of a database: first that after the change is read, then that before, each by the session that has it.

    catalogs, callers -> tables, views, channels that the change may concern -> the same rows in both states, for the same callers -> the difference

So a migration runs once: its transaction is read and then rolled back to the state before.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import asyncpg

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.access.affected import changed_tables
from workers.project.access.callers import Caller, CallerClass, classes_of
from workers.project.access.candidates import candidate_rows, title_of
from workers.project.access.catalog import AccessCatalog, AccessRelation
from workers.project.access.changes import ComparedRow, compared_rows, right_changes, row_changes
from workers.project.access.channels import EXTENSIONS, MESSAGES, read_channels, topics_to_try
from workers.project.access.conditions import BITS
from workers.project.access.model import AccessDifference, AccessQuestion, Command, RowAccessChange
from workers.project.access.plain_reads import PlainReads
from workers.project.access.report import alarms_of, sample_note
from workers.project.access.row_classes import (
    ClassedRows,
    JudgedRow,
    RowNotes,
    RowPair,
    identical,
    read_classes,
    read_possible_rows,
    read_representatives,
)
from workers.project.access.verdicts import Verdicts, read_verdicts

Side = Literal["before", "after"]
_MOST_EVALUATIONS = 2_000_000
"""Rows times callers of one table and state; a table beyond it is sampled."""
_FEWEST_CLASSES, _MOST_CLASSES = 1000, 50_000
_CHANNEL_COMMANDS: Mapping[Command, int] = {"receive": BITS["select"], "send": BITS["insert"]}
_SHARED = ("storage.objects", "storage.buckets", MESSAGES)
_NO_ROWS = ClassedRows([], [], [], 0, is_sample=False)


class _Table:
    """What is known of one table while both states are read."""

    def __init__(
        self,
        number: int,
        relations: dict[Side, AccessRelation],
        classes: list[CallerClass],
        tenant_column: str,
        *,
        has_two: bool,
    ) -> None:
        self.number, self.relations, self.classes = number, relations, classes
        was, now = relations["before"], relations["after"]
        self.policies = [*was.policies, *now.policies]
        self.tenant_column = tenant_column
        names = dict.fromkeys(name for policy in self.policies for name in policy.columns)
        shown = {column.name for column in now.columns}
        if tenant_column in shown:
            names[tenant_column] = None
        self.columns = list(names)
        self.key = now.key if now.key == was.key else []
        is_written = now.touched or now.file != was.file or now.has_children
        self.has_same_rows = not (has_two or is_written or set(names) - shown)
        self.most = min(max(_MOST_EVALUATIONS // max(len(classes), 1), _FEWEST_CLASSES), _MOST_CLASSES)
        self.candidates: list[dict[str, str | None]] = []
        self.rows: dict[Side, ClassedRows] = {}
        self.possible: dict[Side, list[str | None]] = {}
        self.verdicts: dict[Side, Verdicts] = {}

    @property
    def is_joined(self) -> bool:
        """Whether its rows of both states are joined by key."""
        return not self.has_same_rows and bool(self.key)

    def columns_in(self, side: Side) -> list[str]:
        """Return the compared columns that a state has."""
        there = {column.name for column in self.relations[side].columns}
        return [name for name in self.columns if name in there]


class Comparison:
    """The comparison of two states for callers: `read_after`, then `read_before`, then `difference`."""

    def __init__(
        self,
        before: AccessCatalog,
        after: AccessCatalog,
        callers: Sequence[Caller],
        question: AccessQuestion,
        notes: RowNotes,
        *,
        has_two_databases: bool = False,
    ) -> None:
        """Decide what is compared."""
        self._before, self._after, self._question, self._row_notes = before, after, question, notes
        self._ids = [str(caller.claims["sub"]) for caller in callers if "sub" in caller.claims]
        self._notes: dict[str, None] = {}
        self._tables: list[_Table] = []
        self._channel_classes: list[CallerClass] = []
        self._channel_verdicts: dict[Side, list[Verdicts]] = {}
        self._topics: list[str] = []
        column = question.tenant_column or question.tenant_claim.rpartition(".")[2]
        names = changed_tables(before, after)
        if has_two_databases:
            names = _tables_of_both(before, after)
        for number, title in enumerate(names):
            relations: dict[Side, AccessRelation] = {
                "before": before.relations[title],
                "after": after.relations[title],
            }
            policies = [*relations["before"].policies, *relations["after"].policies]
            classes = classes_of(callers, policies, by_tenant=bool(question.tenant_claim))
            if title == MESSAGES:
                self._channel_classes = classes
            elif not all(relation.is_readable for relation in relations.values()):
                self._notes[f"{title} cannot be read by role postgres: only its grants are compared"] = None
            elif "f" in {relation.kind for relation in relations.values()}:
                self._notes[f"{title} is a foreign table: only its grants are compared"] = None
            else:
                self._tables.append(_Table(number, relations, classes, column, has_two=has_two_databases))
        self._reads = PlainReads(before, after, callers, question, rows_changed=bool(self._tables))

    async def read_after(self, connection: asyncpg.Connection) -> None:
        """Read the state after the change. Raises: the driver's errors."""
        for table in self._tables:
            await self._read_rows(connection, "after", table)
            rows = table.rows["after"]
            table.candidates = candidate_rows(table.relations["after"], rows, table.policies, self._ids)
            await self._judge(connection, "after", table)
        if self._channel_classes:
            relations = [catalog.relations[MESSAGES] for catalog in (self._before, self._after)]
            policies = [policy for relation in relations for policy in relation.policies]
            self._topics = await topics_to_try(connection, self._question, policies, self._ids)
        await self._read_rest(connection, "after")

    async def read_before(self, connection: asyncpg.Connection) -> None:
        """Read the state before the change. Raises: the driver's errors."""
        for table in self._tables:
            if table.has_same_rows:
                table.rows["before"] = table.rows["after"]
            else:
                await self._read_rows(connection, "before", table)
            await self._judge(connection, "before", table)
        await self._read_rest(connection, "before")

    async def difference(self) -> AccessDifference:
        """Return what was found. Raises: the driver's errors."""
        rows: list[RowAccessChange] = []
        for table in self._tables:
            rows += await self._changes_of(table)
        rows += [*self._channel_changes(), *self._reads.changes()]
        for verdicts in (*(verdict for table in self._tables for verdict in table.verdicts.values()),):
            self._notes.update(
                dict.fromkeys(
                    f"An expression fails, so its rows count as closed: {text}" for text in verdicts.errors
                )
            )
        rights = right_changes(self._before, self._after)
        notes = [*self._notes, *self._reads.notes]
        return AccessDifference(rows, rights, notes, alarms_of(rows, rights))

    async def _read_rows(self, connection: asyncpg.Connection, side: Side, table: _Table) -> None:
        relation = table.relations[side]
        if not table.has_same_rows and not table.key:
            table.rows[side] = _NO_ROWS
            self._notes[
                f"{relation.title} has no primary key: rows that the change wrote are not compared, only possible rows"
            ] = None
            return
        rows = await read_classes(connection, relation, table.columns_in(side), table.key, table.most)
        table.rows[side] = rows
        if table.is_joined:
            await self._row_notes.note(side, table.number, connection, relation, rows)
        if rows.is_sample:
            self._notes[sample_note(relation.title, len(rows.classes), rows.total)] = None

    async def _judge(self, connection: asyncpg.Connection, side: Side, table: _Table) -> None:
        relation, rows = table.relations[side], table.rows[side]
        columns = table.columns_in(side)
        keys = [item.first for item in rows.classes]
        stored = await read_representatives(connection, relation, columns, rows.key, keys) if keys else []
        possible = await read_possible_rows(connection, relation, table.candidates)
        table.possible[side] = possible
        judged = [
            *(
                JudgedRow(text, dict(zip(rows.columns, item.values, strict=True)))
                for text, item in zip(stored, rows.classes, strict=True)
            ),
            *(JudgedRow(text, candidate) for text, candidate in zip(possible, table.candidates, strict=True)),
        ]
        table.verdicts[side] = await read_verdicts(
            connection, relation, judged, table.classes, self._question
        )

    async def _changes_of(self, table: _Table) -> list[RowAccessChange]:
        was, now = table.rows["before"], table.rows["after"]
        pairs: list[RowPair] = identical(now)
        if table.is_joined:
            pairs = await self._row_notes.pairs(table.number, was, now)
        place = now.columns.index(table.tenant_column) if table.tenant_column in now.columns else None
        tenants = [None if place is None else item.values[place] for item in now.classes]
        rows = compared_rows(pairs, tenants, now.key)
        for number, candidate in enumerate(table.candidates):
            if table.possible["before"][number] is not None and table.possible["after"][number] is not None:
                tenant = candidate.get(table.tenant_column)
                rows.append(
                    ComparedRow(
                        len(was.classes) + number,
                        len(now.classes) + number,
                        0,
                        (title_of(candidate),),
                        tenant,
                    )
                )
        scale = now.total / len(now.classes) if now.is_sample else 1.0
        verdicts = table.verdicts
        return row_changes(
            table.relations["after"].title,
            table.classes,
            verdicts["before"].bits,
            verdicts["after"].bits,
            rows,
            scale=scale,
        )

    async def _read_rest(self, connection: asyncpg.Connection, side: Side) -> None:
        catalog = self._before if side == "before" else self._after
        if self._channel_classes:
            self._channel_verdicts[side] = await read_channels(
                connection, catalog.relations[MESSAGES], self._topics, self._channel_classes, self._question
            )
        await self._reads.read(connection, side)

    def _channel_changes(self) -> list[RowAccessChange]:
        if not self._channel_classes:
            return []
        width = len(EXTENSIONS)
        joined = [
            [
                b"".join(verdicts.bits[number] for verdicts in self._channel_verdicts[side])
                for number in range(len(self._channel_classes))
            ]
            for side in ("before", "after")
        ]
        rows = [
            ComparedRow(place, place, 1, (f"{topic} ({EXTENSIONS[place % width]})",))
            for place, topic in enumerate(topic for topic in self._topics for _ in EXTENSIONS)
        ]
        return row_changes(
            "realtime channels", self._channel_classes, joined[0], joined[1], rows, commands=_CHANNEL_COMMANDS
        )


def _tables_of_both(before: AccessCatalog, after: AccessCatalog) -> list[str]:
    """Return the tables whose rows two databases may share: the project's, files, and channels (pure)."""
    titles = []
    for title, now in after.relations.items():
        was = before.relations.get(title)
        is_shared = now.schema not in PLATFORM_SCHEMAS or title in _SHARED
        if was and is_shared and not (now.is_view or was.is_view) and was.is_readable and now.is_readable:
            titles.append(title)
    return titles
