"""What the catalog says about a table or view: its columns as an editor needs them, its key, its foreign keys."""

from msgspec import Struct
from msgspec.structs import replace

from schemas.table_directives import InvalidDirective, read_directive
from workers.database.transactions.interactive import decode_first, statement
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import OperationContext
from workers.sql.compose import Sql, ident, qualified
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.rows", "table.sql")
_MOST_NAME = 63
_INSERT, _UPDATE, _DELETE = 8, 4, 16
"""Bits of pg_relation_is_updatable: 1 << the number of a command in the server's source (nodes.h, CmdType)."""


class ReferencedColumn(Struct, frozen=True):
    """The column that a column references; `label` is a column there by which people know a row.

    It is the one that a comment on the table names, `@headwater({"label": "code"})`, else one of text, by its name and uniqueness.
    """

    schema: str
    table: str
    column: str
    label: str | None = None


class TableColumn(Struct, frozen=True):
    """A column. `category` decides how it is edited; `default`, `generated` are expressions as SQL.

    `is_readable`: whether the role of readers may read it. Columns of auth with secrets are not (management/0008).
    """

    name: str
    type: str
    category: str
    base_type: str
    is_domain: bool
    is_nullable: bool
    is_long: bool
    is_sortable: bool
    is_readable: bool = True
    default: str | None = None
    generated: str | None = None
    identity: str | None = None
    comment: str | None = None
    enum_labels: list[str] | None = None
    foreign_key: ReferencedColumn | None = None


class DescribedTable(Struct, frozen=True):
    """A table or view. `key`: the columns of its primary key, else of a unique index without NULL; empty without one."""

    schema: str
    name: str
    kind: str
    has_row_security: bool
    events: int
    key: list[str]
    columns: list[TableColumn]
    estimated_rows: int | None = None

    @property
    def sql(self) -> Sql:
        """The quoted name."""
        return qualified(self.schema, self.name)

    def readable(self) -> "DescribedTable":
        """Return the table with the columns that readers may read; without a key if that has others.

        A table of which they may read nothing stays as it is: the server says why.
        """
        columns = [column for column in self.columns if column.is_readable]
        if not columns or len(columns) == len(self.columns):
            return self
        names = {column.name for column in columns}
        return replace(self, columns=columns, key=self.key if names.issuperset(self.key) else [])

    @property
    def has_version(self) -> bool:
        """Whether its rows have a transaction id as their version."""
        return self.kind == "table"

    def column(self, name: str) -> TableColumn:
        """Return a column. Raises: ManagementError (400) if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise invalid_arguments(f"{self.schema}.{self.name} has no column {name[:100]!r}")

    def check_key(self) -> None:
        """Reject a table without a key, whose rows cannot be addressed. Raises: ManagementError (409)."""
        if not self.key:
            raise ManagementError(
                409,
                "no_key",
                f"{self.schema}.{self.name} has no key, so its rows cannot be told apart",
                hint="Add a primary key, or a unique index over columns that are not null; or use sql.run.",
            )

    def check_event(self, name: str) -> None:
        """Refuse `insert`, `update` or `delete` on what does not take it. Raises: ManagementError (409)."""
        if not self.events & {"insert": _INSERT, "update": _UPDATE, "delete": _DELETE}[name]:
            raise ManagementError(
                409, "not_writable", f"The {self.kind} {self.schema}.{self.name} takes no {name}"
            )


class _ReferencedTable(Struct, frozen=True):
    """What the label of a reference is chosen from: the comment on the table, and its columns that may be one."""

    comment: str | None = None
    labels: list[str] | None = None


class _ReferringColumn(Struct, frozen=True):
    foreign_key: _ReferencedTable | None = None


class _ReferringTable(Struct, frozen=True):
    """The same row of the catalog as `DescribedTable`, with what only the choice of labels needs."""

    columns: list[_ReferringColumn]


async def describe_table(context: OperationContext, schema: str, name: str) -> DescribedTable:
    """Return what the catalog says about a table or view. Raises: ManagementError (400, 404)."""
    for part in (schema, name):
        if not 1 <= len(part.encode(errors="replace")) <= _MOST_NAME or "\0" in part:
            raise invalid_arguments(f"A name has 1 to {_MOST_NAME} bytes")
    [rows] = await context.database.read(
        statement(_SQL["table"], schema, name), timeout_s=context.settings.statement_timeout_s
    )
    table = decode_first(rows, DescribedTable)
    referring = decode_first(rows, _ReferringTable)
    if table is None or referring is None:
        raise not_found(f"table or view {schema}.{name}")
    columns = [
        _labelled(column, source.foreign_key)
        for column, source in zip(table.columns, referring.columns, strict=True)
    ]
    return replace(table, columns=columns)


def _labelled(column: TableColumn, target: _ReferencedTable | None) -> TableColumn:
    """Return a column whose reference has the label that the comment on its table names, if it names a column there."""
    if column.foreign_key is None or target is None or not target.comment:
        return column
    try:
        label = read_directive(target.comment).label
    except InvalidDirective:
        # Whoever writes the comment of another table must not make this one unreadable.
        return column
    if label is None or label not in (target.labels or []):
        return column
    return replace(column, foreign_key=replace(column.foreign_key, label=label))


def column_sql(name: str) -> Sql:
    """Return a column of the table that a page reads, which is named `r`."""
    return ident("r") + Sql((".",)) + ident(name)
