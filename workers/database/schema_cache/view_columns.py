"""Traces the columns of views to the table columns that they select. Pure.

The server stores a view as a parsed query (`pg_rewrite.ev_action`), written out as nested nodes `{KIND :field value ...}`.
Each output column is a TARGETENTRY that names the relation and column it comes from (`resorigtbl`, `resorigcol`; zero
for an expression), already followed through subqueries, joins and common table expressions, but not through other views.
Only the entries of the outermost query are columns of the view: they are nested two braces deep. Inside a token the
server escapes braces and blanks with a backslash, so braces can be counted and fields matched without parsing the rest.
Source: Postgres, nodes/primnodes.h (TargetEntry) and outfuncs.c; the form is the same from 15 to 18.
"""

import re
from collections.abc import Iterable, Mapping

from workers.database.schema_cache.catalog_rows import ViewRow

Origin = tuple[int, int]
"""A relation's oid and the number of its column."""

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_ENTRY = re.compile(
    r" :resno (\d+) :resname [^ ]+ :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+) :resjunk (true|false)}"
)
_ENTRY_DEPTH = 2


def trace_views(views: Iterable[ViewRow]) -> dict[int, dict[int, Origin]]:
    """Return for each view the table column of each of its columns, by column number.

    Views over views are followed if both are in `views`. Columns without an origin, and those of a view that selects from
    itself, are omitted.
    """
    direct = {view.relation: target_origins(view.query) for view in views}
    return {view: _trace(view, direct) for view in direct}


def target_origins(query: str) -> dict[int, Origin]:
    """Read the origins of the outermost target list of a stored query, by column number."""
    if "\\" in query:
        query = _ESCAPED.sub("_", query)
    origins: dict[int, Origin] = {}
    depth = position = 0
    for entry in _ENTRY.finditer(query):
        start = entry.start()
        depth += query.count("{", position, start) - query.count("}", position, start)
        position = start
        number, relation, column, junk = entry.groups()
        if depth == _ENTRY_DEPTH and junk == "false" and relation != "0" and column != "0":
            origins[int(number)] = (int(relation), int(column))
    return origins


def _trace(view: int, direct: Mapping[int, Mapping[int, Origin]]) -> dict[int, Origin]:
    followed = {}
    for number, origin in direct[view].items():
        passed = {(view, number)}
        current: Origin | None = origin
        while current is not None and current[0] in direct:
            current = None if current in passed else _next(current, passed, direct)
        if current is not None:
            followed[number] = current
    return followed


def _next(current: Origin, passed: set[Origin], direct: Mapping[int, Mapping[int, Origin]]) -> Origin | None:
    passed.add(current)
    return direct[current[0]].get(current[1])
