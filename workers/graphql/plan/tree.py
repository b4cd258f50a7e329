"""The plan of a root field: a tree of data, from the plan step to the query step. Pure.

Columns are named as the database names them. What a client sent is inside `Operand`s; everything else comes from the
schema of the role.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from workers.graphql.model import Name, ValueType
from workers.sql.compose import Param

# --- operands and conditions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operand:
    """A parameter and the type it is cast to, as SQL spells it."""

    param: Param
    type: str


@dataclass(frozen=True, slots=True)
class Compare:
    """`column operator operand`; `is_any`: the operand is an array, of which any element may fit."""

    column: str
    operator: str
    operand: Operand
    is_any: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column is [not] null`."""

    column: str
    is_null: bool


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; no part: true."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Any:
    """One part holds; no part: false."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Condition"


@dataclass(frozen=True, slots=True)
class Exists:
    """Some row of another table belongs to this one and meets the condition."""

    join: "Join"
    condition: "Condition | None" = None


@dataclass(frozen=True, slots=True)
class Untrue:
    """The part is false or unknown."""

    part: "Condition"


Condition = Compare | IsNull | All | Any | Not | Exists | Untrue


@dataclass(frozen=True, slots=True)
class RelatedValue:
    """A value of related rows: over each join in turn, a column of the last one's row, or a figure over its rows."""

    joins: "tuple[Join, ...]"
    column: str = ""
    operator: str = ""
    """`count`, `sum`, `avg`, `min`, `max`; empty where the last join leads to one row."""
    is_boolean: bool = False
    """The column holds booleans, which are folded by functions of their own."""


@dataclass(frozen=True, slots=True)
class Order:
    """One column to order by, or a value of related rows; then `column` is a name that no column has."""

    column: str
    type: str
    is_descending: bool = False
    nulls_first: bool = False
    is_nullable: bool = False
    related: RelatedValue | None = None

    def reversed(self) -> "Order":
        """Give the order the other way round."""
        return replace(self, is_descending=not self.is_descending, nulls_first=not self.nulls_first)


# --- where rows come from ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A function called by the names of its parameters."""

    function: Name
    arguments: tuple[tuple[str, Operand], ...]
    takes_row: bool = False
    """The row of the surrounding object is its argument."""
    returns_set: bool = False
    is_volatile: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """What a function gave that was called before, once for all places of a statement that look at its rows."""


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of a table that belong to the surrounding row: pairs (column there, column here)."""

    table: Name
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a table that the role sees."""

    table: Name


Source = Table | Join | Call | Called


# --- fields --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeName:
    """`__typename`."""

    name: str


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column as its type leaves."""

    column: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class NodeId:
    """The global id of the row."""

    table: Name
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row or null, of another table or of a function."""

    source: Source
    fields: "Fields"
    conditions: Condition | None = None


@dataclass(frozen=True, slots=True)
class ComputedValue:
    """A scalar or an array from a function."""

    call: Call
    type: ValueType


class PageFact(StrEnum):
    """Fields of PageInfo."""

    HAS_NEXT = "hasNextPage"
    HAS_PREVIOUS = "hasPreviousPage"
    START = "startCursor"
    END = "endCursor"


@dataclass(frozen=True, slots=True)
class Edges:
    """The list of edges."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where an edge stands in the order."""


@dataclass(frozen=True, slots=True)
class RowOfEdge:
    """The row of an edge."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What lies around the page."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class TotalCount:
    """How many rows there are on all pages."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Figures over the rows of all pages."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class Fold:
    """`sum`, `avg`, `min` or `max` of columns."""

    operator: str
    fields: "Fields"


@dataclass(frozen=True, slots=True)
class Figure:
    """What is computed for each group: `count`, or `sum`, `avg`, `min`, `max` of a column."""

    operator: str
    column: str = ""
    is_boolean: bool = False


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The values that the rows of a group have in common; its columns are named as `Groups` names keys."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class GroupCount:
    """How many rows a group has; `name` is that of the figure."""

    name: str


