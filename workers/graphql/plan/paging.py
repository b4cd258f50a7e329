"""Which page of a connection: its size, its place and its order. Pure.

Source: reference page "graphql", section 8. The checks come in the order of its table; null is as good as absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan import ids
from workers.graphql.plan.inputs import NOTHING, Given, Kind
from workers.graphql.plan.order import order_of
from workers.graphql.plan.selection import Planning
from workers.graphql.plan.tree import Operand, Order
from workers.graphql.plan.values import invalid, offset, page_size
from workers.sql.pages import magnitude

ARGUMENTS = ("first", "last", "before", "after", "offset", "filter", "orderBy")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, as a connection has it."""

    order: tuple[Order, ...]
    limit: Operand | int
    offset: Operand | None
    cursor: tuple[Operand, ...] | None
    is_backward: bool
    reach: int | None
    """So many rows hold the page and all before it; None where the statement itself says which rows those are."""
    expected: int
    """Rows it is reckoned with; a variable's page counts as a full one."""


def page_of(planning: Planning, entity: Entity, given: Mapping[str, Given]) -> Page:
    """Read the arguments of paging. Raises: GraphQLFailure."""
    first, last, skipped = (_count(given, name) for name in ("first", "last", "offset"))
    before, after = (_present(given, name) for name in ("before", "after"))
    _check(first, last, before, after, skipped)
    order = order_of(planning.schema, entity, given.get("orderBy", NOTHING))
    size, name = (last, "last") if not last.is_nothing else (first, "first")
    return Page(
        order=order,
        limit=_limit(planning, entity, size, name),
        offset=_skipped(planning, skipped),
        cursor=_place(planning, before if not before.is_nothing else after, order),
        is_backward=not last.is_nothing or not before.is_nothing,
        reach=_reach(entity, size, skipped),
        expected=_expected(entity, size),
    )


def plain_page(
    planning: Planning, entity: Entity, given: Mapping[str, Given]
) -> tuple[Operand | int, Operand | None, int]:
    """Read `first` and `offset` where there are no cursors: limit, rows to leave out, rows reckoned with.

    Raises: GraphQLFailure.
    """
    first, skipped = _count(given, "first"), _count(given, "offset")
    return _limit(planning, entity, first, "first"), _skipped(planning, skipped), _expected(entity, first)


def _limit(planning: Planning, entity: Entity, size: Given, name: str) -> Operand | int:
    most = entity.max_rows
    if size.is_nothing:
        return most
    convert = page_size(name, most)
    if size.path is None:  # written in the document: the planner of Postgres is told
        return int(convert(size.look_into()))
    return Operand(planning.inputs.parameter(size, convert), "int8")


def _skipped(planning: Planning, skipped: Given) -> Operand | None:
    return None if skipped.is_nothing else Operand(planning.inputs.parameter(skipped, offset), "int8")


def _reach(entity: Entity, size: Given, skipped: Given) -> int | None:
    """Bound what parameters leave open, so that Postgres need not plan anew for each of their values."""
    if size.path is None and skipped.is_nothing:
        return None
    page, before = _expected(entity, size), 0 if skipped.is_nothing else skipped.ask(_magnitude)
    if size.path is not None and (asked := size.ask(_magnitude)) is not None:
        page = min(page, asked)
    return None if before is None else before + page + 1


def _magnitude(value: object) -> int | None:
    return magnitude(value) if isinstance(value, int) else None


def _expected(entity: Entity, size: Given) -> int:
    if size.path is None and isinstance(size.value, int):
        return min(size.value, entity.max_rows)
    return entity.max_rows


def _count(given: Mapping[str, Given], name: str) -> Given:
    value = _present(given, name)
    if not value.is_nothing:
        if value.kind is not Kind.SCALAR:
            raise invalid("Int")
        page_size(name, 0)(value.value)
    return value


def _present(given: Mapping[str, Given], name: str) -> Given:
    value = given.get(name, NOTHING)
    return NOTHING if value.is_nothing else value


def _check(first: Given, last: Given, before: Given, after: Given, skipped: Given) -> None:
    """See that the arguments go together. Raises: GraphQLFailure."""
    has_first, has_last = not first.is_nothing, not last.is_nothing
    has_before, has_after = not before.is_nothing, not after.is_nothing
    if has_first and has_last:
        raise GraphQLFailure('only one of "first" and "last" may be provided')
    if has_before and has_after:
        raise GraphQLFailure('only one of "before" and "after" may be provided')
    if has_first and has_before:
        raise GraphQLFailure('"first" may only be used with "after"')
    if has_last and has_after:
        raise GraphQLFailure('"last" may only be used with "before"')
    if not skipped.is_nothing and (has_last or has_before):
        raise GraphQLFailure('"offset" may only be used with "first" and "after"')


def _place(planning: Planning, cursor: Given, order: tuple[Order, ...]) -> tuple[Operand, ...] | None:
    if cursor.is_nothing:
        return None
    if cursor.kind is not Kind.SCALAR:
        raise invalid("Cursor")
    if len(cursor.ask(ids.CURSOR.shape)) > len(order):
        raise GraphQLFailure("orderBy clause incompatible with pagination cursor")
    return tuple(ids.operands_of(planning.inputs, cursor, [one.type for one in order], ids.CURSOR))
