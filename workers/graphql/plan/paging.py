"""Plan the page of a connection: size, position and order. Pure.

Null arguments count as absent. The arguments are checked in the order of the table in docs/reference/graphql.md, section 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan import ids
from workers.graphql.plan.conditions import Operand, SortTerm
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, InputKind
from workers.graphql.plan.order import plan_order
from workers.graphql.plan.selection import PlanContext
from workers.graphql.plan.values import invalid_input, offset, page_size
from workers.sql.pages import magnitude

ARGUMENTS = ("first", "last", "before", "after", "offset", "filter", "orderBy")


@dataclass(frozen=True, slots=True)
class PagePlan:
    """The planned page of a connection."""

    order: tuple[SortTerm, ...]
    limit: Operand | int
    offset: Operand | None
    cursor: tuple[Operand, ...] | None
    is_backward: bool
    row_bound: int | None
    """Upper bound of the rows up to the end of the page, where limit or offset is a parameter; None if both are literals.

    Postgres can use one plan for all pages below a literal bound (`workers/sql/pages.py`)."""
    expected: int
    """Rows that count towards `max_cost`; a page whose size is a variable counts as a full page."""


def plan_page(planning: PlanContext, entity: Entity, values: Mapping[str, ArgumentValue]) -> PagePlan:
    """Plan the page from its arguments. Raises: GraphQLFailure."""
    first, last, offset = (_count(values, name) for name in ("first", "last", "offset"))
    before, after = (_argument(values, name) for name in ("before", "after"))
    _check(first, last, before, after, offset)
    order = plan_order(planning.schema, entity, values.get("orderBy", ABSENT_ARGUMENT))
    size, name = (last, "last") if not last.is_missing else (first, "first")
    return PagePlan(
        order=order,
        limit=_limit(planning, entity, size, name),
        offset=_offset(planning, offset),
        cursor=_cursor(planning, before if not before.is_missing else after, order),
        is_backward=not last.is_missing or not before.is_missing,
        row_bound=_row_bound(entity, size, offset),
        expected=_expected(entity, size),
    )


def plan_plain_page(
    planning: PlanContext, entity: Entity, values: Mapping[str, ArgumentValue]
) -> tuple[Operand | int, Operand | None, int]:
    """Plan a page without cursors from `first` and `offset`: return limit, offset, and the rows that count as cost.

    Raises: GraphQLFailure.
    """
    first, offset = _count(values, "first"), _count(values, "offset")
    return _limit(planning, entity, first, "first"), _offset(planning, offset), _expected(entity, first)


def _limit(planning: PlanContext, entity: Entity, size: ArgumentValue, name: str) -> Operand | int:
    max_rows = entity.max_rows
    if size.is_missing:
        return max_rows
    convert = page_size(name, max_rows)
    if size.path is None:  # a literal of the document is a literal in SQL, which Postgres can plan for
        return int(convert(size.resolved()))
    return Operand(planning.inputs.parameter(size, convert), "int8")


def _offset(planning: PlanContext, skipped: ArgumentValue) -> Operand | None:
    return None if skipped.is_missing else Operand(planning.inputs.parameter(skipped, offset), "int8")


def _row_bound(entity: Entity, size: ArgumentValue, offset: ArgumentValue) -> int | None:
    """Return a literal bound of the rows up to the end of the page, so that Postgres can reuse its plan for other values."""
    if size.path is None and offset.is_missing:
        return None
    page, before = _expected(entity, size), 0 if offset.is_missing else offset.evaluate(_magnitude)
    if size.path is not None and (requested := size.evaluate(_magnitude)) is not None:
        page = min(page, requested)
    return None if before is None else before + page + 1


def _magnitude(value: object) -> int | None:
    return magnitude(value) if isinstance(value, int) else None


def _expected(entity: Entity, size: ArgumentValue) -> int:
    if size.path is None and isinstance(size.value, int):
        return min(size.value, entity.max_rows)
    return entity.max_rows


def _count(values: Mapping[str, ArgumentValue], name: str) -> ArgumentValue:
    value = _argument(values, name)
    if not value.is_missing:
        if value.kind is not InputKind.SCALAR:
            raise invalid_input("Int")
        page_size(name, 0)(value.value)
    return value


def _argument(values: Mapping[str, ArgumentValue], name: str) -> ArgumentValue:
    value = values.get(name, ABSENT_ARGUMENT)
    return ABSENT_ARGUMENT if value.is_missing else value


def _check(
    first: ArgumentValue,
    last: ArgumentValue,
    before: ArgumentValue,
    after: ArgumentValue,
    offset: ArgumentValue,
) -> None:
    """Check that the arguments may be used together. Raises: GraphQLFailure."""
    has_first, has_last = not first.is_missing, not last.is_missing
    has_before, has_after = not before.is_missing, not after.is_missing
    if has_first and has_last:
        raise GraphQLFailure('only one of "first" and "last" may be provided')
    if has_before and has_after:
        raise GraphQLFailure('only one of "before" and "after" may be provided')
    if has_first and has_before:
        raise GraphQLFailure('"first" may only be used with "after"')
    if has_last and has_after:
        raise GraphQLFailure('"last" may only be used with "before"')
    if not offset.is_missing and (has_last or has_before):
        raise GraphQLFailure('"offset" may only be used with "first" and "after"')


def _cursor(
    planning: PlanContext, cursor: ArgumentValue, order: tuple[SortTerm, ...]
) -> tuple[Operand, ...] | None:
    if cursor.is_missing:
        return None
    if cursor.kind is not InputKind.SCALAR:
        raise invalid_input("Cursor")
    if len(cursor.evaluate(ids.CURSOR_FORMAT.shape)) > len(order):
        raise GraphQLFailure("orderBy clause incompatible with pagination cursor")
    return tuple(
        ids.encoded_operands(planning.inputs, cursor, [term.type for term in order], ids.CURSOR_FORMAT)
    )
