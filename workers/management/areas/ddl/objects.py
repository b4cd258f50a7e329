"""Changes of schemas, types, views, extensions and comments. Pure."""

from typing import Literal

from workers.management.areas.ddl.tables import SchemaChange
from workers.management.areas.ddl.text_checks import (
    literal,
    name,
    qualified,
    query,
    types_text,
)
from workers.management.interface.errors import invalid_arguments


def cascading(is_cascading: bool) -> str:
    """Return ` cascade`, or nothing."""
    return " cascade" if is_cascading else ""


class CreateSchema(SchemaChange, frozen=True, tag="create_schema"):
    """Create a schema."""

    schema: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"create schema {name(self.schema)}"]


class DropSchema(SchemaChange, frozen=True, tag="drop_schema"):
    """Drop a schema; with `cascade` also all that is in it."""

    schema: str
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop schema {name(self.schema)}{cascading(self.cascade)}"]


class CreateEnum(SchemaChange, frozen=True, tag="create_enum"):
    """Create an enum."""

    name: str
    values: list[str]
    schema: str = "public"

    def statements(self) -> list[str]:
        """Return the statement."""
        values = ", ".join(literal(value) for value in self.values)
        return [f"create type {qualified(self.schema, self.name)} as enum ({values})"]


class AddEnumValue(SchemaChange, frozen=True, tag="add_enum_value"):
    """Add a value to an enum, at the end or before or after another. It can be used after the migration only."""

    name: str
    value: str
    schema: str = "public"
    before: str | None = None
    after: str | None = None

    def statements(self) -> list[str]:
        """Return the statement."""
        if self.before is not None and self.after is not None:
            raise invalid_arguments("Only one of `before` and `after`")
        place = f" before {literal(self.before)}" if self.before is not None else ""
        place = f" after {literal(self.after)}" if self.after is not None else place
        return [f"alter type {qualified(self.schema, self.name)} add value {literal(self.value)}{place}"]


class RenameEnumValue(SchemaChange, frozen=True, tag="rename_enum_value"):
    """Rename a value of an enum."""

    name: str
    value: str
    to: str
    schema: str = "public"

    def statements(self) -> list[str]:
        """Return the statement."""
        type_name = qualified(self.schema, self.name)
        return [f"alter type {type_name} rename value {literal(self.value)} to {literal(self.to)}"]


class DropType(SchemaChange, frozen=True, tag="drop_type"):
    """Drop an enum, a domain or a composite type; with `cascade` also the columns that have it."""

    name: str
    schema: str = "public"
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop type {qualified(self.schema, self.name)}{cascading(self.cascade)}"]


class CreateView(SchemaChange, frozen=True, tag="create_view"):
    """Create a view, or replace one. With `security_invoker` the policies of its tables apply to who asks, not to its owner."""

    name: str
    query: str
    schema: str = "public"
    is_materialized: bool = False
    security_invoker: bool = True
    replace: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        text, view = query(self.query, "query"), qualified(self.schema, self.name)
        if self.is_materialized:
            return [f"create materialized view {view} as\n{text}"]
        options = " with (security_invoker = on)" if self.security_invoker else ""
        return [f"create {'or replace ' if self.replace else ''}view {view}{options} as\n{text}"]


class DropView(SchemaChange, frozen=True, tag="drop_view"):
    """Drop a view; with `cascade` also what depends on it."""

    name: str
    schema: str = "public"
    is_materialized: bool = False
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        kind = "materialized view" if self.is_materialized else "view"
        return [f"drop {kind} {qualified(self.schema, self.name)}{cascading(self.cascade)}"]


class RenameObject(SchemaChange, frozen=True, tag="rename_object"):
    """Rename what is neither a table nor a column. `of` is the table of a constraint or trigger."""

    on: Literal["schema", "view", "materialized view", "type", "index", "sequence", "constraint", "trigger"]
    name: str
    to: str
    schema: str = "public"
    of: str | None = None

    def statements(self) -> list[str]:
        """Return the statement."""
        old, new = name(self.name), name(self.to)
        if self.on == "schema":
            return [f"alter schema {old} rename to {new}"]
        if self.on not in ("constraint", "trigger"):
            return [f"alter {self.on} {qualified(self.schema, self.name)} rename to {new}"]
        if self.of is None:
            raise invalid_arguments(f"`of` must name the table of the {self.on}")
        table = qualified(self.schema, self.of)
        if self.on == "trigger":
            return [f"alter trigger {old} on {table} rename to {new}"]
        return [f"alter table {table} rename constraint {old} to {new}"]


class CreateExtension(SchemaChange, frozen=True, tag="create_extension"):
    """Install an extension; many belong in the schema `extensions`."""

    name: str
    schema: str | None = None

    def statements(self) -> list[str]:
        """Return the statement."""
        place = f" with schema {name(self.schema)}" if self.schema else ""
        return [f"create extension if not exists {name(self.name)}{place}"]


class DropExtension(SchemaChange, frozen=True, tag="drop_extension"):
    """Remove an extension; with `cascade` also what uses its types and functions."""

    name: str
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop extension {name(self.name)}{cascading(self.cascade)}"]


class SetComment(SchemaChange, frozen=True, tag="set_comment"):
    """Set or remove (null) a comment. `of` is the table of a column, policy, trigger or constraint.

    `arguments` are the types of a function's arguments.
    """

    on: Literal[
        "schema",
        "table",
        "view",
        "materialized view",
        "column",
        "type",
        "index",
        "policy",
        "trigger",
        "constraint",
        "sequence",
        "function",
    ]
    name: str
    comment: str | None
    schema: str = "public"
    of: str | None = None
    arguments: str = ""

    def statements(self) -> list[str]:
        """Return the statement."""
        comment = "null" if self.comment is None else literal(self.comment)
        kind = "routine" if self.on == "function" else self.on
        return [f"comment on {kind} {self._object()} is {comment}"]

    def _object(self) -> str:
        if self.on == "schema":
            return name(self.name)
        if self.on == "function":
            return f"{qualified(self.schema, self.name)}({types_text(self.arguments, 'arguments')})"
        if self.on not in ("column", "policy", "trigger", "constraint"):
            return qualified(self.schema, self.name)
        if self.of is None:
            raise invalid_arguments(f"`of` must name the table of the {self.on}")
        table = qualified(self.schema, self.of)
        return f"{table}.{name(self.name)}" if self.on == "column" else f"{name(self.name)} on {table}"
