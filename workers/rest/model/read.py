"""What plan makes of a read: the tree of relations, its columns, conditions and order resolved against the catalog."""

from msgspec import Struct

from workers.database.schema_cache.catalog import ComputedRelationship, Relationship
from workers.rest.model.request import ALL_ROWS, JsonStep, Operand, PageCursor, RowRange


class PlannedColumn(Struct, frozen=True):
    """A column to select: where it comes from and how it is named."""

    field: "PlannedField"
    alias: str | None = None
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None


class PlannedField(Struct, frozen=True):
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


class PlannedFilter(Struct, frozen=True):
    """A filter on a resolved field."""

    field: PlannedField
    operator: str
    operand: Operand | tuple[str, ...] | PlannedField
    negated: bool = False
    quantifier: str | None = None
    config: str | None = None
    aggregate: str | None = None


class EmbedNull(Struct, frozen=True):
    """A null filter on an embed: parents without a match, or (`has_match`) with one."""

    embed: str
    """Alias of the embed's join in the statement."""
    has_match: bool


class PlannedLogic(Struct, frozen=True):
    """A tree of resolved conditions."""

    operator: str
    negated: bool
    branches: "tuple[PlannedCondition, ...]"


class PlannedRelated(Struct, frozen=True):
    """Whether some related row (of `source`, named `alias` in the test) meets conditions."""

    relationship: Relationship | ComputedRelationship
    source: tuple[str, str]
    alias: str
    negated: bool
    where: "tuple[PlannedCondition, ...]"


PlannedCondition = PlannedFilter | EmbedNull | PlannedLogic | PlannedRelated


class PlannedOrder(Struct, frozen=True):
    """A term of ORDER BY; `embed` is the alias of a to-one embed's join, `is_lifted` when a spread carries the column."""

    field: PlannedField
    descending: bool | None
    nulls: str | None
    embed: str | None = None
    is_lifted: bool = False
    may_be_null: bool = True


class SpreadColumn(Struct, frozen=True):
    """A column that a spread lifts into its parent.

    `carried` is its name in the join, `name` the key in the output; an aggregate of a to-one spread happens in the parent.
    """

    carried: str
    name: str
    aggregate: str | None = None
    aggregate_cast: str | None = None
    is_json: bool = False
    """The value is an embed or an array of rows, of type json, which has no equality to group by."""


class Embed(Struct, frozen=True):
    """An embedded resource: how its rows join and under which name they appear."""

    read: "RelationRead"
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


class RelationRead(Struct, frozen=True):
    """One relation to read, with its embeds: a node of the tree."""

    source: tuple[str, str]
    """Relation, or function for a computed relationship; `("", name)` is a name of the statement itself."""
    alias: str
    """Name of the relation in the statement; for the root of a plain read the relation's own name."""
    items: tuple[PlannedColumn | Embed, ...]
    """What is selected, in the order of the output."""
    where: tuple[PlannedCondition, ...] = ()
    order: tuple[PlannedOrder, ...] = ()
    range: RowRange = ALL_ROWS
    groups: bool = False
    """Some column is aggregated, here or in a to-one spread: the rest form GROUP BY."""
    row_type: tuple[str, str] | None = None
    """The relation whose row type the rows have, where `source` itself does not say so."""
    having: tuple[PlannedCondition, ...] = ()
    distinct: tuple[PlannedField, ...] | None = None
    """Only rows that differ: in these fields, or as a whole where there are none."""
    row_columns: tuple[str, ...] = ()
    """The columns that make a row of `row_type`, where the rows have further ones."""
    is_paged: bool = False
    """A page of a cursor: the order is total, and the rows beside the page are looked for."""
    cursor: PageCursor | None = None
    """With `is_paged`: the row beside which the page lies; None is the first page."""

    @property
    def embeds(self) -> tuple[Embed, ...]:
        return tuple([item for item in self.items if isinstance(item, Embed)])
