"""The operation that looks through SQL of a person before it is run."""

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.areas.sql.run import controls_transaction, split_text
from workers.management.areas.sql.warnings import WarningKind, warnings_of
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.sql import SQL
from workers.sql.operators import array_literal


class SqlCheck(Struct, frozen=True, forbid_unknown_fields=True):
    """A text to look through before it is run."""

    sql: str


class NamedObject(Struct, frozen=True):
    """A table that a statement names, with the planner's estimate of its rows; `rows` is null if there is none."""

    name: str
    rows: int | None = None


class SqlWarning(Struct, frozen=True):
    """What a statement (its index in the text) destroys or locks."""

    statement: int
    line: int
    kind: WarningKind
    message: str
    objects: list[NamedObject]


class CheckedText(Struct, frozen=True):
    """The number of statements, whether they begin or end transactions, and the warnings."""

    statements: int
    controls_transaction: bool
    warnings: list[SqlWarning]


async def check(context: OperationContext, arguments: SqlCheck) -> CheckedText:
    """Return what a text would destroy or lock: drop, truncate, delete and update without where, changed types..."""
    statements = split_text(arguments.sql)
    text_warnings = warnings_of(statements)
    names = list(dict.fromkeys(name for warning in text_warnings for name in warning.names))
    estimates = await _estimates(context, names)
    warnings = [
        SqlWarning(
            warning.statement,
            warning.line,
            warning.kind,
            warning.message,
            [NamedObject(".".join(name), estimates.get(name)) for name in warning.names],
        )
        for warning in text_warnings
    ]
    return CheckedText(len(statements), any(map(controls_transaction, statements)), warnings)


async def _estimates(
    context: OperationContext, names: list[tuple[str, ...]]
) -> dict[tuple[str, ...], int | None]:
    """Return the planner's estimates of the tables among the names."""
    if not names:
        return {}
    quoted = [".".join('"' + part.replace('"', '""') + '"' for part in name) for name in names]
    [rows] = await context.database.read(
        statement(SQL["estimates"], array_literal(quoted)), timeout_s=context.settings.statement_timeout_s
    )
    values = [None if row[0] is None else round(msgspec.json.decode(row[0], type=float)) for row in rows]
    return dict(zip(names, values, strict=True))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "sql.check", "Warn of what a text would destroy", SqlCheck, CheckedText, Right.READER, check
        )
    ]
