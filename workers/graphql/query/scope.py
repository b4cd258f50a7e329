"""Names inside a statement: the alias of a row source, and which of its columns the statement uses. Pure.

A sub-select has to return what the code around it uses, and no more: `RowScope` records each column as it is written
into the statement, and `select_list` returns the list afterwards. It must therefore be called last.
Aliases begin with `@`, which no GraphQL name does, so they never collide with a response key.
"""

from collections.abc import Callable
from itertools import count

from workers.sql.compose import Sql, catalog_text, concat, ident, join, qualified, raw

ROW = "@row"
"""The whole row, as a column of a sub-select."""


class Aliases:
    """Numbers the aliases of one statement."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def next(self) -> str:
        """Return a new alias."""
        return f"@{next(self._numbers)}"


class RowScope:
    """The rows under one alias: a table or function itself, or a sub-select (`is_derived`)."""

    def __init__(self, alias: str, *, is_derived: bool = False) -> None:
        self.alias = alias
        self._is_derived = is_derived
        self._used_columns: dict[str, None] = {}
        self._computed: dict[str, Callable[[RowScope], Sql]] = {}
        self._uses_row = False

    def column(self, name: str) -> Sql:
        """Return a column of the row, and record that it is used."""
        self._used_columns[name] = None
        return qualified(self.alias, name)

    def computed(self, name: str, write: "Callable[[RowScope], Sql]") -> Sql:
        """Return a value computed from the row; a sub-select computes it inside and returns it under `name`."""
        if not self._is_derived:
            return write(self)
        self._computed[name] = write
        return qualified(self.alias, name)

    def related_scope(self) -> "RowScope":
        """Return the scope of another table's rows, for a condition or value of this row."""
        return RowScope(f"{self.alias}r")

    def row(self) -> Sql:
        """Return the row as a value of its table's type."""
        self._uses_row = True
        return qualified(self.alias, ROW) if self._is_derived else ident(self.alias)

    def select_list(self, alias: str, *, has_row: bool = False) -> Sql:
        """Return the select list with everything used here, read from the source under another alias.

        `has_row`: the source is not a table, but has the whole row as its column `ROW`.
        """
        items = [qualified(alias, name) for name in self._used_columns]
        items += [aliased(write(RowScope(alias)), name) for name, write in self._computed.items()]
        if self._uses_row:
            row = qualified(alias, ROW) if has_row else ident(alias)
            items.append(aliased(row, ROW))
        return join(", ", items) if items else raw("1")


def aliased(expression: Sql, name: str) -> Sql:
    """Return an item of a select list with its name."""
    return concat(expression, raw(" as "), ident(name))


def cast(expression: Sql, type: str) -> Sql:
    """Return a cast to a type; `type` is its name as the catalog prints it."""
    return concat(expression, raw("::"), catalog_text(type))
