"""What a change locks, reads through, rewrites or loses, as far as the struct and the size of its table show. Pure.

Source: PostgreSQL, "ALTER TABLE" (Notes), "CREATE INDEX" (Building Indexes Concurrently), "Explicit Locking".
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from workers.management.areas.catalog.model import ColumnInfo, PolicyInfo, RelationInfo
from workers.management.areas.ddl import access, constraints, objects, tables
from workers.management.areas.ddl.changes import Change, is_concurrent

_SAME_FOR_ALL_ROWS = re.compile(
    r"[^(]*|(now|current_timestamp|transaction_timestamp|statement_timestamp|auth\.uid|auth\.role|auth\.jwt)\(\)",
    re.IGNORECASE,
)
_VARCHAR = re.compile(r"(?:varchar|character varying)(?:\((\d+)\))?")


class ChangeWarning(Struct, frozen=True):
    """A consequence of a change. `code`: data_loss, rewrite, scan, lock, exposure, hidden, not_transactional, name."""

    level: Literal["notice", "warning", "danger"]
    code: str
    message: str


Relations = Mapping[tuple[str, str], RelationInfo]


def tables_of(changes: Iterable[Change]) -> set[tuple[str, str]]:
    """Return schema and name of the existing tables that changes name."""
    return {(change.schema, change.table) for change in changes if isinstance(change, tables.TableChange)}


def warnings_of(changes: Iterable[Change], relations: Relations) -> list[ChangeWarning]:
    """Return the warnings of changes in order, each once; `relations` are those that exist, by schema and name.

    What a table hides or opens is judged by what it is when all changes are made.
    """
    changes = list(changes)
    judged = {name: _when_done(relation, changes) for name, relation in relations.items()}
    return list(dict.fromkeys(warning for change in changes for warning in _of_change(change, judged)))


def loses_data(warnings: Iterable[ChangeWarning]) -> bool:
    """Return whether a change destroys what a migration cannot bring back."""
    return any(warning.code == "data_loss" for warning in warnings)


def _when_done(relation: RelationInfo, changes: Iterable[Change]) -> RelationInfo:
    """Return a table with the row security and the policies that changes leave it."""
    for change in changes:
        if not isinstance(change, tables.TableChange):
            continue
        if (change.schema, change.table) == (relation.schema, relation.name):
            relation = _after(relation, change)
    return relation


def _after(relation: RelationInfo, change: tables.TableChange) -> RelationInfo:
    policies = relation.policies
    match change:
        case access.SetRowSecurity(enabled=bool(enabled)):
            return replace(relation, has_row_security=enabled)
        case access.CreatePolicy(name=name, command=command, roles=roles, is_permissive=is_permissive):
            return replace(relation, policies=[*policies, PolicyInfo(name, command, is_permissive, roles)])
        case access.AlterPolicy(name=name, to=str(to)):
            renamed = [replace(policy, name=to) if policy.name == name else policy for policy in policies]
            return replace(relation, policies=renamed)
        case access.DropPolicy(name=name):
            return replace(relation, policies=[policy for policy in policies if policy.name != name])
        case _:
            return relation


def _of_change(change: Change, relations: Relations) -> list[ChangeWarning]:
    relation = (
        relations.get((change.schema, change.table)) if isinstance(change, tables.TableChange) else None
    )
    warnings: list[ChangeWarning] = []
    if is_concurrent(change):
        warnings.append(
            ChangeWarning(
                "notice", "not_transactional",
                "It runs outside a transaction. If it fails, an invalid index may remain: drop it and try again",
            )
        )  # fmt: skip
    for rule in _RULES:
        warnings += rule(change, relation)
    return warnings


def _losses(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    cascade = " and all that depends on it" if getattr(change, "cascade", False) else ""
    match change:
        case tables.DropTable():
            what = f"{_named(change)} with {_size(relation)}{cascade}"
        case tables.DropColumn(column=column):
            what = f"column {column} of {_named(change)} with its values{cascade}"
        case objects.DropSchema(schema=schema, cascade=True):
            what = f"schema {schema} with all tables in it"
        case objects.DropExtension(name=name, cascade=True) | objects.DropType(name=name, cascade=True):
            what = f"{name} and the columns that use it"
        case tables.AlterColumn(type=str(), using=str(expression), column=column) if not _names_column(
            expression, column
        ):
            what = f"the values of column {column} of {_named(change)}: `using` does not read them"
        case objects.DropView(is_materialized=True, name=name):
            what = f"the materialized view {name}{cascade}"
        case _:
            return []
    return [ChangeWarning("danger", "data_loss", f"This drops {what}. Only a backup brings it back")]


def _names_column(expression: str, column: str) -> bool:
    """Return whether an expression names a column, quoted or not; texts in it count as well."""
    plain = re.search(rf"(?<![\w$]){re.escape(column)}(?![\w$])", expression, re.IGNORECASE)
    quoted = '"' + column.replace('"', '""') + '"'
    return plain is not None or quoted in expression


def _rewrites(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    match change:
        case tables.AddColumn(column=column):
            same = column.default is None or _SAME_FOR_ALL_ROWS.fullmatch(column.default.strip())
            if same and column.identity is None and (column.generated is None or not column.is_stored):
                return []
            reason = "each row gets a value of its own"
        case tables.AlterColumn(type=str(kind), column=name):
            column_info = _column(relation, name)
            if column_info is not None and change.using is None and _is_wider(column_info.type, kind):
                return []
            reason = "its values are converted (unless both types are stored alike)"
        case _:
            return []
    return [
        ChangeWarning(
            "warning", "rewrite",
            f"{_named(change)} ({_size(relation)}) is rewritten, because {reason}; until it is done no client can read or write it",
        )
    ]  # fmt: skip


def _scans(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    match change:
        case tables.AlterColumn(is_nullable=False):
            advice = (
                "add a check `... is not null` as not valid and validate it first; the scan is then left out"
            )
        case constraints.AddCheck(not_valid=False) | constraints.AddForeignKey(not_valid=False):
            advice = "add it with `not_valid` and validate it in a later migration"
        case (
            constraints.AddUnique()
            | constraints.AddPrimaryKey()
            | constraints.CreateIndex(concurrently=False)
        ):
            advice = "an index made with `concurrently` does not stop writes"
        case _:
            return []
    message = f"All rows of {_named(change)} ({_size(relation)}) are read while writes wait; {advice}"
    return (
        [ChangeWarning("warning" if relation is not None else "notice", "scan", message)] if relation else []
    )


def _exposures(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    match change:
        case tables.CreateTable(row_security=False):
            text = "The table has no row security: whoever has a grant on it reads and changes all rows"
        case access.SetRowSecurity(enabled=False):
            text = "Without row security whoever has a grant on the table reads and changes all rows; its policies do nothing"
        case objects.CreateView(security_invoker=False):
            text = "The view reads its tables as its owner, so the policies of those who read the view do not apply"
        case access.CreatePolicy() if relation is not None and not relation.has_row_security:
            return [
                ChangeWarning(
                    "warning",
                    "hidden",
                    f"Row security of {_named(change)} is off, so the policy does nothing",
                )
            ]
        case access.SetRowSecurity(enabled=True) if relation is not None and not relation.policies:
            message = f"{_named(change)} has no policy: with row security on, every row is hidden from all roles but its owner"
            return [ChangeWarning("warning", "hidden", message)]
        case access.DropPolicy() if (
            relation is not None and relation.has_row_security and not relation.policies
        ):
            message = f"This leaves {_named(change)} without a policy: every row is hidden from all roles but its owner"
            return [ChangeWarning("warning", "hidden", message)]
        case _:
            return []
    return [ChangeWarning("warning", "exposure", text)]


def _renames(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    is_view = isinstance(change, objects.RenameObject) and change.on in (
        "schema",
        "view",
        "materialized view",
    )
    if is_view or isinstance(change, tables.RenameTable | tables.RenameColumn | tables.MoveTable):
        text = "Clients and functions that use the old name fail from now on; views and policies follow by themselves"
        return [ChangeWarning("warning", "name", text)]
    return []


def _locks(change: Change, relation: RelationInfo | None) -> list[ChangeWarning]:
    is_alteration = isinstance(change, tables.TableChange) and not isinstance(change, tables.CreateTable)
    if relation is None or not is_alteration or isinstance(change, constraints.CreateIndex):
        return []
    text = f"{_named(change)} is locked for the rest of the migration; it waits for running transactions that use the table"
    return [ChangeWarning("notice", "lock", text)]


_RULES: tuple[Callable[[Change, RelationInfo | None], list[ChangeWarning]], ...] = (
    _losses,
    _rewrites,
    _scans,
    _exposures,
    _renames,
    _locks,
)


def _named(change: Change) -> str:
    assert isinstance(change, tables.TableChange)  # the rules ask for the name of table changes only
    return f"{change.schema}.{change.table}"


def _size(relation: RelationInfo | None) -> str:
    if relation is None:
        return "its rows"
    rows = "an unknown number of" if relation.rows is None else f"about {relation.rows:,}"
    return f"{rows} rows, {relation.bytes / 1024 / 1024:,.1f} MB"


def _column(relation: RelationInfo | None, name: str) -> ColumnInfo | None:
    columns = relation.columns if relation else []
    return next((column for column in columns if column.name == name), None)


def _is_wider(old: str, new: str) -> bool:
    """Return whether every value of an old type is stored alike in the new one: longer varchar, or text."""
    before, after = _VARCHAR.fullmatch(old), _VARCHAR.fullmatch(new.lower().strip())
    if before is None:
        return old == new
    if after is None:
        return new.lower().strip() == "text"
    if before[1] is None or after[1] is None:
        return after[1] is None
    return (len(before[1]), before[1]) <= (len(after[1]), after[1])  # digits, as numbers are compared
