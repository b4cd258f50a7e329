"""Changes of access as SQL: row security, policies, grants, publications. Pure.

The functions of `text_checks.py` quote names (`name`, `names`, `qualified`) and reject texts that would end their place in a statement.
"""

from typing import Literal

from msgspec import field

from workers.management.areas.ddl.tables import SchemaChange, TableChange
from workers.management.areas.ddl.text_checks import expression, name, names, qualified, types_text
from workers.management.interface.errors import invalid_arguments

PolicyCommand = Literal["all", "select", "insert", "update", "delete"]


def _roles(roles: list[str]) -> str:
    """Return roles in a list; `public` is every role and not a name."""
    if not roles:
        raise invalid_arguments("`roles` must name at least one role; `public` is every role")
    return ", ".join("public" if role == "public" else name(role) for role in roles)


class SetRowSecurity(TableChange, frozen=True, tag="set_row_security"):
    """Switch row security on or off; `forced`: also for the table's owner. What is null is not changed."""

    enabled: bool | None = None
    forced: bool | None = None

    def statements(self) -> list[str]:
        """Return the statements."""
        statements = []
        if self.enabled is not None:
            statements.append(
                f"alter table {self.target} {'enable' if self.enabled else 'disable'} row level security"
            )
        if self.forced is not None:
            statements.append(
                f"alter table {self.target} {'' if self.forced else 'no '}force row level security"
            )
        if not statements:
            raise invalid_arguments("set_row_security changes nothing: name `enabled` or `forced`")
        return statements


class CreatePolicy(TableChange, frozen=True, tag="create_policy"):
    """Create a policy. `using` decides on existing rows (select, update, delete), `check` on new ones (insert, update)."""

    name: str
    command: PolicyCommand = "all"
    roles: list[str] = field(default_factory=lambda: ["public"])
    using: str | None = None
    check: str | None = None
    is_permissive: bool = True

    def statements(self) -> list[str]:
        """Return the statement."""
        if self.command == "insert" and self.using is not None:
            raise invalid_arguments("A policy for insert has `check` only: there is no existing row")
        if self.command in ("select", "delete") and self.check is not None:
            raise invalid_arguments(f"A policy for {self.command} has `using` only: there is no new row")
        if self.using is None and self.check is None:
            raise invalid_arguments("A policy needs `using` or `check`; `true` lets every row through")
        parts = [f"create policy {name(self.name)} on {self.target}"]
        parts += [] if self.is_permissive else ["as restrictive"]
        parts += [f"for {self.command}", f"to {_roles(self.roles)}"]
        parts += [f"using {expression(self.using, 'using')}"] if self.using is not None else []
        parts += [f"with check {expression(self.check, 'check')}"] if self.check is not None else []
        return [" ".join(parts)]


class AlterPolicy(TableChange, frozen=True, tag="alter_policy"):
    """Change a policy; what is null is not changed. Its command and whether it is permissive cannot change: drop it and create another."""

    name: str
    to: str | None = None
    roles: list[str] | None = None
    using: str | None = None
    check: str | None = None

    def statements(self) -> list[str]:
        """Return the statements; the new name comes last."""
        parts = [f"to {_roles(self.roles)}"] if self.roles is not None else []
        parts += [f"using {expression(self.using, 'using')}"] if self.using is not None else []
        parts += [f"with check {expression(self.check, 'check')}"] if self.check is not None else []
        start = f"alter policy {name(self.name)} on {self.target} "
        statements = [start + " ".join(parts)] if parts else []
        statements += [f"{start}rename to {name(self.to)}"] if self.to is not None else []
        if not statements:
            raise invalid_arguments("alter_policy changes nothing: name `to`, `roles`, `using` or `check`")
        return statements


class DropPolicy(TableChange, frozen=True, tag="drop_policy"):
    """Drop a policy."""

    name: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"drop policy {name(self.name)} on {self.target}"]


class ChangeGrants(SchemaChange, frozen=True, tag="change_grants"):
    """Grant privileges or, with `revoke`, take them back. `columns` limits select, insert, update and references to columns.

    `on` schema: `name` is empty and the privileges are usage or create; on function: `arguments` are the types of its arguments.
    """

    privileges: list[
        Literal[
            "select", "insert", "update", "delete", "truncate", "references", "trigger", "maintain",
            "usage", "execute", "create", "all",
        ]
    ]  # fmt: skip
    roles: list[str]
    name: str = ""
    schema: str = "public"
    on: Literal["table", "sequence", "function", "schema", "type"] = "table"
    columns: list[str] = field(default_factory=list)
    arguments: str = ""
    revoke: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        if not self.privileges:
            raise invalid_arguments("`privileges` must name at least one privilege")
        if self.columns and self.on != "table":
            raise invalid_arguments("`columns` belong to a table")
        columns = f" ({names(self.columns)})" if self.columns else ""
        privileges = ", ".join(privilege + columns for privilege in self.privileges)
        verb, preposition = ("revoke", "from") if self.revoke else ("grant", "to")
        return [f"{verb} {privileges} on {self._object()} {preposition} {_roles(self.roles)}"]

    def _object(self) -> str:
        """Return what the privileges are on; a `routine` is a function or a procedure."""
        if self.on == "schema":
            return f"schema {name(self.schema)}"
        target = qualified(self.schema, self.name)
        if self.on == "function":
            return f"routine {target}({types_text(self.arguments, 'arguments')})"
        return f"{self.on} {target}"


class SwitchPublication(TableChange, frozen=True, tag="switch_publication"):
    """Add a table to a publication or remove it: `supabase_realtime` sends its changes to clients."""

    published: bool
    publication: str = "supabase_realtime"

    def statements(self) -> list[str]:
        """Return the statement."""
        return [
            f"alter publication {name(self.publication)} {'add' if self.published else 'drop'} table {self.target}"
        ]
