"""Which columns of views are never null: those that come unchanged from a column that is NOT NULL (pure).

Postgres stores the query of a view as a tree in text (`pg_rewrite.ev_action`), in which since version 16 each column of a table names the
outer joins that may make it null. A column is followed through subqueries, joins, groups, WITH and other views. What is not a plain
column (expressions, UNION, grouping sets, recursive WITH) may be null, unless the comment of the view's column has a line `@notNull`.

    {TYPE :key value ...}    a node; a value is a node, a list in parentheses, atoms, or <> for nothing
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(){}]|(?:[^\s(){}\\]|\\.)+', re.DOTALL)
_DIGITS = re.compile(r"[0-9]{1,10}")
_NOTHING = "<>"
_MOST_STEPS = 64
"""Views, subqueries and groups through which a column is followed."""

Node = dict[str, object]


class ViewRule(Struct, frozen=True):
    """The stored query of a view: its oid, its names, the tree, and the numbers of columns that a comment marks as not null."""

    id: int
    schema: str
    name: str
    tree: str
    marked: list[int] = []


@dataclass(frozen=True, slots=True)
class ViewColumns:
    """The queries of all views, and the columns of tables that are NOT NULL, by oid."""

    views: Mapping[int, Node]
    filled: Mapping[int, frozenset[int]]
    marked: Mapping[int, frozenset[int]]

    def is_filled(self, view: int, number: int) -> bool:
        """Return whether the column of this number of a view is never null."""
        query = self.views.get(view)
        return number in self.marked.get(view, ()) or (
            query is not None and self._target((query,), number, 0)
        )

    def _target(self, queries: tuple[Node, ...], number: int, steps: int) -> bool:
        """Return whether a column of the last of the queries, each inside of the one before, is never null."""
        query = queries[-1]
        if query.get("setOperations") != _NOTHING or query.get("groupingSets") != _NOTHING:
            return False
        targets = [target for target in _nodes(query, "targetList") if target.get("resno") == str(number)]
        return bool(targets) and self._column(queries, targets[0].get("expr"), steps)

    def _column(self, queries: tuple[Node, ...], expression: object, steps: int) -> bool:
        """Return whether an expression is a column that is never null in the last of the queries."""
        if not isinstance(expression, dict) or expression.get("") != "VAR" or steps > _MOST_STEPS:
            return False
        place, number = _number(expression.get("varno")), _number(expression.get("varattno"))
        entries = _nodes(queries[-1], "rtable")
        if (
            expression.get("varlevelsup") != "0"
            or expression.get("varnullingrels") != ["b"]  # before 16 there is none, and nothing is known
            or not 0 < place <= len(entries)
            or number < 1
        ):
            return False
        entry = entries[place - 1]
        match entry.get("rtekind"):
            case "0":  # a table or view
                table = _number(entry.get("relid"))
                view = self.views.get(table)
                return number in self.filled.get(table, ()) or (
                    view is not None and self._target((view,), number, steps + 1)
                )
            case "1":  # a subquery
                inner = entry.get("subquery")
                return isinstance(inner, dict) and self._target((*queries, inner), number, steps + 1)
            case "2" | "9" as kind:  # a join, or the groups
                listed = entry.get("joinaliasvars" if kind == "2" else "groupexprs")
                found = listed[number - 1] if isinstance(listed, list) and number <= len(listed) else None
                return self._column(queries, found, steps + 1)
            case "6":  # a query of WITH
                return self._with(queries, entry, number, steps)
        return False

    def _with(self, queries: tuple[Node, ...], entry: Node, number: int, steps: int) -> bool:
        """Return whether a column of the query that an entry names is never null; that of a recursive one may be."""
        outer = queries[: len(queries) - _number(entry.get("ctelevelsup"))]
        listed = _nodes(outer[-1], "cteList") if outer else []
        named = [common for common in listed if common.get("ctename") == entry.get("ctename")]
        inner = named[0].get("ctequery") if named and named[0].get("cterecursive") == "false" else None
        return (
            isinstance(inner, dict)
            and inner.get("commandType") == "1"
            and self._target((*outer, inner), number, steps + 1)
        )


def read_rules(rules: list[ViewRule], filled: Mapping[int, list[int]]) -> ViewColumns:
    """Return what is known of the columns of views."""
    views = {rule.id: query for rule in rules if (query := _query(rule.tree)) is not None}
    return ViewColumns(views, _numbers(filled), _numbers({rule.id: rule.marked for rule in rules}))


def _numbers(listed: Mapping[int, list[int]]) -> dict[int, frozenset[int]]:
    return {relation: frozenset(numbers) for relation, numbers in listed.items()}


def _query(tree: str) -> Node | None:
    parsed = parse_tree(tree)
    first = parsed[0] if isinstance(parsed, list) and parsed else None
    return first if isinstance(first, dict) and first.get("") == "QUERY" else None


def parse_tree(text: str) -> object:
    """Return a tree: nodes as dicts with their type under the empty name, lists, and atoms as texts. Not recursive: views nest deeply."""
    top: list[object] = []
    open_lists: list[list[object]] = [top]
    for part in _tokens(text):
        if part in "({":
            inner: list[object] = [part]
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif part in ")}":
            closed = open_lists.pop()
            if not open_lists:
                return _NOTHING
            open_lists[-1][-1] = _node(closed[1:]) if closed[0] == "{" else closed[1:]
        else:
            open_lists[-1].append(part)
    return top[0] if top else _NOTHING


def _tokens(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text))


def _node(parts: list[object]) -> Node:
    """Return a node from its type, keys and values."""
    node: Node = {"": parts[0] if parts else ""}
    values: dict[str, list[object]] = {}
    key = ""
    for part in parts[1:]:
        if isinstance(part, str) and part.startswith(":"):
            key = part[1:]
            values[key] = []
        elif key:
            values[key].append(part)
    return node | {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _number(value: object) -> int:
    """Return a positive number of a tree; 0 for anything else, as a name of the project's that looks like a key may put into its place."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else 0


def _nodes(node: Node, key: str) -> list[Node]:
    listed = node.get(key)
    return [inner for inner in listed if isinstance(inner, dict)] if isinstance(listed, list) else []
