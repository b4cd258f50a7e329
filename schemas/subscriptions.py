"""Queries of the GraphQL subscription edge to the GraphQL pool, and its answers. Every query is complete in itself.

The edge sends `Request(method=METHOD, path=<below>, caller=..., body=...)` on the subject GRAPHQL. A client's operation
is the JSON object of a GraphQL request (`query`, `variables`, `operationName`), passed on unchanged.

    PLAN   operation -> SubscriptionPlan (msgpack); for a query or a mutation the response to a POST of it (JSON)
    RUN    operation -> the result of a live query, as for a query (JSON)
    ROWS   RowsQuery -> RowsAnswer: the selected fields of changed rows, as they are now (msgpack)

Everything runs under the caller's role and claims. Source: docs/graphql-subscriptions.md.
"""

from typing import Literal

from msgspec import Struct

METHOD = "SUBSCRIBE"
PLAN, RUN, ROWS = "/plan", "/run", "/rows"
MEDIA_TYPE = "application/msgpack"
MOST_ROWS = 50
"""Changed rows of one query."""

TableName = tuple[str, str]
"""Schema and name."""


class OperationErrors(Struct, frozen=True, tag="refused"):
    """The operation cannot be executed: the JSON of its `errors`."""

    errors: bytes


class LiveQueryPlan(Struct, frozen=True, tag="live"):
    """A query that runs again when one of these tables changes."""

    tables: list[TableName]
    """Those that the query reads."""
    further: list[TableName] = []
    """Those that only row policies and functions read for it; one whose changes the edge cannot follow makes it `is_repeated`."""
    is_repeated: bool = False
    """It runs also from time to time, because a policy or a function reads what is not published."""


class OldColumn(Struct, frozen=True, array_like=True):
    """A column of the old row, as the log has it."""

    key: str
    """Response key."""
    column: str
    """Name in the database; empty for `__typename`, whose value is `labels[""]`."""
    form: Literal["json", "text", "bytes"] = "json"
    """How its JSON becomes that of GraphQL: unchanged, as a string of its text, or with `\\x` in front."""
    labels: dict[str, str] = {}
    """GraphQL names of enum labels that have another name in the database."""


class ChangeField(Struct, frozen=True, array_like=True):
    """A field of a change. The pool reads `node`; the others come from the log."""

    key: str
    kind: Literal["event", "commitTimestamp", "position", "node", "old", "typename"]
    columns: list[OldColumn] = []
    """Of `old`."""
    text: str = ""
    """Of `typename`."""


class RowChangesPlan(Struct, frozen=True, tag="changes"):
    """Row changes of one table."""

    role: str
    claims: bytes
    """JSON object. The rights of this role and these claims decide which changes are delivered."""
    table: TableName
    events: list[str]
    """The subscribed ones of INSERT, UPDATE, DELETE, each once."""
    filter: str
    """The part of the filter that the feed can decide, in its grammar."""
    is_filtered: bool
    """The filter has another part: ROWS decides it, and a row that ROWS does not return is not delivered."""
    select: list[str]
    """Columns that are read from the log."""
    primary_key: list[str]
    name: str
    """Response key of the field."""
    fields: list[ChangeField]
    nodes: int
    """Number of the fields that are `node`."""
    since: str | None = None


SubscriptionPlan = OperationErrors | LiveQueryPlan | RowChangesPlan


class RowsQuery(Struct, frozen=True):
    """Asks for changed rows."""

    operation: bytes
    """JSON, as the client sent it."""
    keys: list[list[str]]
    """For each row the values of its primary key as texts that Postgres reads."""


class RowsAnswer(Struct, frozen=True):
    """For each row the JSON of each `node`, `null` where the row is gone or hidden.

    None: the rest of the filter is false, or cannot be decided because the row is gone.
    """

    rows: list[list[bytes] | None]
    missing: list[int] = []
    """Indexes of rows that are gone, hidden, or not visible yet: a commit is in the log a moment before queries see it."""
    errors: bytes = b""
    """JSON of `errors` if the statement failed; then `rows` is empty."""
