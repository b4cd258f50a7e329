"""What query and execute give, a `RestStatement` statement and its `RestResult`; and the `RestOptions` of all steps."""

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from workers.database.protocol.long_value import LongValue
from workers.database.protocol.row_body import RowBody
from workers.sql.compose import Param, ParameterSlot


class OutputColumn(StrEnum):
    """The columns that a statement may give, named by `RestStatement.columns`."""

    BODY = "body"
    PAGE_TOTAL = "page_total"
    TOTAL = "total"
    HEADERS = "headers"
    STATUS = "status"
    LOCATION = "location"
    INSERTED = "inserted"
    EDGES = "edges"
    GUARDED = "guarded"
    TRANSACTION_ID = "transaction_id"
    REPEATED_KEYS = "repeated_keys"
    """Whether two rows of the payload of a PATCH name one row by their keys."""
    PREFIX = "prefix"
    """What stands before the first row of a body that is given row by row: the names of the columns, in CSV."""


class RowFrame(NamedTuple):
    """What is put before, between and behind the rows of a body that is given row by row."""

    before: bytes
    between: bytes
    behind: bytes


class RestStatement(Struct, frozen=True):
    """A rendered statement: text with `$1`..., parameters with slots, and what its columns are.

    `estimates` are the EXPLAINs of the count query when a planned count is wanted: with the request's conditions, and of the
    bare relation. `guard` goes before an execution plan that is wanted: whether it may not be shown.
    """

    text: str
    params: tuple[Param, ...]
    columns: tuple[OutputColumn, ...] = ()
    before: "tuple[RestStatement, ...]" = ()
    """Statements that are run before it."""
    estimates: "tuple[RestStatement, ...]" = ()
    guard: "RestStatement | None" = None
    frame: RowFrame | None = None
    """Each row of the result is one of the body, but the trailer, which holds the `columns` behind a NULL."""
    counts_rows: bool = False
    """With `frame`: the number of its rows is also the total."""


PAYLOAD = ParameterSlot(-1)
"""The place of the request's body among the parameters."""


class PageEdges(Struct, frozen=True):
    """Both ends of a cursor's page: the order values of its first and last row, and whether more rows follow."""

    first: tuple[str | None, ...] | None
    last: tuple[str | None, ...] | None
    has_more: bool


class RestResult(Struct, frozen=True):
    """What the database answered. A long `body` is read while it is sent: it must be read to its end or abandoned."""

    body: bytes | LongValue | RowBody = b""
    page_total: int = 0
    total: int | None = None
    location: tuple[str | None, ...] = ()
    inserted: int | None = None
    edges: "PageEdges | None" = None
    is_guarded: bool = False
    """Rows may be hidden from the caller, so the planner's estimate for the conditions must not be shown."""
    headers: str | None = None
    status: str | None = None
    repeats_keys: bool = False
    """Two rows of the payload of a PATCH name one row by their keys."""
    transaction_id: str | None = None
    """Of a transaction that wrote and is committed: 32 bits in decimal."""


class RestOptions(Struct, frozen=True):
    """What the steps need of the settings, resolved once per configuration."""

    schemas: tuple[str, ...]
    max_rows: int | None
    tx_end: str
    aggregates_enabled: bool
    require_filters: bool
    plan_enabled: bool
    legacy_target_names: bool
    root_spec: str | None
    openapi_mode: str
    hoisted: frozenset[str]
    anonymous_role: str | None
    similar: Callable[[str, list[str], float], str | None] = field(repr=False, default=lambda *_: None)