@dataclass(frozen=True, slots=True)
class Groups:
    """The rows of all pages in groups. Keys and figures have names, which condition, order and fields speak of."""

    keys: tuple[tuple[str, str], ...]
    """Name and column."""
    figures: tuple[tuple[str, Figure], ...]
    fields: "Fields"
    """`Fold`s hold columns that are named as the figures are."""
    order: tuple[Order, ...]
    limit: "Operand | int"
    condition: Condition | None = None
    """On keys and figures."""
    offset: Operand | None = None


@dataclass(frozen=True, slots=True)
class AffectedCount:
    """How many rows a mutation wrote."""


@dataclass(frozen=True, slots=True)
class Records:
    """The rows a mutation wrote."""

    fields: "Fields"


@dataclass(frozen=True, slots=True)
class Connection:
    """A page of rows with what is asked about it."""

    source: Source
    primary_key: tuple[str, ...]
    order: tuple[Order, ...]
    limit: "Operand | int"
    fields: "Fields"
    condition: Condition | None = None
    offset: Operand | None = None
    cursor: tuple[Operand, ...] | None = None
    is_backward: bool = False
    reach: int | None = None
    """So many rows hold the page and all before it."""


Field = (
    TypeName | ColumnValue | NodeId | Row | ComputedValue | Connection | Edges | Cursor | RowOfEdge | PageInfo | PageFact
    | TotalCount | Aggregate | Fold | AffectedCount | Records | Groups | GroupKey | GroupCount
)  # fmt: skip
Fields = tuple[tuple[str, Field], ...]
"""Response key and what stands under it, in the order of the document."""


# --- roots ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """What becomes of a new row that is there already: nothing, or columns of the old one are set to the new values."""

    constraint: str
    columns: tuple[str, ...] = ()
    condition: Condition | None = None
    """On the old row; where it does not hold, the row stays as it is."""


@dataclass(frozen=True, slots=True)
class Insert:
    """New rows. Either all have the same columns and come as one operand, or each has its own operands."""

    table: Name
    columns: tuple[tuple[str, str], ...]
    """Column and the type to cast to."""
    fields: Fields
    seen: str
    """A column that the role may select. It is returned whatever is asked for, so that a write touches only rows that
    the caller may see, and does the same whether the caller looks at them or not."""
    rows: tuple[tuple[Operand | None, ...], ...] = ()
    """Operands in the order of the columns; None takes the default."""
    packed: Operand | None = None
    """All rows: a JSON array of arrays of texts and nulls."""
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A value of a row that an earlier insert of the same field made: which insert, which row, which column."""

    insert: int
    row: int
    column: str
    type: str


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows of one table among those of a nested insert."""

    table: Name
    columns: tuple[str, ...]
    rows: tuple[tuple[Operand | Made | None, ...], ...]
    """In the order of the columns; None takes the default."""
    keeps: tuple[str, ...]
    """Columns that later inserts or the answer refer to."""


@dataclass(frozen=True, slots=True)
class NestedInsert:
    """New rows with the rows related to them, table after table: what is referred to comes first."""

    table: Name
    inserts: tuple[NewRows, ...]
    root: int
    """Place of the field's own rows among the inserts."""
    key: tuple[tuple[str, str], ...]
    """Column and type of their primary key, by which the answer finds them."""
    fields: Fields


@dataclass(frozen=True, slots=True)
class Update:
    """Changes to the rows under a condition."""

    table: Name
    assignments: tuple[tuple[str, Operand], ...]
    condition: Condition | None
    at_most: Operand
    fields: Fields
    seen: str
    """As of `Insert`."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Removal of the rows under a condition."""

    table: Name
    condition: Condition | None
    at_most: Operand
    fields: Fields
    seen: str
    """As of `Insert`."""


Root = Connection | Row | ComputedValue | Insert | NestedInsert | Update | Delete
