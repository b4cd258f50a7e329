"""All that passes between the steps of a REST request.

parse gives an `ApiRequest`, plan a `Plan`, query a `Prepared` statement, execute a `Result`; respond makes the
`Response` from the last three. Every value is frozen. The steps import this module and `errors.py`, never one another.
Source of the words: reference page "rest"; PostgREST's documentation uses the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from workers.database.catalog import ComputedRelationship, Function, MediaHandler, Relation, Relationship
from workers.database.long_value import LongValue
from workers.database.session import End
from workers.sql.compose import Param, Slot

# --- values ----------------------------------------------------------------------------------------------------

Operand = str | Slot
"""A filter's value: its text, or the place in the URL's shape where each request has its own."""

Bound = int | Slot
"""A limit or offset, likewise."""

Path = tuple[str, ...]
"""Names of embedded resources from the root; empty for the root itself."""


@dataclass(frozen=True, slots=True)
class JsonStep:
    """One arrow of a JSON path: a key or an index; the last may ask for text (`->>`)."""

    key: str | int
    as_text: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A column (or computed field, or the name of an embed), with a JSON path into it and, in filters, a cast."""

    name: str
    path: tuple[JsonStep, ...] = ()
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """`field op operand`. `quantifier` is any/all; `config` the text search configuration.

    The operand may be another column of the row (`gt(col).cost`); `aggregate` stands in `having` only.
    """

    field: Field
    operator: str
    operand: Operand | tuple[str, ...] | Field
    negated: bool = False
    quantifier: str | None = None
    config: str | None = None
    aggregate: str | None = None


@dataclass(frozen=True, slots=True)
class Logic:
    """A tree of filters joined by and/or."""

    operator: str
    negated: bool
    branches: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Related:
    """`name!hint(conditions)` in a logic tree: some related row meets all of them."""

    name: str
    hint: str | None
    negated: bool
    branches: "tuple[Condition, ...]"


Condition = Filter | Logic | Related


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """One term of `order`; with `relation` it orders by a column of a to-one embed."""

    field: Field
    descending: bool | None = None
    nulls: str | None = None
    relation: str | None = None


# --- select ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectColumn:
    """`alias:field::cast.aggregate()::aggregate_cast`; the name `*` alone stands for all columns."""

    field: Field
    alias: str | None = None
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None

    @property
    def is_star(self) -> bool:
        return self.field.name == "*" and not self.aggregate

    @property
    def is_count(self) -> bool:
        """`count()`: the number of rows, of no column."""
        return self.field.name == "*" and self.aggregate == "count"


@dataclass(frozen=True, slots=True)
class SelectEmbed:
    """`alias:name!hint!join(select)`, or `...name(select)` when it is a spread."""

    name: str
    select: "tuple[SelectColumn | SelectEmbed, ...]"
    alias: str | None = None
    hint: str | None = None
    join: str | None = None
    is_spread: bool = False


SelectItem = SelectColumn | SelectEmbed
STAR = SelectColumn(Field("*"))


# --- request ---------------------------------------------------------------------------------------------------


class Action(StrEnum):
    """What a request wants done."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    UPSERT = "upsert"  # PUT of one row
    DELETE = "delete"
    CALL = "call"
    DESCRIBE = "describe"  # the root: OpenAPI
    OPTIONS = "options"


@dataclass(frozen=True, slots=True)
class Preferences:
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


@dataclass(frozen=True, slots=True)
class MediaType:
    """One type of `Accept`, with its parameters in the order sent."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    def parameter(self, name: str) -> str | None:
        return next((value for key, value in self.parameters if key == name), None)


@dataclass(frozen=True, slots=True)
class Range:
    """Rows from `offset`, at most `limit` of them (None: all)."""

    offset: Bound = 0
    limit: Bound | None = None


