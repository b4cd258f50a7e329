"""Rows that could be written, made of values that are there and of those that policies name. Pure.

Stored rows cannot show what a write would be allowed to store: another user's id beside the own tenant. Nor do they show what a policy would say of
a value that no row has yet.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from workers.project.access.catalog import AccessRelation, Policy
from workers.project.access.row_classes import ClassedRows

_MOST_ROWS = 400
_MOST_VALUES = 6
_LITERAL = re.compile(r"'((?:[^']|'')*)'(?:::(?:text|character varying))?")
_TEXTS = ("text", "character varying", "character", "citext", "name")


def candidate_rows(
    relation: AccessRelation, rows: ClassedRows, policies: Sequence[Policy], ids: Sequence[str]
) -> list[dict[str, str | None]]:
    """Return rows by the text of their columns, each combination once; `ids` are those of some callers."""
    literals = list(dict.fromkeys(_literals(policies)))
    stored = sorted(rows.classes, key=lambda item: -item.count)
    choices: list[list[str | None]] = []
    by_name = {column.name: column for column in relation.columns}
    columns = [name for name in rows.columns if name in by_name]
    for name in columns:
        column, place = by_name[name], rows.columns.index(name)
        values: list[str | None] = list(dict.fromkeys(item.values[place] for item in stored))[:_MOST_VALUES]
        if column.type == "uuid" or (not stored and column.type in _TEXTS):
            values = [*ids[:2], *values]
        if column.type == "boolean":
            values = ["true", "false"]
        if column.type in _TEXTS:
            values += literals[:_MOST_VALUES]
        if not column.is_required:
            values.append(None)
        choices.append(list(dict.fromkeys(values)) or [None])
    while _product(choices) > _MOST_ROWS:
        longest = max(choices, key=len)
        longest.pop(len(longest) // 2)
    return [dict(zip(columns, values, strict=True)) for values in itertools.product(*choices)]


def _product(choices: Iterable[Sequence[object]]) -> int:
    size = 1
    for values in choices:
        size *= len(values)
    return size


def _literals(policies: Sequence[Policy]) -> Iterable[str]:
    for policy in policies:
        for text in (policy.using or "", policy.check or ""):
            for match in _LITERAL.finditer(text):
                if match[1] and len(match[1]) <= 200:
                    yield match[1].replace("''", "'")


def title_of(row: dict[str, str | None]) -> str:
    """Return a row that is not stored as it is shown."""
    values = ", ".join(f"{name}: {'null' if value is None else value[:60]}" for name, value in row.items())
    return f"a row with {values}" if values else "any row"
