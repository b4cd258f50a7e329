"""Inserts, updates, upserts and deletes against the catalog. Source: docs/reference/rest.md, section 13."""

from workers.database.schema_cache.catalog import Catalog, CatalogRelation, ComputedRelationship
from workers.rest.errors.execute import UpsertKeyMismatch
from workers.rest.errors.parse import BadBody, BadQuery
from workers.rest.errors.plan import BadUpsertFilters, FilterRequired, NoColumn
from workers.rest.model import (
    ApiRequest,
    Condition,
    Embed,
    Operand,
    Payload,
    PlannedColumn,
    PlannedField,
    RelationRead,
    RelationWrite,
    RequestAction,
    RestOptions,
    WriteColumn,
)
from workers.rest.plan.conditions import plan_conditions
from workers.rest.plan.fields import FieldScope
from workers.sql.compose import ParameterSlot

_CHOOSING = {RequestAction.UPDATE: "UPDATE", RequestAction.DELETE: "DELETE"}
"""Actions that change the rows which the filters choose, with the name of their command."""


def plan_write(
    request: ApiRequest,
    payload: Payload | None,
    relation: CatalogRelation,
    catalog: Catalog,
    options: RestOptions,
    read: RelationRead | None,
) -> RelationWrite:
    """Plan the change; `read` is what is shown of the changed rows, if anything is.

    Raises: FilterRequired, NoColumn, BadUpsertFilters, UpsertKeyMismatch, BadBody, NoRelationship, AmbiguousRelationship.
    """
    matched_by = _matched_by(request, payload)
    names = request.query.columns if request.query.columns is not None else payload.keys if payload else ()
    columns = tuple(_column(catalog, relation, name) for name in names) if payload else ()
    key_check = _key_check(request, relation) if request.action is RequestAction.UPSERT else ()
    if any(name not in names for name, _ in key_check):
        raise UpsertKeyMismatch
    conditions: list[Condition] = [item for path, item in request.query.filters if not path]
    conditions += [item for path, item in request.query.logic if not path]
    if options.require_filters and not conditions and (command := _CHOOSING.get(request.action)):
        raise FilterRequired(command)
    chooses = request.action in _CHOOSING
    location = relation.primary_key if _wants_location(request) else ()
    return RelationWrite(
        action=request.action,
        relation=relation,
        columns=columns,
        where=plan_conditions(FieldScope(catalog, options, relation), conditions) if chooses else (),
        conflict=_conflict(request, relation),
        resolution=_resolution(request, relation),
        fills_defaults=request.preferences.missing == "default",
        is_array=payload.is_array if payload else False,
        is_no_op=request.action is RequestAction.UPDATE
        and all(column.name in matched_by for column in columns),
        is_shown=read is not None,
        returning=_returning(read, relation, (*location, *(name for name, _ in key_check))),
        location=location,
        key_check=key_check,
        matched_by=matched_by,
    )


def _matched_by(request: ApiRequest, payload: Payload | None) -> tuple[str, ...]:
    """Return the columns by which rows of a PATCH find theirs. Raises: BadQuery, BadBody."""
    key = request.query.key
    if key is None:
        return ()
    if request.action is not RequestAction.UPDATE:
        raise BadQuery(
            "The parameter key goes with PATCH only", "It names the columns that say which row to change"
        )
    names = request.query.columns if request.query.columns is not None else payload.keys if payload else ()
    missing = [name for name in key if name not in names]
    if missing and not (payload and payload.is_empty_array):
        raise BadBody(f"Every object of the body must have the key columns: {', '.join(missing)} is missing")
    return key


def _column(catalog: Catalog, relation: CatalogRelation, name: str) -> WriteColumn:
    column = relation.columns.get(name)
    if column is None:
        raise NoColumn(name, relation.name)
    return WriteColumn(
        name, column.full_type, column.default, catalog.representations.from_json.get(column.type)
    )


def _key_check(request: ApiRequest, relation: CatalogRelation) -> tuple[tuple[str, Operand], ...]:
    """Return the key that a PUT names in its URL."""
    values: dict[str, Operand] = {}
    for path, item in request.query.filters:
        if path:
            continue
        plain = item.operator == "eq" and not item.negated and item.quantifier is None and not item.field.path
        if not plain or not isinstance(item.operand, str | ParameterSlot):
            raise BadUpsertFilters
        values[item.field.name] = item.operand
    has_logic = any(not path for path, _ in request.query.logic)
    if has_logic or not relation.primary_key or set(values) != set(relation.primary_key):
        raise BadUpsertFilters
    return tuple(values.items())


def _conflict(request: ApiRequest, relation: CatalogRelation) -> tuple[str, ...]:
    if request.action is RequestAction.UPSERT:
        return relation.primary_key
    return request.query.on_conflict or relation.primary_key


def _resolution(request: ApiRequest, relation: CatalogRelation) -> str | None:
    if request.action is RequestAction.UPSERT:
        return "merge-duplicates"
    if request.action is not RequestAction.CREATE or not _conflict(request, relation):
        return None
    return request.preferences.resolution


def _wants_location(request: ApiRequest) -> bool:
    return request.action is RequestAction.CREATE and request.preferences.representation == "headers-only"


def _returning(
    read: RelationRead | None, relation: CatalogRelation, also: tuple[str, ...]
) -> tuple[str, ...]:
    """List the columns that the shown rows need: selected ones, those ordered by, and the keys of embeds."""
    names: dict[str, None] = dict.fromkeys(also)
    if read is not None:
        for item in read.items:
            names |= dict.fromkeys(_needed(item, relation))
        for term in read.order:
            if term.embed is None:
                names |= dict.fromkeys(_of_field(term.field, relation))
    # The whole row may be taken as the table's type, which goes by position: so all columns stand in table order.
    if names.keys() >= relation.columns.keys():
        names = {**dict.fromkeys(relation.columns), **names}
    return tuple(names)


def _needed(item: PlannedColumn | Embed, relation: CatalogRelation) -> tuple[str, ...]:
    if isinstance(item, PlannedColumn):
        return _of_field(item.field, relation)
    relationship = item.relationship
    if isinstance(relationship, ComputedRelationship):
        return tuple(relation.columns)
    pairs = relationship.junction.columns1 if relationship.junction else relationship.columns
    return tuple(value for value, _ in pairs)


def _of_field(field: PlannedField, relation: CatalogRelation) -> tuple[str, ...]:
    if field.function is not None or field.name == "*":
        return tuple(relation.columns)
    return (field.name,)
