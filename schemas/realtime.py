"""Queries of the realtime edges to the pool `realtime`, and its answers. Every query is complete in itself; any member may answer.

An edge sends `Request(method="POST", path=<path below>, caller=..., body=msgpack of the struct)` on the subject REALTIME.
The answer is 200 with msgpack of the struct on the right, or an error of the pool. Source: docs/reference/realtime.md,
sections 4, 7, 9, 10.

    CHECK     CheckQuery -> CheckAnswer         can these subscriptions be made, and what do their filters mean
    TABLE     TableQuery -> TableGrant          what a role may see of a table, and the rule that decides which rows
    VISIBLE   VisibilityQuery -> RowFlags       which rows several groups of callers see now, by SQL under their claims, and
                                                which of these rows still have the values that the log has
    MATCH     MatchQuery -> RowFlags            which rows pass a filter, by SQL
    CHANNEL   ChannelQuery -> ChannelRights     what a caller may read of a private channel; stored messages to replay
    WRITE     WriteQuery -> WriteAnswer         whether a caller may send to a private channel
    POSITION  PositionQuery -> PositionAnswer   up to where a client that joins again acknowledged row changes

POSITION is the exception: each member answers from what the edges publish on CLIENT_POSITIONS, and removes what it answered.
"""

from typing import Literal

from msgspec import Struct

from schemas.changes import Position

CHECK = "/check"
TABLE = "/table"
VISIBLE = "/visible"
MATCH = "/match"
CHANNEL = "/channel"
WRITE = "/write"
POSITION = "/position"


class ChangeSubscription(Struct, frozen=True, array_like=True):
    """A subscription to the row changes of a table, as the client wrote it, with defaults filled in."""

    event: str
    """INSERT, UPDATE, DELETE or `*`."""
    schema: str
    """A schema, or `*`."""
    table: str
    """A table, or `*`."""
    filter: str = ""
    select: list[str] | None = None


class FilterCondition(Struct, frozen=True, array_like=True):
    """One condition of a filter, checked against the column."""

    column: str
    op: str
    """eq neq lt lte gt gte in like ilike is match imatch isdistinct."""
    values: list[str]
    """The operand: one text, or several for `in`."""
    is_negated: bool = False
    type: str = ""
    """`pg_type.typname` of the column."""
    local: Literal["", "number", "bool", "text", "uuid", "null"] = ""
    """How the edge can decide it without SQL, with the same outcome. Empty: only SQL can (MATCH). `null`: an `is` test."""


class CheckedSubscription(Struct, frozen=True, array_like=True):
    """The outcome of a check: an error for the `system` message, or what the filter means."""

    error: str = ""
    is_final: bool = True
    """The client caused the error, so another try would fail as well."""
    filters: list[FilterCondition] = []


class CheckQuery(Struct, frozen=True):
    """Asks whether a role with these claims can make these subscriptions."""

    role: str
    claims: bytes
    """JSON object."""
    subscriptions: list[ChangeSubscription]


class CheckAnswer(Struct, frozen=True):
    """One outcome for each subscription, in order."""

    subscriptions: list[CheckedSubscription]


class EveryRow(Struct, frozen=True, tag="everybody"):
    """Rule: every row is visible. Row security is off for the role, or a policy is true for it."""


class NoRow(Struct, frozen=True, tag="nobody"):
    """Rule: no row is visible, because no policy applies to the role."""


class SqlRule(Struct, frozen=True, tag="sql"):
    """Rule: only SQL can decide; the edge sends VISIBLE."""


class ClaimRule(Struct, frozen=True, tag="claim"):
    """Rule: the column equals a claim of the caller. A missing claim, or NULL on either side, is false."""

    column: str
    path: list[str]
    """Keys that lead to the claim: `["sub"]`, `["app_metadata", "tenant"]`."""
    kind: Literal["text", "uuid", "number"]
    """How both are compared: as texts, as UUIDs in any spelling, or as exact numbers."""


class ConstantRule(Struct, frozen=True, tag="constant"):
    """Rule: the column has this value. NULL in the column is false."""

    column: str
    value: str
    """Text, or `true`/`false`, or a number's digits."""
    kind: Literal["text", "uuid", "number", "bool"]


class AllOf(Struct, frozen=True, tag="all"):
    """Rule: all of these rules must be true."""

    rules: "list[Rule]"


class AnyOf(Struct, frozen=True, tag="any"):
    """Rule: at least one of these rules must be true."""

    rules: "list[Rule]"