ALL_ROWS = Range()


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the order of rows: the values of a row's order terms as texts, and which side of it is wanted."""

    values: tuple[str | None, ...]
    is_backward: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The query string, parsed. Mappings by path hold the root under `()`."""

    select: tuple[SelectItem, ...] = (STAR,)
    filters: tuple[tuple[Path, Filter], ...] = ()
    logic: tuple[tuple[Path, Logic], ...] = ()
    order: tuple[tuple[Path, tuple[OrderTerm, ...]], ...] = ()
    ranges: tuple[tuple[Path, Range], ...] = ()
    columns: tuple[str, ...] | None = None
    on_conflict: tuple[str, ...] | None = None
    distinct: tuple[tuple[Path, tuple[Field, ...]], ...] = ()
    """Rows that differ: in these fields, or as a whole where there are none."""
    having: tuple[tuple[Path, Condition], ...] = ()
    key: tuple[str, ...] | None = None
    """Columns that say which row each object of a PATCH changes."""
    nested: bool = False
    """The body holds related rows as well."""
    cursor: "Cursor | None" = None
    arguments: tuple[tuple[str, Operand], ...] = ()
    """Arguments of a function that is read by GET."""
    canonical: tuple[str | tuple[str, int], ...] = ()
    """The parameters sorted by key, for `Content-Location`; a pair is a value: its prefix and the slot of the rest."""
    without_cursor: tuple[str | tuple[str, int], ...] = ()
    """The same, for `Link`, which brings cursors of its own."""


@dataclass(frozen=True, slots=True)
class Payload:
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


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request as the REST interface understands it; knows nothing of the database yet."""

    action: Action
    method: str
    schema: str
    target: str
    """Relation or function; empty for the root."""
    query: Query
    preferences: Preferences
    accept: tuple[MediaType, ...]
    range: Range
    content_type: str = "application/json"
    negotiated_schema: bool = False
    """The answer names the schema used (`Content-Profile`)."""

    @property
    def is_head(self) -> bool:
        return self.method == "HEAD"

    @property
    def is_rpc(self) -> bool:
        return self.action is Action.CALL


# --- plan ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A column to select: where it comes from and how it is named."""

    field: "PlannedField"
    alias: str | None = None
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedField:
    """A field resolved against the catalog.

    `function` is set for a computed field; `is_json` when the arrows apply to the column directly; `tsvector` when the
    left side of a full-text operator needs no conversion; `to_json`/`from_text` convert a domain representation; `cast`
    is the type that a filter wants it in.
    """

    name: str
    path: tuple[JsonStep, ...] = ()
    cast: str | None = None
    function: tuple[str, str] | None = None
    is_json: bool = False
    is_tsvector: bool = False
    to_json: tuple[str, str] | None = None
    from_text: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PlannedFilter:
    """A filter on a resolved field."""

    field: PlannedField
    operator: str
    operand: Operand | tuple[str, ...] | PlannedField
    negated: bool = False
    quantifier: str | None = None
    config: str | None = None
    aggregate: str | None = None


@dataclass(frozen=True, slots=True)
class EmbedNull:
    """A null filter on an embed: parents without a match, or (`has_match`) with one."""

    embed: str
    """Alias of the embed's join in the statement."""
    has_match: bool


@dataclass(frozen=True, slots=True)
class PlannedLogic:
    """A tree of resolved conditions."""

    operator: str
    negated: bool
    branches: "tuple[PlannedCondition, ...]"


@dataclass(frozen=True, slots=True)
class PlannedRelated:
    """Whether some related row (of `source`, named `alias` in the test) meets conditions."""

    relationship: Relationship | ComputedRelationship
    source: tuple[str, str]
    alias: str
    negated: bool
    where: "tuple[PlannedCondition, ...]"


PlannedCondition = PlannedFilter | EmbedNull | PlannedLogic | PlannedRelated


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """A term of ORDER BY; `embed` is the alias of a to-one embed's join, `is_lifted` when a spread carries the column."""

    field: PlannedField
    descending: bool | None
    nulls: str | None
    embed: str | None = None
    is_lifted: bool = False
    may_be_null: bool = True


