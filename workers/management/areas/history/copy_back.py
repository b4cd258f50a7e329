"""Copies rows of a past moment back into the live table: all of them in one transaction, which says what it overwrites.

Where the row was there, its columns get the values of then, or it is inserted again; where it was not, it is deleted. Columns that the table has got
since stay as they are. Each change has a version of its own, so it can be undone.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.management.areas.history.reading import HistoryOfTable, ask
from workers.management.areas.history.row_writes import (
    UTC as _IN_UTC,
)
from workers.management.areas.history.row_writes import (
    as_json,
    delete_row,
    insert_row,
    is_same,
    read_row,
    run_change,
    stored_columns,
    update_row,
)
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.row_history.past import FirstLaterVersion, PastRow, past_row
from workers.row_history.stored import Values
from workers.sql.operators import array_literal

MOST_COPIED = 100
_MOST_VERSIONS = 20_000


class CopiedRow(Struct, frozen=True):
    """What copying a row does. `action`: insert, update, delete, or none where it is as it was. `before`: what is overwritten."""

    key: str
    action: str
    before: Values
    after: Values


class RowsCopiedBack(Struct, frozen=True):
    """What copying does, row by row. `state` names the present rows: send it as `expected`, so that nothing else is overwritten."""

    rows: list[CopiedRow]
    state: str
    is_written: bool


def read_moment(history: HistoryOfTable, text: str, now: datetime) -> datetime:
    """Return a moment that the history reaches back to. Raises: ManagementError (400, 409)."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise invalid_arguments("`moment` is a time with its zone, such as 2026-11-22T10:15:00Z")
    oldest = max(datetime.fromisoformat(history.stored.since), now - timedelta(days=history.stored.days))
    if not history.stored.is_on:
        raise ManagementError(
            409, "history_off", "The history of this table is off, so what changed since then is not known"
        )
    if not oldest <= moment <= now:
        raise ManagementError(
            409, "moment_unknown", f"The history has moments from {oldest.isoformat()} to now",
            hint="An older moment may be in continuous backup: `headwater branch create NAME --at MOMENT`.",
        )  # fmt: skip
    return moment


async def rows_at(
    context: OperationContext, history: HistoryOfTable, moment: datetime, keys: Sequence[str] | None
) -> list[PastRow]:
    """Return the rows that changed behind a moment as they were then, those that changed last first; of `keys`, or all.

    Raises: ManagementError (409) where there are too many versions.
    """
    values = (
        history.stored.id, moment.isoformat(), None if keys is None else array_literal(list(keys)), _MOST_VERSIONS + 1,
    )  # fmt: skip
    changed = decode_rows(await ask(context, "changed_since", *values), FirstLaterVersion)
    if changed and changed[0].read > _MOST_VERSIONS:
        raise ManagementError(
            409, "too_many_versions", f"More than {_MOST_VERSIONS:,} versions were written since then",
            hint="Choose a later moment, or fewer rows; or a branch of that moment: `headwater branch create NAME --at MOMENT`.",
        )  # fmt: skip
    return [past_row(row, moment, history.stored.gaps) for row in changed]


async def copy_back(
    context: OperationContext,
    history: HistoryOfTable,
    past: Sequence[PastRow],
    expected: str,
    *,
    only_tries: bool,
) -> RowsCopiedBack:
    """Write rows as they were, or with `only_tries` say what that would do. Raises: ManagementError (409), SqlRejected."""
    for row in past:
        if row.state == "unknown":
            raise ManagementError(
                409, "values_unknown", f"The row {row.key} as it was then is not known: {row.reason}. Nothing was written"
            )  # fmt: skip
    try:
        async with context.database.transaction(
            timeout_s=context.settings.statement_timeout_s
        ) as transaction:
            await transaction.run(_IN_UTC)
            present = [
                await read_row(transaction, history, _key_of(history, row), locks=not only_tries)
                for row in past
            ]
            planned = [_planned(history, row, values) for row, values in zip(past, present, strict=True)]
            state = _state_of(past, present)
            if not only_tries:
                if state != expected:
                    raise ManagementError(
                        409, "conflict", "The rows changed since they were compared; nothing was written",
                        hint="Compare them again.",
                    )  # fmt: skip
                await _write(transaction, history, past, planned)
    except DatabaseError as error:
        raise SqlRejected(error) from None
    return RowsCopiedBack(planned, state, not only_tries)


async def _write(
    transaction: Transaction, history: HistoryOfTable, past: Sequence[PastRow], planned: Sequence[CopiedRow]
) -> None:
    """Delete, update, then insert: a value that must be unique is free before another row gets it."""
    for action in ("delete", "update", "insert"):
        for row, change in zip(past, planned, strict=True):
            if change.action != action:
                continue
            key = _key_of(history, row)
            match action:
                case "delete":
                    await run_change(transaction, delete_row(history, key))
                case "insert":
                    await run_change(transaction, insert_row(history, row.values))
                case _:
                    values = {name: row.values[name] for name in change.after}
                    if (update := update_row(history, key, values)) is not None:
                        await run_change(transaction, update)


def _planned(history: HistoryOfTable, row: PastRow, present: Values | None) -> CopiedRow:
    """Return what has to be done so that a row is as it was."""
    stored = set(stored_columns(history.table, row.values))
    wanted = {name: value for name, value in as_json(history.table, row.values).items() if name in stored}
    if row.state == "absent":
        return CopiedRow(row.key, "none" if present is None else "delete", present or {}, {})
    if present is None:
        return CopiedRow(row.key, "insert", {}, wanted)
    changed = {
        name for name, value in wanted.items() if name not in present or not is_same(present[name], value)
    }
    return CopiedRow(
        row.key,
        "update" if changed else "none",
        {name: value for name, value in present.items() if name in changed},
        {name: value for name, value in wanted.items() if name in changed},
    )


def _key_of(history: HistoryOfTable, row: PastRow) -> Values:
    values = msgspec.json.decode(row.key.encode(), type=list[msgspec.Raw])
    return dict(zip(history.stored.key, values, strict=True))


def _state_of(past: Sequence[PastRow], present: Sequence[Values | None]) -> str:
    rows = [(row.key, values) for row, values in zip(past, present, strict=True)]
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


def present_moment() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)