Rule = EveryRow | NoRow | SqlRule | ClaimRule | ConstantRule | AllOf | AnyOf
"""Which rows of a table are visible. A rule on a column that the log does not carry is decided by SQL."""


class TableQuery(Struct, frozen=True):
    """Asks what a role may see of a table."""

    role: str
    schema: str
    table: str
    least_lsn: int = 0
    """The answer must come from the schema as it was at this position of the log, or later."""


class TableGrant(Struct, frozen=True):
    """What a role may see of a table."""

    columns: list[tuple[str, str]]
    """Name and `pg_type.typname` of the columns that the role may select, in table order."""
    key: list[str]
    """Primary key, in key order; empty if the table has none."""
    can_see_key: bool
    row_security: bool
    """Row security applies to the role (it is on, and the role does not bypass it)."""
    rule: Rule
    at: int
    """Position of the log at which this was true."""
    is_published: bool = True
    valid_s: float = 0.0
    """Seconds for which the answer is valid: changes of roles (membership, BYPASSRLS) are not in the log, and on some servers
    changes of the schema are not either. 0: until the schema changes."""


class VisibilityQuery(Struct, frozen=True):
    """Asks which rows each of several groups of callers sees now. Callers of a group have equal claims."""

    schema: str
    table: str
    key: list[str]
    rows: list[list[bytes | None]]
    """For each row the JSON texts of the values of its key, then of `columns`. None: the value is not in the log."""
    groups: list[tuple[str, bytes]]
    """Role and claims (JSON object)."""
    columns: list[str] = []
    """The other columns that the roles may select. If the row has other values by now, the version in the log is superseded."""


class MatchQuery(Struct, frozen=True):
    """Asks which rows pass a filter."""

    schema: str
    table: str
    filters: list[FilterCondition]
    rows: list[bytes]
    """For each row a JSON object of the filtered columns, in the form of `schemas.changes.Values`."""


SUPERSEDED = 2


class RowFlags(Struct, frozen=True):
    """For each group (MATCH: one) a byte for each row: 1 yes, 0 no. VISIBLE also answers SUPERSEDED: the group sees the row,
    but its values differ from those in the log."""

    groups: list[bytes]


class ReplayQuery(Struct, frozen=True, array_like=True):
    """Selects the stored messages of a private channel that are sent again."""

    since: int
    """Milliseconds since 1970."""
    limit: int = 25


class ChannelQuery(Struct, frozen=True):
    """Asks what a caller may read of a private channel."""

    topic: str
    """Without `realtime:`."""
    role: str
    claims: bytes
    headers: dict[str, str] = {}
    """The `x-...` headers of the connection."""
    with_presence: bool = True
    replay: ReplayQuery | None = None


class ReplayedMessage(Struct, frozen=True, array_like=True):
    """A stored message."""

    id: str
    event: str
    payload: bytes
    is_binary: bool = False


class ChannelRights(Struct, frozen=True):
    """What a caller may read of a private channel."""

    can_read_broadcast: bool
    can_read_presence: bool
    replayed: list[ReplayedMessage] = []
    """Oldest first."""


class WriteQuery(Struct, frozen=True):
    """Asks whether a caller may send to a private channel."""

    topic: str
    role: str
    claims: bytes
    extension: Literal["broadcast", "presence"]
    headers: dict[str, str] = {}


class WriteAnswer(Struct, frozen=True):
    """Whether the caller may send."""

    is_allowed: bool


class ClientPosition(Struct, frozen=True, array_like=True):
    """Up to where the client of one channel acknowledged row changes, and the state of the channel."""

    number: int
    """Number of the channel on its edge; never used twice."""
    client: bytes
    """What the client is recognized by when it joins again (services/realtime/channels/client_positions.py)."""
    position: Position
    state: Literal["live", "broken", "left"]
    """`broken`: the connection ended without the client's consent, or the client stopped answering. `left`: the client left
    the channel, and its position is forgotten."""


class ClientPositions(Struct, frozen=True):
    """What changed among the channels of an edge."""

    edge: str
    channels: list[ClientPosition] = []
    used: list[tuple[str, int]] = []
    """Channels, by edge and number, from whose positions clients of this edge went on: they are not used again."""


class PositionQuery(Struct, frozen=True):
    """Asks up to where a client that joined at this edge acknowledged row changes."""

    edge: str
    client: bytes


class PositionAnswer(Struct, frozen=True):
    """The position to go on after, and the channel that is lent for it. Empty if no position is remembered."""

    position: Position | None = None
    edge: str = ""
    number: int = 0
