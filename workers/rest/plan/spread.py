"""Spreads: what `...rel(columns)` lifts into its parent.

A to-one spread lifts columns as they are, and its aggregates happen in the parent; a to-many spread lifts an array a
column. Source: docs/reference/rest.md, sections 9.4 and 10.
"""

from msgspec.structs import replace

from workers.rest.errors.plan import NotImplementedHere
from workers.rest.model import Embed, PlannedColumn, RelationRead, SpreadColumn


def lifted(read: RelationRead, *, is_to_one: bool) -> tuple[RelationRead, tuple[SpreadColumn, ...]]:
    """Return the read whose rows the join carries, and the columns that the parent takes from it.

    Raises: NotImplementedHere for an aggregate below a to-many spread.
    """
    columns: list[SpreadColumn] = []
    items: list[PlannedColumn | Embed] = []
    for item in read.items:
        if isinstance(item, Embed):
            inner = _through(item, len(columns))
            items.append(
                replace(item, spread=tuple(SpreadColumn(is_own, passed.carried) for is_own, passed in inner))
            )
            columns += [passed for _, passed in inner]
        else:
            column = SpreadColumn(
                _carried(item, len(columns)), output_name(item), item.aggregate, item.aggregate_cast
            )
            columns.append(column)
            items.append(replace(item, alias=column.carried, aggregate=None, aggregate_cast=None))
    if not is_to_one and any(column.aggregate for column in columns):
        raise NotImplementedHere("Aggregates are not implemented for one-to-many or many-to-many spreads.")
    return replace(read, items=tuple(items), groups=False), tuple(columns)


def _through(embed: Embed, place: int) -> list[tuple[str, SpreadColumn]]:
    """Return what a spread passes on from an embed of its own: its name there, and the column that the parent takes."""
    if not embed.is_spread:
        return [] if embed.is_hidden else [(embed.key, SpreadColumn(embed.key, embed.key, is_json=True))]
    passed = []
    for number, item in enumerate(embed.spread, start=place):
        carried = f"hw_{number}_{item.aggregate}" if item.aggregate else item.name
        is_json = item.is_json or not embed.is_to_one
        column = SpreadColumn(carried, item.name, item.aggregate, item.aggregate_cast, is_json)
        passed.append((item.carried, column))
    return passed


def _carried(column: PlannedColumn, place: int) -> str:
    """Name a column in the join: its own name, or one that cannot clash when the parent aggregates it."""
    return f"hw_{place}_{column.aggregate}" if column.aggregate else output_name(column)


def output_name(column: PlannedColumn) -> str:
    """Return the key under which a column appears (reference 8: the last text key of a JSON path)."""
    if column.alias:
        return column.alias
    if column.aggregate:
        return column.aggregate.partition("(")[0]
    if not column.field.path:
        return column.field.name
    texts = [step.key for step in column.field.path if isinstance(step.key, str)]
    return texts[-1] if texts else column.field.name
