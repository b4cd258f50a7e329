"""Columns of which an index may help a plan. Pure.

    plan (EXPLAIN, FORMAT JSON, VERBOSE)  ->  a table that is read whole, and columns: compared by =, then one by <, >, or sorted by

Read are the conditions of nodes that read a whole table: those of the node itself, or, if it has none, those of the join above it. With
VERBOSE every column is written with the alias of its table, as `notes.user_id`. A condition with OR is left out: an index on all of its
columns would not serve it. So are expressions, as `lower(notes.email)`. What is proposed is tried before anybody trusts it.
Source: PostgreSQL, "Multicolumn Indexes"; "Using EXPLAIN".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_CAST = r"(?:\)::[\w .\[\]\"]+?)?"
_BARE_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_WHOLE_READS = frozenset({"Seq Scan"})
_OWN_CONDITIONS = ("Filter",)
_JOIN_CONDITIONS = ("Hash Cond", "Merge Cond", "Join Filter")
_MOST_COLUMNS = 4
_EQUAL = frozenset({"=", "IS NULL"})


@dataclass(frozen=True, slots=True)
class IndexCandidate:
    """A table by schema and name, and the columns of an index that a plan asks for, in their order."""

    schema: str
    table: str
    columns: tuple[str, ...]


def candidates_of(plan: dict[str, Any]) -> list[IndexCandidate]:
    """Return what the tables of a plan that are read whole ask for; `plan` is the member "Plan" of EXPLAIN."""
    candidates = []
    for node, parents in _nodes(plan, ()):
        if node["Node Type"] not in _WHOLE_READS or "Schema" not in node:
            continue
        columns = _columns(node, parents)
        if columns:
            candidates.append(IndexCandidate(node["Schema"], node["Relation Name"], columns))
    return list(dict.fromkeys(candidates))


def reads_table(plan: dict[str, Any], table: str, schema_prefix: str) -> bool:
    """Return whether a plan reads a table of this name in a schema whose name begins so."""
    return any(
        node.get("Relation Name") == table and node.get("Schema", "").startswith(schema_prefix)
        for node, _ in _nodes(plan, ())
    )


def uses_index(plan: dict[str, Any], index: str) -> bool:
    """Return whether a plan uses an index of this name."""
    return any(node.get("Index Name") == index for node, _ in _nodes(plan, ()))


def _nodes(
    node: dict[str, Any], parents: tuple[dict[str, Any], ...]
) -> Iterator[tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """Yield the nodes of a plan with those above them, the nearest first."""
    yield node, parents
    for child in node.get("Plans", ()):
        yield from _nodes(child, (node, *parents))


def _columns(node: dict[str, Any], parents: tuple[dict[str, Any], ...]) -> tuple[str, ...]:
    alias = node["Alias"]
    compared = _compared(alias, [node[name] for name in _OWN_CONDITIONS if name in node])
    if not compared:
        compared = _compared(
            alias, [parent[name] for parent in parents for name in _JOIN_CONDITIONS if name in parent]
        )
    equal = [column for column, operator in compared if operator in _EQUAL]
    ranges = [column for column, operator in compared if operator not in _EQUAL]
    last = ranges or (_sorted(alias, parents) if "Filter" in node or not compared else [])
    return tuple(dict.fromkeys([*equal, *last[:1]]))[:_MOST_COLUMNS]


def _compared(alias: str, conditions: list[str]) -> list[tuple[str, str]]:
    """Return the columns of an alias that conditions compare, with the operators."""
    column = rf"{re.escape(_written(alias))}\.({_NAME})"
    left = re.compile(rf'(?<![\w"$])\(\(?{column}{_CAST} (=|<=|>=|<|>|IS NULL)(?=[ )])')
    right = re.compile(rf" (=|<=|>=|<|>) \(?{column}{_CAST}\)")
    comparisons = []
    for condition in conditions:
        if " OR " in condition:
            continue
        comparisons += [(match.start(), match[1], match[2]) for match in left.finditer(condition)]
        comparisons += [(match.start(), match[2], match[1]) for match in right.finditer(condition)]
    return [(_read(name), operator) for _, name, operator in sorted(comparisons)]


def _sorted(alias: str, parents: tuple[dict[str, Any], ...]) -> list[str]:
    """Return the first column that a node directly above sorts the rows of an alias by."""
    for parent in parents[:1]:
        for key in parent.get("Sort Key", ())[:1]:
            match = re.fullmatch(
                rf"{re.escape(_written(alias))}\.({_NAME})(?: DESC| NULLS (?:FIRST|LAST))*", key
            )
            if match:
                return [_read(match[1])]
    return []


def _written(name: str) -> str:
    """Return a name as EXPLAIN writes it. A key word, which it quotes, is not recognized and so not proposed."""
    return name if _BARE_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _read(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written
