"""Changes of functions and triggers. Pure."""

from typing import Literal

from msgspec import field

from workers.management.areas.ddl.objects import cascading
from workers.management.areas.ddl.tables import SchemaChange, TableChange
from workers.management.areas.ddl.text_checks import (
    expression,
    literal,
    name,
    names,
    qualified,
    single_statement,
    types_text,
)
from workers.management.interface.errors import invalid_arguments

_FUNCTIONS = (
    "create function ",
    "create or replace function ",
    "create procedure ",
    "create or replace procedure ",
)


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
        return [f"drop routine {signature}{cascading(self.cascade)}"]


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
