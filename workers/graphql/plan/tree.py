"""The plan of a root field: a tree of data, from the plan step to the query step. Pure.

Columns are named as the database names them. What a client sent is inside `Operand`s; everything else comes from the
schema of the role.
"""

from dataclasses import dataclass
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


Condition = Compare | IsNull | All | Any | Not


@dataclass(frozen=True, slots=True)
class Order:
    """One column to order by."""

    column: str
    type: str
    is_descending: bool = False
    nulls_first: bool = False
    is_nullable: bool = False

    def reversed(self) -> "Order":
        """Give the order the other way round."""
        return Order(self.column, self.type, not self.is_descending, not self.nulls_first, self.is_nullable)


# --- where rows come from ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A function called by the names of its parameters."""

    function: Name
    arguments: tuple[tuple[str, Operand], ...]
    takes_row: bool = False
    """The row of the surrounding object is its argument."""
    returns_set: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of a table that belong to the surrounding row: pairs (column there, column here)."""

    table: Name
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a table that the role sees."""

    table: Name


Source = Table | Join | Call


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


Field = (
    TypeName | ColumnValue | NodeId | Row | ComputedValue | Connection | Edges | Cursor | RowOfEdge | PageInfo | PageFact
    | TotalCount | Aggregate | Fold | AffectedCount | Records
)  # fmt: skip
Fields = tuple[tuple[str, Field], ...]
"""Response key and what stands under it, in the order of the document."""


# --- roots ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Insert:
    """New rows. Either all have the same columns and come as one operand, or each has its own operands."""

    table: Name
    columns: tuple[tuple[str, str], ...]
    """Column and the type to cast to."""
    fields: Fields
    rows: tuple[tuple[Operand | None, ...], ...] = ()
    """Operands in the order of the columns; None takes the default."""
    packed: Operand | None = None
    """All rows: a JSON array of arrays of texts and nulls."""


@dataclass(frozen=True, slots=True)
class Update:
    """Changes to the rows under a condition."""

    table: Name
    assignments: tuple[tuple[str, Operand], ...]
    condition: Condition | None
    at_most: Operand
    fields: Fields


@dataclass(frozen=True, slots=True)
class Delete:
    """Removal of the rows under a condition."""

    table: Name
    condition: Condition | None
    at_most: Operand
    fields: Fields


Root = Connection | Row | ComputedValue | Insert | Update | Delete