@dataclass(frozen=True, slots=True)
class SpreadColumn:
    """A column that a spread lifts into its parent.

    `carried` is its name in the join, `name` the key in the output; an aggregate of a to-one spread happens in the parent.
    """

    carried: str
    name: str
    aggregate: str | None = None
    aggregate_cast: str | None = None


@dataclass(frozen=True, slots=True)
class Embed:
    """An embedded resource: how its rows join and under which name they appear."""

    read: "Read"
    key: str
    """Name in the output."""
    alias: str
    """Name of the lateral join in the statement."""
    relationship: Relationship | ComputedRelationship
    is_to_one: bool
    is_inner: bool = False
    is_spread: bool = False
    is_hidden: bool = False
    """`rel()`: filtered on, not shown."""
    drops_parents: bool = False
    """An inner join or a null filter, here or deeper: the count of parents depends on it."""
    spread: tuple[SpreadColumn, ...] = ()
    ordered_by: "tuple[PlannedOrder, ...]" = ()
    """Terms by which the parent orders; the join carries their columns."""


@dataclass(frozen=True, slots=True)
class Read:
    """One relation to read, with its embeds: a node of the tree."""

    source: tuple[str, str]
    """Relation, or function for a computed relationship; `("", name)` is a name of the statement itself."""
    alias: str
    """Name of the relation in the statement; for the root of a plain read the relation's own name."""
    items: tuple[PlannedColumn | Embed, ...]
    """What is selected, in the order of the output."""
    where: tuple[PlannedCondition, ...] = ()
    order: tuple[PlannedOrder, ...] = ()
    range: Range = ALL_ROWS
    groups: bool = False
    """Some column is aggregated, here or in a to-one spread: the rest form GROUP BY."""
    row_type: tuple[str, str] | None = None
    """The relation whose row type the rows have, where `source` itself does not say so."""
    having: tuple[PlannedCondition, ...] = ()
    distinct: tuple[PlannedField, ...] | None = None
    """Only rows that differ: in these fields, or as a whole where there are none."""
    row_columns: tuple[str, ...] = ()
    """The columns that make a row of `row_type`, where the rows have others besides."""
    is_paged: bool = False
    """A page of a cursor: the order is total, and the rows beside the page are looked for."""
    cursor: Cursor | None = None
    """With `is_paged`: the row beside which the page lies; None is the first page."""

    @property
    def embeds(self) -> tuple[Embed, ...]:
        return tuple(item for item in self.items if isinstance(item, Embed))


@dataclass(frozen=True, slots=True)
class WriteColumn:
    """A column that a payload fills."""

    name: str
    type: str
    default: str | None = None
    from_json: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """An insert, update, upsert or delete."""

    action: Action
    relation: Relation
    columns: tuple[WriteColumn, ...] = ()
    where: tuple[PlannedCondition, ...] = ()
    conflict: tuple[str, ...] = ()
    resolution: str | None = None
    fills_defaults: bool = False
    is_array: bool = False
    is_no_op: bool = False
    """An update of nothing."""
    returning: tuple[str, ...] = ()
    location: tuple[str, ...] = ()
    """Key columns that make the `Location` header."""
    key_check: tuple[tuple[str, Operand], ...] = ()
    """PUT: key columns with the values of the URL."""
    matched_by: tuple[str, ...] = ()
    """PATCH with many rows: columns by which a row of the payload finds the row it changes."""


