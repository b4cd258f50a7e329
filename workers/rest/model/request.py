"""What is asked: parse gives an `ApiRequest`, made of the values and the select list before it."""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from workers.sql.compose import ParameterSlot

Operand = str | ParameterSlot
"""A filter's value: its text, or the place in the URL's shape where each request has its own."""

Bound = int | ParameterSlot
"""A limit or offset, likewise."""

Path = tuple[str, ...]
"""Names of embedded resources from the root; empty for the root itself."""


class JsonStep(Struct, frozen=True):
    """One arrow of a JSON path: a key or an index; the last may ask for text (`->>`)."""

    key: str | int
    as_text: bool


class FieldPath(Struct, frozen=True):
    """A column (or computed field, or the name of an embed), with a JSON path into it and, in filters, a cast."""

    name: str
    path: tuple[JsonStep, ...] = ()
    cast: str | None = None


class FieldFilter(Struct, frozen=True):
    """`field op operand`. `quantifier` is any/all; `config` the text search configuration.

    The operand may be another column of the row (`gt(col).cost`); `aggregate` stands in `having` only.
    """

    field: FieldPath
    operator: str
    operand: Operand | tuple[str, ...] | FieldPath
    negated: bool = False
    quantifier: str | None = None
    config: str | None = None
    aggregate: str | None = None


class Logic(Struct, frozen=True):
    """A tree of filters joined by and/or."""

    operator: str
    negated: bool
    branches: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class RelatedTest:
    """`name!hint(conditions)` in a logic tree: some related row meets all of them.

    `otherwise` is the refusal (message, details) if nothing has that name and it looks like a misspelled `and` or `or`.
    """

    name: str
    hint: str | None
    negated: bool
    branches: "tuple[Condition, ...]"
    otherwise: tuple[str, str] | None = field(default=None, compare=False)


Condition = FieldFilter | Logic | RelatedTest


class OrderTerm(Struct, frozen=True):
    """One term of `order`; with `relation` it orders by a column of a to-one embed."""

    field: FieldPath
    descending: bool | None = None
    nulls: str | None = None
    relation: str | None = None


# --- select ----------------------------------------------------------------------------------------------------


class SelectColumn(Struct, frozen=True):
    """`alias:field::cast.aggregate()::aggregate_cast`; the name `*` alone stands for all columns."""

    field: FieldPath
    alias: str | None = None
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None

    @property
    def is_star(self) -> bool:
        return self.field.name == "*" and not self.aggregate


class SelectEmbed(Struct, frozen=True):
    """`alias:name!hint!join(select)`, or `...name(select)` when it is a spread."""

    name: str
    select: "tuple[SelectColumn | SelectEmbed, ...]"
    alias: str | None = None
    hint: str | None = None
    join: str | None = None
    is_spread: bool = False


SelectItem = SelectColumn | SelectEmbed
STAR = SelectColumn(FieldPath("*"))


# --- request ---------------------------------------------------------------------------------------------------


class RequestAction(StrEnum):
    """What a request wants done."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    UPSERT = "upsert"  # PUT of one row
    DELETE = "delete"
    CALL = "call"
    DESCRIBE = "describe"  # the root: OpenAPI
    OPTIONS = "options"


class Preferences(Struct, frozen=True):
    """The `Prefer` header: the first of each kind that is known. Absent kinds are None."""

    resolution: str | None = None
    representation: str | None = None
    count: str | None = None
    missing: str | None = None
    tx: str | None = None
    handling: str | None = None
    timezone: str | None = None
    max_affected: int | None = None
    pagination: str | None = None
    invalid: tuple[str, ...] = ()


class MediaType(Struct, frozen=True):
    """One type of `Accept`, with its parameters in the order sent."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    def parameter(self, name: str) -> str | None:
        return next((value for key, value in self.parameters if key == name), None)


class RowRange(Struct, frozen=True):
    """Rows from `offset`, at most `limit` of them (None: all)."""

    offset: Bound = 0
    limit: Bound | None = None


ALL_ROWS = RowRange()


class PageCursor(Struct, frozen=True):
    """A place in the order of rows: the values of a row's order terms as texts, and which side of it is wanted."""

    values: tuple[str | None, ...]
    is_backward: bool = False


class RestQuery(Struct, frozen=True):
    """The query string, parsed. Mappings by path hold the root under `()`."""

    select: tuple[SelectItem, ...] = (STAR,)
    filters: tuple[tuple[Path, FieldFilter], ...] = ()
    logic: tuple[tuple[Path, Logic], ...] = ()
    order: tuple[tuple[Path, tuple[OrderTerm, ...]], ...] = ()
    ranges: tuple[tuple[Path, RowRange], ...] = ()
    columns: tuple[str, ...] | None = None
    on_conflict: tuple[str, ...] | None = None
    distinct: tuple[tuple[Path, tuple[FieldPath, ...]], ...] = ()
    """Rows that differ: in these fields, or as a whole where there are none."""
    having: tuple[tuple[Path, Condition], ...] = ()
    key: tuple[str, ...] | None = None
    """Columns that say which row each object of a PATCH changes."""
    nested: bool = False
    """The body holds related rows as well."""
    cursor: "PageCursor | None" = None
    arguments: tuple[tuple[str, Operand], ...] = ()
    """Arguments of a function that is read by GET."""
    canonical: tuple[str | tuple[str, int], ...] = ()
    """The parameters sorted by key, for `Content-Location`; a pair is a value: its prefix and the slot of the rest."""
    without_cursor: tuple[str | tuple[str, int], ...] = ()
    """The same, for `Link`, which brings cursors of its own."""


class Payload(Struct, frozen=True):
    """A body ready for the database.

    `kind`: `json` (an object or an array of them), `form` (fields of one row), `raw` (a function's single argument).
    `keys` are the names found in it, sorted; `is_array` tells `[...]` from `{...}`; `is_empty_array` an empty one.
    """

    kind: str
    data: bytes
    keys: tuple[str, ...] = ()
    is_array: bool = False
    is_empty_array: bool = False
    form: tuple[tuple[str, str], ...] = ()


class ApiRequest(Struct, frozen=True):
    """A request as the REST interface understands it; knows nothing of the database yet."""

    action: RequestAction
    method: str
    schema: str
    target: str
    """Relation or function; empty for the root."""
    query: RestQuery
    preferences: Preferences
    accept: tuple[MediaType, ...]
    range: RowRange
    content_type: str = "application/json"
    negotiated_schema: bool = False
    """The answer names the schema used (`Content-Profile`)."""

    @property
    def is_head(self) -> bool:
        return self.method == "HEAD"
