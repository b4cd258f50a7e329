"""The difference of access: what roles and users may do after a change and could not before, and the reverse. Pure."""

from typing import Literal

from msgspec import Struct, field

Command = Literal["select", "insert", "update", "update to", "delete", "send", "receive"]
"""`update` is of an existing row, `update to` of its new values; `receive` and `send` are of channels."""


class ChangedRow(Struct, frozen=True):
    """A row by its key, and a caller that gains or loses it."""

    key: str
    caller: str


class RowAccessChange(Struct, frozen=True):
    """Rows that callers of a role gain and lose by one command.

    `gained` and `lost` are of the caller that gains or loses most. `gaining` and `losing` count callers of `callers`. `is_possible`: no stored row
    changes, only rows that could be written. `is_estimate`: counts come from a sample of rows. `crosses_tenants`: a user gains rows of another tenant.
    """

    table: str
    command: Command
    role: str
    gained: int
    lost: int
    callers: int
    gaining: int
    losing: int
    gained_examples: list[ChangedRow]
    lost_examples: list[ChangedRow]
    crosses_tenants: bool = False
    is_possible: bool = False
    is_estimate: bool = False


class RightChange(Struct, frozen=True):
    """A right of a role that is gained or lost: execution of a function, a column, a table that is new or gone."""

    kind: Literal["function", "column", "table"]
    object: str
    right: str
    role: str
    is_gained: bool
    reason: str = ""


class AccessDifference(Struct, frozen=True):
    """All that was found. `notes` say what was sampled, and what could not be compared; `alarms` why the change should be looked at; `summary` all of it in lines."""

    rows: list[RowAccessChange] = field(default_factory=list)
    rights: list[RightChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nobody gains or loses anything."""
        return not (self.rows or self.rights)


class AccessQuestion(Struct, frozen=True):
    """Who is tried: users by id, or a sample of so many; roles without a user; names of private channels.

    `tenant_claim` is a path in the token (`app_metadata.tenant_id`), `tenant_column` the column of rows with the same value; empty: the last part of
    the path.
    """

    users: list[str] = []
    sample: int = 1000
    channels: list[str] = []
    tenant_claim: str = ""
    tenant_column: str = ""
    search_path: list[str] = field(default_factory=lambda: ["public", "extensions"])
    statement_timeout_s: float = 20.0
