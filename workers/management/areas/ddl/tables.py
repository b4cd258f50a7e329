"""Changes of tables, columns, constraints and indexes. Each returns its statements. Pure."""

from typing import Literal

from msgspec import Struct

from workers.management.areas.ddl.text_checks import expression, literal, name, names, qualified, type_text
from workers.management.interface.errors import invalid_arguments

Action = Literal["no action", "restrict", "cascade", "set null", "set default"]


class SchemaChange(Struct, frozen=True, tag_field="change", forbid_unknown_fields=True):
    """A change of the schema."""

    def statements(self) -> list[str]:
        """Return the statements that make the change. Raises: ManagementError (400) for texts that are not SQL of their kind."""
        raise NotImplementedError  # abstract: each change of the union below says its own


class TableChange(SchemaChange, frozen=True, kw_only=True):
    """A change of a table."""

    table: str
    schema: str = "public"

    @property
    def target(self) -> str:
        """The quoted name of the table."""
        return qualified(self.schema, self.table)


class ForeignKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A reference to another table; without `target_columns` to its primary key."""

    target_table: str
    target_schema: str = "public"
    target_columns: list[str] = []
    on_delete: Action = "no action"
    on_update: Action = "no action"
    is_deferrable: bool = False

    def sql(self) -> str:
        """Return `references ...`."""
        columns = f" ({names(self.target_columns)})" if self.target_columns else ""
        parts = [f"references {qualified(self.target_schema, self.target_table)}{columns}"]
        parts += [f"on delete {self.on_delete}"] if self.on_delete != "no action" else []
        parts += [f"on update {self.on_update}"] if self.on_update != "no action" else []
        return " ".join([*parts, *(["deferrable"] if self.is_deferrable else [])])


class NewColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """A column. `default`, `generated` and `check` are expressions, and at most one of `default`, `identity`, `generated`."""

    name: str
    type: str
    is_nullable: bool = True
    default: str | None = None
    identity: Literal["always", "by default"] | None = None
    generated: str | None = None
    is_stored: bool = True
    is_unique: bool = False
    check: str | None = None
    references: ForeignKey | None = None
    comment: str | None = None

    def sql(self) -> str:
        """Return the column as it stands in `create table`."""
        if sum(value is not None for value in (self.default, self.identity, self.generated)) > 1:
            raise invalid_arguments(f"Column {self.name}: only one of `default`, `identity` and `generated`")
        parts = [name(self.name), type_text(self.type)]
        if self.default is not None:
            parts.append(f"default {expression(self.default, 'default')}")
        if self.identity is not None:
            parts.append(f"generated {self.identity} as identity")
        if self.generated is not None:
            storing = "stored" if self.is_stored else "virtual"
            parts.append(f"generated always as {expression(self.generated, 'generated')} {storing}")
        parts += [] if self.is_nullable else ["not null"]
        parts += ["unique"] if self.is_unique else []
        parts += [f"check {expression(self.check, 'check')}"] if self.check is not None else []
        parts += [self.references.sql()] if self.references is not None else []
        return " ".join(parts)


class NewForeignKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A foreign key of several columns inside a new table."""

    columns: list[str]
    references: ForeignKey
    name: str | None = None


class CreateTable(TableChange, frozen=True, tag="create_table"):
    """Create a table. Row security is on unless `row_security` is false, so nothing is readable before a policy says so."""

    columns: list[NewColumn]
    primary_key: list[str] = []
    unique: list[list[str]] = []
    checks: list[str] = []
    foreign_keys: list[NewForeignKey] = []
    comment: str | None = None
    row_security: bool = True

    def statements(self) -> list[str]:
        """Return the statements."""
        lines = [column.sql() for column in self.columns]
        lines += [f"primary key ({names(self.primary_key)})"] if self.primary_key else []
        lines += [f"unique ({names(columns)})" for columns in self.unique]
        lines += [f"check {expression(check, 'checks')}" for check in self.checks]
        for key in self.foreign_keys:
            prefix = f"constraint {name(key.name)} " if key.name else ""
            lines.append(f"{prefix}foreign key ({names(key.columns)}) {key.references.sql()}")
        body = ",\n".join(f"  {line}" for line in lines)
        statements = [
            f"create table {self.target} (\n{body}\n)" if lines else f"create table {self.target} ()"
        ]
        statements += [f"comment on table {self.target} is {literal(self.comment)}"] if self.comment else []
        statements += [
            f"comment on column {self.target}.{name(column.name)} is {literal(column.comment)}"
            for column in self.columns
            if column.comment
        ]
        return statements + (
            [f"alter table {self.target} enable row level security"] if self.row_security else []
        )


class RenameTable(TableChange, frozen=True, tag="rename_table"):
    """Rename a table."""

    to: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"alter table {self.target} rename to {name(self.to)}"]


class MoveTable(TableChange, frozen=True, tag="move_table"):
    """Move a table to another schema."""

    to: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"alter table {self.target} set schema {name(self.to)}"]


class DropTable(TableChange, frozen=True, tag="drop_table"):
    """Drop a table; with `cascade` also what depends on it."""

    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop table {self.target}{' cascade' if self.cascade else ''}"]


class AddColumn(TableChange, frozen=True, tag="add_column"):
    """Add a column."""

    column: NewColumn

    def statements(self) -> list[str]:
        """Return the statements."""
        statements = [f"alter table {self.target} add column {self.column.sql()}"]
        if self.column.comment:
            comment = literal(self.column.comment)
            statements.append(f"comment on column {self.target}.{name(self.column.name)} is {comment}")
        return statements


class RenameColumn(TableChange, frozen=True, tag="rename_column"):
    """Rename a column."""

    column: str
    to: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"alter table {self.target} rename column {name(self.column)} to {name(self.to)}"]


class AlterColumn(TableChange, frozen=True, tag="alter_column"):
    """Change a column; what is null stays. `using` is the expression that converts its values to the new type.

    `default` and `identity` may be an empty text, which drops them.
    """

    column: str
    type: str | None = None
    using: str | None = None
    default: str | None = None
    is_nullable: bool | None = None
    identity: Literal["always", "by default", ""] | None = None

    def statements(self) -> list[str]:
        """Return one statement with all changes of the column."""
        actions: list[str] = []
        if self.identity == "":
            actions.append("drop identity")
        if self.default == "" or (self.default is not None and self.type is not None):
            actions.append("drop default")
        if self.type is not None:
            using = f" using {expression(self.using, 'using')}" if self.using is not None else ""
            actions.append(f"type {type_text(self.type)}{using}")
        if self.default:
            actions.append(f"set default {expression(self.default, 'default')}")
        if self.is_nullable is not None:
            actions.append("drop not null" if self.is_nullable else "set not null")
        if self.identity:
            actions.append(f"add generated {self.identity} as identity")
        if not actions:
            raise invalid_arguments(
                "alter_column changes nothing: name `type`, `default`, `is_nullable` or `identity`"
            )
        column = name(self.column)
        return [
            f"alter table {self.target} " + ", ".join(f"alter column {column} {item}" for item in actions)
        ]


class DropColumn(TableChange, frozen=True, tag="drop_column"):
    """Drop a column; with `cascade` also what depends on it."""

    column: str
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        cascade = " cascade" if self.cascade else ""
        return [f"alter table {self.target} drop column {name(self.column)}{cascade}"]