@dataclass(frozen=True, slots=True)
class NestedTie:
    """How rows of a nested insert refer to rows of one before: its number, and pairs (own column, their column)."""

    insert: int
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class NestedInsert:
    """The rows that a nested insert brings to one relation.

    `rows` is a JSON array of `{"row": columns, "of": [number of the row referred to, or null, for each tie]}`.
    """

    relation: Relation
    columns: tuple[WriteColumn, ...]
    ties: tuple[NestedTie, ...]
    rows: bytes
    count: int
    keeps: tuple[str, ...]
    """Columns remembered for later inserts, and for the answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function call."""

    function: Function
    arguments: tuple[str, ...] = ()
    """Names that are given."""
    direct: tuple[tuple[str, tuple[Operand, ...]], ...] = ()
    """By GET or form: name with its text values (several for a variadic one)."""
    takes_json: bool = False
    """Arguments come from a JSON object in the payload."""
    takes_body: bool = False
    """The single unnamed argument takes the raw payload."""


class Shape(StrEnum):
    """How the rows become a body."""

    ARRAY = "array"
    SINGLE = "single"
    """The first row alone (object media type, or a function with one result)."""
    CSV = "csv"
    HANDLER = "handler"
    GEOJSON = "geojson"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Output:
    """The negotiated media type."""

    shape: Shape
    content_type: str
    strips_nulls: bool = False
    is_singular: bool = False
    """Exactly one row is demanded."""
    handler: MediaHandler | None = None
    explain: "Explain | None" = None


@dataclass(frozen=True, slots=True)
class Explain:
    """An execution plan is wanted instead of the rows."""

    format: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request does, decided against the catalog."""

    request: ApiRequest
    read: Read
    write: Write | None = None
    call: Call | None = None
    relation: Relation | None = None
    output: Output = Output(Shape.ARRAY, "application/json; charset=utf-8")
    read_only: bool = True
    isolation: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of the function that hold for the transaction."""
    timezone: str | None = None
    end: End = End.COMMIT
    tx_applied: bool = False
    """`Prefer: tx` took effect."""
    max_affected: int | None = None
    counts_exactly: bool = False
    counts_by_plan: bool = False
    count_limit: int | None = None
    """With an estimated count: count up to this many rows and one more."""
    warnings: tuple[tuple[str, str], ...] = ()
    """(name, alias) of embeds that were referenced by name although they have an alias."""
    returns_rows: bool = True
    nested: tuple[NestedInsert, ...] = ()
    """A nested insert: what is done before the statement that answers, in this order."""
    root: int = 0
    """Which of them brings the rows of the relation asked for."""


# --- query and result ------------------------------------------------------------------------------------------


class Out(StrEnum):
    """The columns that a statement may give, in the order of `Prepared.columns`."""

    BODY = "body"
    PAGE_TOTAL = "page_total"
    TOTAL = "total"
    HEADERS = "headers"
    STATUS = "status"
    LOCATION = "location"
    INSERTED = "inserted"
    EDGES = "edges"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rendered statement: text with `$1`..., parameters with slots, and what its columns are.

    `estimate` is the EXPLAIN of the count query, when a planned count is wanted.
    """

    text: str
    params: tuple[Param, ...]
    columns: tuple[Out, ...] = ()
    before: "tuple[Prepared, ...]" = ()
    """Statements that are run before it."""
    estimate: "Prepared | None" = None


PAYLOAD = Slot(-1)
"""The place of the request's body among the parameters."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Both ends of a cursor's page: the order values of its first and last row, and whether more rows follow."""

    first: tuple[str | None, ...] | None
    last: tuple[str | None, ...] | None
    has_more: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What the database answered. A long `body` is still on its way: somebody must read or abandon it."""

    body: bytes | LongValue = b""
    page_total: int = 0
    total: int | None = None
    location: tuple[str | None, ...] = ()
    inserted: int | None = None
    edges: "Edges | None" = None
    headers: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What the steps need of the settings, resolved once per configuration."""

    schemas: tuple[str, ...]
    max_rows: int | None
    tx_end: str
    aggregates_enabled: bool
    plan_enabled: bool
    legacy_target_names: bool
    root_spec: str | None
    openapi_mode: str
    hoisted: frozenset[str]
    anonymous_role: str | None
    similar: Callable[[str, list[str], float], str | None] = field(repr=False, default=lambda *_: None)
