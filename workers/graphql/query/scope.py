"""Names inside a statement: which alias stands for the rows of a place, and which of their columns are used. Pure.

Aliases begin with `@`, which no name of GraphQL does, so a response key never hides one.
"""

from collections.abc import Callable
from itertools import count

from workers.sql.compose import Sql, catalog_text, concat, ident, join, raw

ROW = "@row"
"""The whole row, as a column of a sub-select."""


class Aliases:
    """Gives every place in a statement an alias of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def next(self) -> str:
        """Give a new alias."""
        return f"@{next(self._numbers)}"


class Scope:
    """The rows of a place: a table or function itself, or a sub-select, which has to give what is used of it."""

    def __init__(self, alias: str, *, is_derived: bool = False) -> None:
        self.alias = alias
        self._is_derived = is_derived
        self._used: dict[str, None] = {}
        self._computed: dict[str, Callable[[Scope], Sql]] = {}
        self._uses_row = False

    def column(self, name: str) -> Sql:
        """Give a column of the row."""
        self._used[name] = None
        return concat(ident(self.alias), raw("."), ident(name))

    def computed(self, name: str, write: "Callable[[Scope], Sql]") -> Sql:
        """Give a value that is computed from the row; a sub-select gives it under a name."""
        if not self._is_derived:
            return write(self)
        self._computed[name] = write
        return concat(ident(self.alias), raw("."), ident(name))

    def inner(self) -> "Scope":
        """Give a place for rows of another table inside a condition or value on this row."""
        return Scope(f"{self.alias}r")

    def row(self) -> Sql:
        """Give the row as a value of its table's type."""
        self._uses_row = True
        return concat(ident(self.alias), raw("."), ident(ROW)) if self._is_derived else ident(self.alias)

    def given_by(self, alias: str, *, has_row: bool = False) -> Sql:
        """Give the select list by which a table under another alias yields what is used here.

        `has_row`: it is no table, but holds the whole row as a column.
        """
        items = [concat(ident(alias), raw("."), ident(name)) for name in self._used]
        items += [called(write(Scope(alias)), name) for name, write in self._computed.items()]
        if self._uses_row:
            whole = concat(ident(alias), raw("."), ident(ROW)) if has_row else ident(alias)
            items.append(called(whole, ROW))
        return join(", ", items) if items else raw("1")


def called(expression: Sql, name: str) -> Sql:
    """Give an item of a select list with its name."""
    return concat(expression, raw(" as "), ident(name))


def cast(expression: Sql, type: str) -> Sql:
    """Cast to a type, as the catalog spells it."""
    return concat(expression, raw("::"), catalog_text(type))
