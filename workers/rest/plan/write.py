"""Inserts, updates, upserts and deletes against the catalog. Source: reference page "rest", section 13."""

from workers.database.catalog import Catalog, ComputedRelationship, Relation
from workers.rest.errors import BadBody, BadQuery, BadUpsertFilters, NoColumn, UpsertKeyMismatch
from workers.rest.model import (
    Action,
    ApiRequest,
    Condition,
    Embed,
    Operand,
    Options,
    Payload,
    PlannedColumn,
    PlannedField,
    Read,
    Write,
    WriteColumn,
)
from workers.rest.plan.conditions import plan_conditions
from workers.rest.plan.fields import Scope
from workers.sql.compose import Slot


def plan_write(
    asked: ApiRequest,
    payload: Payload | None,
    relation: Relation,
    catalog: Catalog,
    options: Options,
    read: Read | None,
) -> Write:
    """Plan the change; `read` is what is shown of the changed rows, if anything is.

    Raises: NoColumn, BadUpsertFilters, UpsertKeyMismatch, BadBody, NoRelationship, AmbiguousRelationship.
    """
    matched_by = _matched_by(asked, payload)
    names = asked.query.columns if asked.query.columns is not None else payload.keys if payload else ()
    columns = tuple(_column(catalog, relation, name) for name in names) if payload else ()
    key_check = _key_check(asked, relation) if asked.action is Action.UPSERT else ()
    if any(name not in names for name, _ in key_check):
        raise UpsertKeyMismatch
    conditions: list[Condition] = [each for path, each in asked.query.filters if not path]
    conditions += [each for path, each in asked.query.logic if not path]
    chooses = asked.action in (Action.UPDATE, Action.DELETE)
    location = relation.primary_key if _wants_location(asked) else ()
    return Write(
        action=asked.action,
        relation=relation,
        columns=columns,
        where=plan_conditions(Scope(catalog, options, relation), conditions) if chooses else (),
        conflict=_conflict(asked, relation),
        resolution=_resolution(asked, relation),
        fills_defaults=asked.preferences.missing == "default",
        is_array=payload.is_array if payload else False,
        is_no_op=asked.action is Action.UPDATE and all(each.name in matched_by for each in columns),
        returning=_returning(read, relation, (*location, *(name for name, _ in key_check))),
        location=location,
        key_check=key_check,
        matched_by=matched_by,
    )


def _matched_by(asked: ApiRequest, payload: Payload | None) -> tuple[str, ...]:
    """Give the columns by which rows of a PATCH find theirs. Raises: BadQuery, BadBody."""
    key = asked.query.key
    if key is None:
        return ()
    if asked.action is not Action.UPDATE:
        raise BadQuery(
            "The parameter key goes with PATCH only", "It names the columns that say which row to change"
        )
    names = asked.query.columns if asked.query.columns is not None else payload.keys if payload else ()
    missing = [name for name in key if name not in names]
    if missing and not (payload and payload.is_empty_array):
        raise BadBody(f"Every object of the body must have the key columns: {', '.join(missing)} is missing")
    return key


def _column(catalog: Catalog, relation: Relation, name: str) -> WriteColumn:
    column = relation.columns.get(name)
    if column is None:
        raise NoColumn(name, relation.name)
    return WriteColumn(
        name, column.full_type, column.default, catalog.representations.from_json.get(column.type)
    )


def _key_check(asked: ApiRequest, relation: Relation) -> tuple[tuple[str, Operand], ...]:
    """Give the key that a PUT names in its URL."""
    values: dict[str, Operand] = {}
    for path, each in asked.query.filters:
        if path:
            continue
        plain = each.operator == "eq" and not each.negated and each.quantifier is None and not each.field.path
        if not plain or not isinstance(each.operand, str | Slot):
            raise BadUpsertFilters
        values[each.field.name] = each.operand
    has_logic = any(not path for path, _ in asked.query.logic)
    if has_logic or not relation.primary_key or set(values) != set(relation.primary_key):
        raise BadUpsertFilters
    return tuple(values.items())


def _conflict(asked: ApiRequest, relation: Relation) -> tuple[str, ...]:
    if asked.action is Action.UPSERT:
        return relation.primary_key
    return asked.query.on_conflict or relation.primary_key


def _resolution(asked: ApiRequest, relation: Relation) -> str | None:
    if asked.action is Action.UPSERT:
        return "merge-duplicates"
    if asked.action is not Action.CREATE or not _conflict(asked, relation):
        return None
    return asked.preferences.resolution


def _wants_location(asked: ApiRequest) -> bool:
    return asked.action is Action.CREATE and asked.preferences.representation == "headers-only"


def _returning(read: Read | None, relation: Relation, also: tuple[str, ...]) -> tuple[str, ...]:
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


def _needed(item: PlannedColumn | Embed, relation: Relation) -> tuple[str, ...]:
    if isinstance(item, PlannedColumn):
        return _of_field(item.field, relation)
    relationship = item.relationship
    if isinstance(relationship, ComputedRelationship):
        return tuple(relation.columns)
    pairs = relationship.junction.columns1 if relationship.junction else relationship.columns
    return tuple(own for own, _ in pairs)


def _of_field(field: PlannedField, relation: Relation) -> tuple[str, ...]:
    if field.function is not None or field.name == "*":
        return tuple(relation.columns)
    return (field.name,)
