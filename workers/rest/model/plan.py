"""What plan gives: a `RestPlan`, with the write or the call it does and the form of its answer."""

from enum import StrEnum

from msgspec import Struct

from workers.database.schema_cache.catalog import CatalogFunction, CatalogRelation, MediaHandler
from workers.database.transactions.model import TransactionEnd
from workers.rest.model.read import PlannedCondition, RelationRead
from workers.rest.model.request import ApiRequest, Operand, RequestAction


class WriteColumn(Struct, frozen=True):
    """A column that a payload fills."""

    name: str
    type: str
    default: str | None = None
    from_json: tuple[str, str] | None = None


class RelationWrite(Struct, frozen=True):
    """An insert, update, upsert or delete."""

    action: RequestAction
    relation: CatalogRelation
    columns: tuple[WriteColumn, ...] = ()
    where: tuple[PlannedCondition, ...] = ()
    conflict: tuple[str, ...] = ()
    resolution: str | None = None
    fills_defaults: bool = False
    is_array: bool = False
    is_no_op: bool = False
    """An update of nothing."""
    is_shown: bool = False
    """The answer shows the changed rows."""
    returning: tuple[str, ...] = ()
    location: tuple[str, ...] = ()
    """Key columns that make the `Location` header."""
    key_check: tuple[tuple[str, Operand], ...] = ()
    """PUT: key columns with the values of the URL."""
    matched_by: tuple[str, ...] = ()
    """PATCH with many rows: columns by which a row of the payload finds the row it changes."""

    @property
    def may_repeat_keys(self) -> bool:
        """Whether two rows of the payload may name one row: `1` and `"01"` do where the column is a number."""
        return bool(self.matched_by) and self.is_array and not self.is_no_op


class NestedTie(Struct, frozen=True):
    """How rows of a nested insert refer to rows of one before: its number, and pairs (own column, their column)."""

    insert: int
    pairs: tuple[tuple[str, str], ...]


class RelationInsert(Struct, frozen=True):
    """The rows that a nested insert brings to one relation.

    `rows` is a JSON array of `{"row": columns, "of": [number of the row referred to, or null, for each tie]}`.
    """

    relation: CatalogRelation
    columns: tuple[WriteColumn, ...]
    ties: tuple[NestedTie, ...]
    rows: bytes
    count: int
    keeps: tuple[str, ...]
    """Columns remembered for later inserts, and for the answer."""


class FunctionCall(Struct, frozen=True):
    """A function call."""

    function: CatalogFunction
    arguments: tuple[str, ...] = ()
    """Names that are given."""
    direct: tuple[tuple[str, tuple[Operand, ...]], ...] = ()
    """By GET or form: name with its text values (several for a variadic one)."""
    takes_json: bool = False
    """Arguments come from a JSON object in the payload."""
    is_array: bool = False
    """That object is the first one of an array."""
    takes_body: bool = False
    """The single unnamed argument takes the raw payload."""


class BodyShape(StrEnum):
    """How the rows become a body."""

    ARRAY = "array"
    SINGLE = "single"
    """The first row alone (object media type, or a function with one result)."""
    CSV = "csv"
    HANDLER = "handler"
    GEOJSON = "geojson"
    NOTHING = "nothing"


class MediaOutput(Struct, frozen=True):
    """The negotiated media type."""

    shape: BodyShape
    content_type: str
    strips_nulls: bool = False
    is_singular: bool = False
    """Exactly one row is demanded."""
    handler: MediaHandler | None = None
    explain: "ExplainOptions | None" = None


class ExplainOptions(Struct, frozen=True):
    """An execution plan is wanted instead of the rows."""

    format: str
    options: tuple[str, ...]


class PlanBase(Struct, frozen=True, kw_only=True):
    """What all plans have: what one request does, decided against the catalog."""

    request: ApiRequest
    read: RelationRead
    """The rows of the answer: of a relation, or of what a write or a function returned."""
    output: MediaOutput = MediaOutput(BodyShape.ARRAY, "application/json; charset=utf-8")
    read_only: bool = True
    isolation: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of the function that apply to the transaction."""
    end: TransactionEnd = TransactionEnd.COMMIT
    tx_applied: bool = False
    """`Prefer: tx` took effect."""
    max_affected: int | None = None
    counts_exactly: bool = False
    counts_by_plan: bool = False
    count_limit: int | None = None
    """With an estimated count: count up to this many rows and one more."""
    guarded_limit: int | None = None
    """The same where rows may be hidden from the caller, also with a planned count; None: count all."""
    warnings: tuple[tuple[str, str], ...] = ()
    """(name, alias) of embeds that were referenced by name although they have an alias."""
    returns_rows: bool = True

    @property
    def may_write(self) -> bool:
        """Return whether it may change what is kept: `Prefer: tx=rollback` keeps nothing."""
        return not self.read_only and self.end is not TransactionEnd.ROLLBACK


class ReadPlan(PlanBase, frozen=True, kw_only=True):
    """A read of a relation."""

    relation: CatalogRelation | None = None
    """None for the description of the interface, which reads no relation."""


class WritePlan(PlanBase, frozen=True, kw_only=True):
    """An insert, update, upsert or delete, and the read of the rows that it returns."""

    write: RelationWrite
    relation: CatalogRelation
    read_only: bool = False
    nested: tuple[RelationInsert, ...] = ()
    """A nested insert: the inserts that run before the statement that answers, in this order."""
    root: int = 0
    """Index in `nested` of the insert into the relation of the request."""


class CallPlan(PlanBase, frozen=True, kw_only=True):
    """A function call, and the read of the rows that it returns."""

    call: FunctionCall
    relation: CatalogRelation | None = None
    """The relation whose rows the function returns."""


RestPlan = ReadPlan | WritePlan | CallPlan
