"""Changes of schemas, types, views, functions, triggers, extensions and comments. Pure."""

from typing import Literal

from msgspec import field

from workers.management.ddl.tables import SchemaChange, TableChange
from workers.management.ddl.text_checks import (
    expression,
    literal,
    name,
    names,
    qualified,
    query,
    single_statement,
    types_text,
)
from workers.management.errors import invalid_arguments

_FUNCTIONS = (
    "create function ",
    "create or replace function ",
    "create procedure ",
    "create or replace procedure ",
)


def _cascade(is_cascading: bool) -> str:
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
        return [f"drop schema {name(self.schema)}{_cascade(self.cascade)}"]


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
        return [f"drop type {qualified(self.schema, self.name)}{_cascade(self.cascade)}"]


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
        return [f"drop {kind} {qualified(self.schema, self.name)}{_cascade(self.cascade)}"]


class CreateFunction(SchemaChange, frozen=True, tag="create_function"):
    """Create a function or procedure: the whole statement, `create or replace function ...`."""

    definition: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [single_statement(self.definition, _FUNCTIONS, "definition")]


class DropFunction(SchemaChange, frozen=True, tag="drop_function"):
    """Drop a function or procedure; `arguments` are the types of its arguments: `integer, text`."""

    name: str
    schema: str = "public"
    arguments: str = ""
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        signature = f"{qualified(self.schema, self.name)}({types_text(self.arguments, 'arguments')})"
        return [f"drop routine {signature}{_cascade(self.cascade)}"]


class CreateTrigger(TableChange, frozen=True, tag="create_trigger"):
    """Create a trigger that calls a function; `arguments` are texts that it gets in TG_ARGV."""

    name: str
    timing: Literal["before", "after", "instead of"]
    events: list[Literal["insert", "update", "delete", "truncate"]]
    function: str
    function_schema: str = "public"
    update_of: list[str] = field(default_factory=list)
    for_each: Literal["row", "statement"] = "row"
    when: str | None = None
    arguments: list[str] = field(default_factory=list)

    def statements(self) -> list[str]:
        """Return the statement."""
        if not self.events:
            raise invalid_arguments("`events` must name at least one event")
        columns = f" of {names(self.update_of)}" if self.update_of else ""
        events = " or ".join(event + columns * (event == "update") for event in self.events)
        condition = f" when {expression(self.when, 'when')}" if self.when is not None else ""
        arguments = ", ".join(literal(argument) for argument in self.arguments)
        function = f"{qualified(self.function_schema, self.function)}({arguments})"
        return [
            f"create trigger {name(self.name)} {self.timing} {events} on {self.target}"
            f" for each {self.for_each}{condition} execute function {function}"
        ]


class SwitchTrigger(TableChange, frozen=True, tag="switch_trigger"):
    """Switch a trigger on or off."""

    name: str
    enabled: bool

    def statements(self) -> list[str]:
        """Return the statement."""
        verb = "enable" if self.enabled else "disable"
        return [f"alter table {self.target} {verb} trigger {name(self.name)}"]


class DropTrigger(TableChange, frozen=True, tag="drop_trigger"):
    """Drop a trigger."""

    name: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop trigger {name(self.name)} on {self.target}"]


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
        return [f"drop extension {name(self.name)}{_cascade(self.cascade)}"]


class SetComment(SchemaChange, frozen=True, tag="set_comment"):
    """Set or remove (null) a comment. `of` is the table of a column, policy, trigger or constraint."""

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
    ]
    name: str
    comment: str | None
    schema: str = "public"
    of: str | None = None

    def statements(self) -> list[str]:
        """Return the statement."""
        comment = "null" if self.comment is None else literal(self.comment)
        return [f"comment on {self.on} {self._object()} is {comment}"]

    def _object(self) -> str:
        if self.on == "schema":
            return name(self.name)
        if self.on not in ("column", "policy", "trigger", "constraint"):
            return qualified(self.schema, self.name)
        if self.of is None:
            raise invalid_arguments(f"`of` must name the table of the {self.on}")
        table = qualified(self.schema, self.of)
        return f"{table}.{name(self.name)}" if self.on == "column" else f"{name(self.name)} on {table}"
