"""What the edge of GraphQL subscriptions asks the GraphQL pool, and what it answers. All questions are stateless.

The edge sends `Request(method=METHOD, path=<below>, caller=..., body=...)` on the subject GRAPHQL. A client's operation
is the JSON object of a GraphQL request (`query`, `variables`, `operationName`), passed on as it came.

    PLAN   operation -> Followed (msgpack), or, for a query or a mutation, what a POST of it answers (JSON)
    RUN    operation -> the answer of a live query, as a query would be answered (JSON)
    ROWS   RowsAsked -> RowsFound: what is selected of changed rows, as they are now (msgpack)

Everything is done under the caller's role and claims. Source: docs/graphql-subscriptions.md.
"""

from typing import Literal

from msgspec import Struct

METHOD = "SUBSCRIBE"
PLAN, RUN, ROWS = "/plan", "/run", "/rows"
MEDIA_TYPE = "application/msgpack"
MOST_ROWS = 50
"""Changed rows of one question."""

Table = tuple[str, str]
"""Schema and name."""


class Refused(Struct, frozen=True, tag="refused"):
    """The operation cannot be done: the JSON of its `errors`."""

    errors: bytes


class Live(Struct, frozen=True, tag="live"):
    """A query to be run again when one of these tables changes."""

    tables: list[Table]


class OldColumn(Struct, frozen=True, array_like=True):
    """A column of the row as it was, as the log tells it."""

    key: str
    """Response key."""
    column: str
    """Name in the database; empty for `__typename`, whose value is `labels[""]`."""
    form: Literal["json", "text", "bytes"] = "json"
    """How its JSON becomes that of GraphQL: as it is, as the text of it, or with `\\x` before it."""
    labels: dict[str, str] = {}
    """Names of labels of an enum that are named otherwise."""


class ChangeField(Struct, frozen=True, array_like=True):
    """A field of a change: `node` is told by the pool, the others by the log."""

    key: str
    kind: Literal["event", "commitTimestamp", "position", "node", "old", "typename"]
    columns: list[OldColumn] = []
    """Of `old`."""
    text: str = ""
    """Of `typename`."""


class Changes(Struct, frozen=True, tag="changes"):
    """Row changes of one table."""

    role: str
    claims: bytes
    """JSON object: whose rights decide which changes are told."""
    table: Table
    events: list[str]
    """INSERT, UPDATE, DELETE: which of them are wanted, each once."""
    filter: str
    """As much of the filter as the feed can decide, in its grammar."""
    is_filtered: bool
    """There is more of the filter: ROWS decides it, and a row that it does not find is not told."""
    select: list[str]
    """Columns that are needed of the log."""
    primary_key: list[str]
    name: str
    """Response key of the field."""
    fields: list[ChangeField]
    nodes: int
    """How many of the fields are `node`."""
    since: str | None = None


Followed = Refused | Live | Changes


class RowsAsked(Struct, frozen=True):
    """Ask for changed rows."""

    operation: bytes
    """JSON, as the client sent it."""
    keys: list[list[str]]
    """For each row the values of its primary key as texts that Postgres reads."""


class RowsFound(Struct, frozen=True):
    """For each row what is selected of it: the JSON of each `node`, `null` where the row is gone or hidden.

    None: the rest of the filter does not hold, or cannot be decided because the row is gone.
    """

    rows: list[list[bytes] | None]
    missing: list[int] = []
    """Places of rows that are gone, hidden, or not there yet: the log tells of a commit a moment before it can be seen."""
    errors: bytes = b""
    """JSON of `errors`, where the statement failed; then there are no rows."""
