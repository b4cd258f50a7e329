"""The plan of a root field: a tree of data that the plan step builds and the query step turns into SQL. Pure.

Columns are named as the database names them. What a client sent is inside `Operand`s; everything else comes from the
schema of the role.
"""

from dataclasses import dataclass
from enum import StrEnum

from workers.graphql.model import Name, ValueType
from workers.graphql.plan.conditions import Condition, Operand, RelatedRows, SortTerm

# --- where rows come from ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SqlFunctionCall:
    """A function called by the names of its parameters."""

    function: Name
    arguments: tuple[tuple[str, Operand], ...]
    takes_row: bool = False
    """The row of the surrounding object is the first argument (a computed field)."""
    returns_set: bool = False
    is_volatile: bool = False


@dataclass(frozen=True, slots=True)
class MaterializedCall:
    """The rows of a volatile function, which the statement calls once and then reads in several places."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table that the role sees."""

    table: Name


RowSource = TableRows | RelatedRows | SqlFunctionCall | MaterializedCall


# --- fields --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeName:
    """`__typename`."""

    name: str


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column, converted to JSON by its type."""

    column: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class NodeId:
    """The global id of the row."""

    table: Name
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowPlan:
    """One row or null, of another table or of a function."""

    source: RowSource
    fields: "FieldPlans"
    conditions: Condition | None = None


@dataclass(frozen=True, slots=True)
class ComputedValue:
    """A scalar or an array from a function."""

    call: SqlFunctionCall
    type: ValueType


class PageInfoField(StrEnum):
    """Fields of PageInfo."""

    HAS_NEXT = "hasNextPage"
    HAS_PREVIOUS = "hasPreviousPage"
    START = "startCursor"
    END = "endCursor"


@dataclass(frozen=True, slots=True)
class EdgeList:
    """The list of edges."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class EdgeCursor:
    """The cursor of an edge: its values of the sort terms."""


@dataclass(frozen=True, slots=True)
class EdgeNode:
    """The row of an edge."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class PageInfo:
    """`pageInfo`: whether there are rows before and after the page, and its first and last cursor."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class TotalCount:
    """Number of rows of all pages."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Aggregates over the rows of all pages."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class ColumnAggregate:
    """`sum`, `avg`, `min` or `max` of columns."""

    operator: str
    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class GroupAggregate:
    """An aggregate computed for each group: `count`, or `sum`, `avg`, `min`, `max` of a column."""

    operator: str
    column: str = ""
    is_boolean: bool = False


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The values that the rows of a group have in common. Its columns are the aliases in `GroupsPlan.keys`."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Number of rows of a group. `name`: the alias of the aggregate."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupsPlan:
    """The rows of all pages in groups. Condition, order and fields refer to keys and aggregates by their aliases."""

    keys: tuple[tuple[str, str], ...]
    """Name and column."""
    aggregates: tuple[tuple[str, GroupAggregate], ...]
    fields: "FieldPlans"
    """The columns in a `ColumnAggregate` are aliases in `aggregates`."""
    order: tuple[SortTerm, ...]
    limit: "Operand | int"
    condition: Condition | None = None
    """On keys and aggregates."""
    offset: Operand | None = None


@dataclass(frozen=True, slots=True)
class AffectedCount:
    """Number of rows that a mutation wrote."""


@dataclass(frozen=True, slots=True)
class Records:
    """The rows a mutation wrote."""

    fields: "FieldPlans"


@dataclass(frozen=True, slots=True)
class ConnectionPlan:
    """A page of rows with its selected fields."""

    source: RowSource
    primary_key: tuple[str, ...]
    order: tuple[SortTerm, ...]
    limit: "Operand | int"
    fields: "FieldPlans"
    condition: Condition | None = None
    offset: Operand | None = None
    cursor: tuple[Operand, ...] | None = None
    is_backward: bool = False
    row_bound: int | None = None
    """Literal upper bound of the rows up to the end of the page (`PagePlan.row_bound`)."""


FieldPlan = (
    TypeName | ColumnValue | NodeId | RowPlan | ComputedValue | ConnectionPlan | EdgeList | EdgeCursor | EdgeNode | PageInfo | PageInfoField
    | TotalCount | Aggregate | ColumnAggregate | AffectedCount | Records | GroupsPlan | GroupKey | GroupCount
)  # fmt: skip
FieldPlans = tuple[tuple[str, FieldPlan], ...]
"""Response key and plan of each field, in the order of the document."""


# --- roots ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConflictClause:
    """`on conflict` of an insert: a row that exists already is skipped, or `columns` of it take the new values."""

    constraint: str
    columns: tuple[str, ...] = ()
    condition: Condition | None = None
    """Condition on the existing row; a row that does not meet it is left unchanged."""


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """New rows: either all with the same columns in one operand (`packed_rows`), or each with its own operands (`rows`)."""

    table: Name
    columns: tuple[tuple[str, str], ...]
    """Column and the type to cast to."""
    fields: FieldPlans
    visible_column: str
    """A column that the role may select. It is always in `returning`, because Postgres applies the select policies only
    to a write that reads columns. So a write affects the same rows whether the client selects columns of them or not."""
    rows: tuple[tuple[Operand | None, ...], ...] = ()
    """Operands in the order of the columns; None takes the default."""
    packed_rows: Operand | None = None
    """All rows as one JSON parameter: an array of arrays of texts and nulls."""
    conflict: ConflictClause | None = None


@dataclass(frozen=True, slots=True)
class InsertedValue:
    """A value that an earlier insert of the same field generated, by number of the insert, number of the row, and column."""

    insert: int
    row: int
    column: str
    type: str


@dataclass(frozen=True, slots=True)
class NewRows:
    """One insert of a nested insert: rows of one table."""

    table: Name
    columns: tuple[str, ...]
    rows: tuple[tuple[Operand | InsertedValue | None, ...], ...]
    """In the order of the columns; None takes the default."""
    returned_columns: tuple[str, ...]
    """Columns whose values later inserts or the answer need."""


@dataclass(frozen=True, slots=True)
class NestedInsertPlan:
    """New rows with related rows, one insert after another; rows that others refer to come first."""

    table: Name
    inserts: tuple[NewRows, ...]
    root: int
    """Index of the insert with the field's own rows."""
    key: tuple[tuple[str, str], ...]
    """Columns and types of their primary key, by which the answer reads them again."""
    fields: FieldPlans


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """Update of the rows that meet a condition; fails if more than `at_most` rows do."""

    table: Name
    assignments: tuple[tuple[str, Operand], ...]
    condition: Condition | None
    at_most: Operand
    fields: FieldPlans
    visible_column: str
    """As of `InsertPlan`."""


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """Deletion of the rows that meet a condition; fails if more than `at_most` rows do."""

    table: Name
    condition: Condition | None
    at_most: Operand
    fields: FieldPlans
    visible_column: str
    """As of `InsertPlan`."""


RootPlan = ConnectionPlan | RowPlan | ComputedValue | InsertPlan | NestedInsertPlan | UpdatePlan | DeletePlan
