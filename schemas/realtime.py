"""What the realtime edges ask their pool, and what it answers. All requests are stateless; any member may answer.

An edge sends `Request(method="POST", path=<PATH of the question>, caller=..., body=msgpack of the struct)` on the subject
REALTIME and gets 200 with the msgpack of the answer, or an error of the pool as any other. Source: reference page
"realtime", sections 4, 7, 9, 10.

    CHECK     Check -> Checked        are these subscriptions to row changes possible, and what do their filters mean
    TABLE     TableAsked -> Table     what a role may see of a table, and how a row's visibility is found
    VISIBLE   VisibleAsked -> Flags   which rows a group of callers may see now, by SQL under their claims, and which of these
                                      are still what the log says
    MATCH     MatchAsked -> Flags     which rows pass a filter, by SQL
    CHANNEL   ChannelAsked -> Channel what a caller may read of a private channel; messages to replay
    WRITE     WriteAsked -> Written   may a caller send to a private channel
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


class Entry(Struct, frozen=True, array_like=True):
    """A subscription to row changes as the client wrote it, with defaults filled in."""

    event: str
    """INSERT, UPDATE, DELETE or `*`."""
    schema: str
    """A schema, or `*`."""
    table: str
    """A table, or `*`."""
    filter: str = ""
    select: list[str] | None = None


class Filter(Struct, frozen=True, array_like=True):
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
    """How it can be decided without SQL, with the same outcome; empty: only SQL knows (MATCH). `null`: an `is` test."""


class CheckedEntry(Struct, frozen=True, array_like=True):
    """What became of an entry: an error for the `system` message, or what its filters mean."""

    error: str = ""
    is_final: bool = True
    """The error is the client's; trying again makes no sense."""
    filters: list[Filter] = []


class Check(Struct, frozen=True):
    """Ask whether these entries can be subscribed to by a role with these claims."""

    role: str
    claims: bytes
    """JSON object."""
    entries: list[Entry]


class Checked(Struct, frozen=True):
    """One answer for each entry, in order."""

    entries: list[CheckedEntry]


class Everybody(Struct, frozen=True, tag="everybody"):
    """No row security, or a policy that is true for the role."""


class Nobody(Struct, frozen=True, tag="nobody"):
    """No policy lets the role see a row."""


class BySql(Struct, frozen=True, tag="sql"):
    """Only SQL knows: ask VISIBLE."""


class IsClaim(Struct, frozen=True, tag="claim"):
    """The column equals a claim of the caller. A missing claim or NULL on either side is false."""

    column: str
    path: list[str]
    """Keys that lead to the claim: `["sub"]`, `["app_metadata", "tenant"]`."""
    kind: Literal["text", "uuid", "number"]
    """How both are compared: as texts, as UUIDs in any spelling, or as exact numbers."""


class IsConstant(Struct, frozen=True, tag="constant"):
    """The column has this value. NULL in the column is false."""

    column: str
    value: str
    """Text, or `true`/`false`, or a number's digits."""
    kind: Literal["text", "uuid", "number", "bool"]


class AllOf(Struct, frozen=True, tag="all"):
    """Every rule lets the row be seen."""

    rules: "list[Rule]"


class AnyOf(Struct, frozen=True, tag="any"):
    """One of the rules lets the row be seen."""

    rules: "list[Rule]"


Rule = Everybody | Nobody | BySql | IsClaim | IsConstant | AllOf | AnyOf
"""Who may see a row. A rule that needs a column which the log does not carry is decided by SQL."""


class TableAsked(Struct, frozen=True):
    """Ask what a role may see of a table."""

    role: str
    schema: str
    table: str
    at_least: int = 0
    """The answer must know the schema as it was at this position of the log."""


class Table(Struct, frozen=True):
    """What a role may see of a table."""

    columns: list[tuple[str, str]]
    """Name and `pg_type.typname` of those the role may select, in table order; empty: none."""
    key: list[str]
    """Primary key, in key order; empty: the table has none."""
    can_see_key: bool
    row_security: bool
    """Row security applies to the role (it is on, and the role does not bypass it)."""
    rule: Rule
    at: int
    """Position of the log at which this was true."""
    is_published: bool = True
    in_seconds: float = 0.0
    """For how long it holds: the log tells nothing of roles (membership, BYPASSRLS), and not everywhere of the schema; 0: until
    the schema changes."""


class VisibleAsked(Struct, frozen=True):
    """Ask which rows each of several groups of callers may see now. A group are callers with equal claims."""

    schema: str
    table: str
    key: list[str]
    rows: list[list[bytes | None]]
    """For each row the JSON text of the values of its key, then of `columns`; None: the log does not have the value."""
    groups: list[tuple[str, bytes]]
    """Role and claims (JSON object)."""
    columns: list[str] = []
    """The other columns that the roles may select: the row must still have these values, else the version in the log is
    superseded."""


class MatchAsked(Struct, frozen=True):
    """Ask which rows pass a filter."""

    schema: str
    table: str
    filters: list[Filter]
    rows: list[bytes]
    """For each row a JSON object of the filtered columns, in the form of `schemas.changes.Values`."""


SUPERSEDED = 2


class Flags(Struct, frozen=True):
    """For each group (MATCH: one) a byte for each row: 1 yes, 0 no; VISIBLE also SUPERSEDED: the group may see the row, but
    the row has other values by now than those in the log."""

    groups: list[bytes]


class Replay(Struct, frozen=True, array_like=True):
    """Which stored messages of a private channel to send again."""

    since: int
    """Milliseconds since 1970."""
    limit: int = 25


class ChannelAsked(Struct, frozen=True):
    """Ask what a caller may read of a private channel."""

    topic: str
    """Without `realtime:`."""
    role: str
    claims: bytes
    headers: dict[str, str] = {}
    """The `x-...` headers of the connection."""
    with_presence: bool = True
    replay: Replay | None = None


class Replayed(Struct, frozen=True, array_like=True):
    """A stored message."""

    id: str
    event: str
    payload: bytes
    is_binary: bool = False


class Channel(Struct, frozen=True):
    """What a caller may read of a private channel."""

    can_read_broadcast: bool
    can_read_presence: bool
    replayed: list[Replayed] = []
    """Oldest first."""


class WriteAsked(Struct, frozen=True):
    """Ask whether a caller may send to a private channel."""

    topic: str
    role: str
    claims: bytes
    extension: Literal["broadcast", "presence"]
    headers: dict[str, str] = {}


class Written(Struct, frozen=True):
    """Whether the caller may."""

    is_allowed: bool


class ClientPosition(Struct, frozen=True, array_like=True):
    """Up to where the client of one channel acknowledged row changes, and what became of the channel."""

    number: int
    """Of the channel among those of its edge; never used twice."""
    client: bytes
    """What the client is recognized by when it joins again (services/realtime/client_positions.py)."""
    position: Position
    state: Literal["live", "broken", "left"]
    """`broken`: the connection ended without the client's consent, or the client stopped answering. `left`: the client left
    the channel, and nothing is remembered of it."""


class ClientPositions(Struct, frozen=True):
    """What changed among the channels of an edge."""

    edge: str
    channels: list[ClientPosition] = []
    taken: list[tuple[str, int]] = []
    """Channels, by edge and number, whose positions clients of this edge went on from: they are not used again."""


class PositionQuery(Struct, frozen=True):
    """Ask where a client that joined at this edge left off."""

    edge: str
    client: bytes


class PositionAnswer(Struct, frozen=True):
    """The position to go on after, and the channel that was removed for it; nothing of both where none is remembered."""

    position: Position | None = None
    edge: str = ""
    number: int = 0
