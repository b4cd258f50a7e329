"""Pages by cursor: a total order, and the place in it. Pure. Source: docs/rest-additions.md, "Pages by cursor".

An offset makes the database read all rows before it, and rows that come or go shift the pages. A cursor names the row at
a page's end by the values it is ordered by, so the next page begins behind that row, found by an index.
"""

from msgspec.structs import replace

from workers.database.schema_cache.catalog import CatalogRelation
from workers.rest.errors.parse import BadQuery
from workers.rest.model import ApiRequest, BodyShape, FieldPath, MediaOutput, PlannedOrder, RelationRead
from workers.rest.plan.fields import FieldScope, resolve_field

MOST_TERMS = 50
"""Terms of an order. The condition behind a cursor grows with the square of their number."""


def wants_pages(request: ApiRequest) -> bool:
    """Return whether a request asks for pages by cursor."""
    return request.preferences.pagination == "cursor" or request.query.cursor is not None


def paged(
    request: ApiRequest, read: RelationRead, relation: CatalogRelation, scope: FieldScope, output: MediaOutput
) -> RelationRead:
    """Make a read one page: in an order in which no two rows are equal. Raises: BadQuery."""
    if read.groups or read.distinct is not None:
        raise _refused("it does not go with aggregates or distinct")
    if read.range.offset != 0:
        raise _refused("it does not go with an offset")
    if not isinstance(read.range.limit, int):
        raise _refused("it needs a limit")
    if output.shape is not BodyShape.ARRAY or output.explain is not None:
        raise _refused("its answers are JSON arrays")
    if not relation.primary_key:
        raise _refused(f"{relation.name} has no primary key that would make the order of its rows certain")
    order = _total(read.order, relation, scope)
    if len(order) > MOST_TERMS:
        raise _refused(f"an order has at most {MOST_TERMS} terms, with the primary key")
    cursor = request.query.cursor
    if cursor is not None and len(cursor.values) != len(order):
        raise _refused("the cursor belongs to another order")
    return replace(read, order=order, is_paged=True, cursor=cursor)


def _total(
    order: tuple[PlannedOrder, ...], relation: CatalogRelation, scope: FieldScope
) -> tuple[PlannedOrder, ...]:
    """Add the columns of the primary key that the order does not have yet."""
    named = {term.field.name for term in order if _is_column(term)}
    missing = [name for name in relation.primary_key if name not in named]
    added = (PlannedOrder(resolve_field(scope, FieldPath(name)), None, None) for name in missing)
    return tuple(replace(term, may_be_null=_may_be_null(term, relation)) for term in (*order, *added))


def _may_be_null(term: PlannedOrder, relation: CatalogRelation) -> bool:
    column = relation.columns.get(term.field.name) if _is_column(term) else None
    return column is None or (column.nullable and column.name not in relation.primary_key)


def _is_column(term: PlannedOrder) -> bool:
    return term.embed is None and not term.field.path and term.field.function is None


def _refused(why: str) -> BadQuery:
    return BadQuery(
        f"Pagination by cursor: {why}", "Leave out the cursor and Prefer: pagination=cursor, or see why"
    )
