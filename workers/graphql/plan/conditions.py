"""Operands, conditions and sort terms of a plan. Pure data.

Columns are named as the database names them. What a client sent is inside an `Operand`.
"""

from dataclasses import dataclass, replace

from workers.graphql.model import Name
from workers.sql.compose import Param


@dataclass(frozen=True, slots=True)
class Operand:
    """A parameter, and the SQL type that it is cast to."""

    param: Param
    type: str


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """Rows of a table that are related to the surrounding row: pairs (column of the table, column of the row)."""

    table: Name
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """`column operator operand`. `is_any`: the operand is an array, and the comparison is true for any element."""

    column: str
    operator: str
    operand: Operand
    is_any: bool = False


@dataclass(frozen=True, slots=True)
class NullTest:
    """`column is [not] null`."""

    column: str
    is_null: bool


@dataclass(frozen=True, slots=True)
class Conjunction:
    """True if every part is true."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Disjunction:
    """True if at least one part is true."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Negation:
    """True if the part is false. Unknown stays unknown, as SQL's `not`; see `NotTrue`."""

    part: "Condition"


@dataclass(frozen=True, slots=True)
class RelatedRowExists:
    """True if at least one related row meets the condition."""

    join: "RelatedRows"
    condition: "Condition | None" = None


@dataclass(frozen=True, slots=True)
class NotTrue:
    """True if the part is false or unknown (null)."""

    part: "Condition"


Condition = ColumnComparison | NullTest | Conjunction | Disjunction | Negation | RelatedRowExists | NotTrue


@dataclass(frozen=True, slots=True)
class RelatedValue:
    """A value of related rows, reached over several joins: a column of the last row, or an aggregate over the last rows."""

    joins: "tuple[RelatedRows, ...]"
    column: str = ""
    operator: str = ""
    """`count`, `sum`, `avg`, `min`, `max`; empty if the last join is to one row."""
    is_boolean: bool = False
    """The column is boolean: Postgres has other aggregate functions for it."""


@dataclass(frozen=True, slots=True)
class SortTerm:
    """A column to order by, or a value of related rows. For the latter `column` is an alias that no column has."""

    column: str
    type: str
    is_descending: bool = False
    nulls_first: bool = False
    is_nullable: bool = False
    related: RelatedValue | None = None

    def reversed(self) -> "SortTerm":
        """Return the term for the reverse order."""
        return replace(self, is_descending=not self.is_descending, nulls_first=not self.nulls_first)
