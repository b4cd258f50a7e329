"""Step two: what the request does, decided against the catalog. Pure.

The order of checks is the order in which refusals win: relation or function, relationships, columns, media type,
preferences. Source: reference page "rest", sections 1 (precedence), 4, 12, 13, 14.
"""

from dataclasses import replace

from workers.database.catalog import Catalog, Relation, Returns
from workers.database.session import End
from workers.rest.errors import BadPreferences, BadQuery, MaxAffectedNeedsSet, NoRelation
from workers.rest.model import (
    Action,
    ApiRequest,
    NestedInsert,
    Options,
    Payload,
    Plan,
    Preferences,
    Read,
    Write,
)
from workers.rest.plan.call import plan_call
from workers.rest.plan.fields import Scope
from workers.rest.plan.nested import numbered, plan_nested
from workers.rest.plan.output import negotiate, shows_rows
from workers.rest.plan.paging import paged, wants_pages
from workers.rest.plan.read import plan_read
from workers.rest.plan.write import plan_write

SOURCE = "hw_source"
"""Name of the rows that a write or a function gave, in the statement."""

_NAME_SCORE = 0.75
_MANY_RELATIONS = 500


def make_plan(asked: ApiRequest, payload: Payload | None, catalog: Catalog, options: Options) -> Plan:
    """Plan a read, write or call. Raises: the refusals of `errors.py`, mostly 2xx."""
    match asked.action:
        case Action.READ:
            plan = _read(asked, catalog, options)
        case Action.CALL:
            plan = _call(asked, payload, catalog, options)
        case _:
            plan = _write(asked, payload, catalog, options)
    return _with_preferences(plan, options)


def find_relation(asked: ApiRequest, catalog: Catalog, options: Options) -> Relation:
    """Find the relation a path names. Raises: NoRelation."""
    relation = catalog.relations.get((asked.schema, asked.target))
    if relation is not None:
        return relation
    names = sorted(name for schema, name in catalog.relations if schema == asked.schema)
    near = options.similar(asked.target, names, _NAME_SCORE) if len(names) < _MANY_RELATIONS else None
    raise NoRelation(asked.schema, asked.target, near)


_COUNTED = 10_000
"""Rows that a planned count counts where the planner's figure would tell of hidden rows."""


def _read(asked: ApiRequest, catalog: Catalog, options: Options) -> Plan:
    relation = find_relation(asked, catalog, options)
    if asked.query.key is not None or asked.query.nested:
        raise BadQuery(
            "The parameters key and nested go with writes",
            "key names the columns by which PATCH finds rows; nested lets POST insert related rows",
        )
    read, warnings = plan_read(asked, catalog, options, relation, relation.name)
    output = negotiate(asked, catalog, options, relation, None)
    if asked.preferences.handling == "strict" and asked.preferences.invalid:
        raise BadPreferences(asked.preferences.invalid)
    if wants_pages(asked):
        read = paged(asked, read, relation, Scope(catalog, options, relation), output)
    count = asked.preferences.count
    return Plan(
        request=asked,
        read=read,
        relation=relation,
        output=output,
        counts_exactly=count == "exact" or count == "estimated",
        counts_by_plan=count in ("planned", "estimated"),
        count_limit=options.max_rows if count == "estimated" else None,
        guarded_limit=options.max_rows if count == "estimated" else _COUNTED,
        warnings=warnings,
        returns_rows=shows_rows(asked),
    )


def _write(asked: ApiRequest, payload: Payload | None, catalog: Catalog, options: Options) -> Plan:
    relation = find_relation(asked, catalog, options)
    if asked.query.nested and asked.action is not Action.CREATE:
        raise BadQuery("nested goes with POST only", "It inserts rows together with the rows related to them")
    if asked.query.distinct or asked.query.having:
        raise BadQuery("distinct and having go with reads only", "Read the rows after they were written")
    planned, warnings = plan_read(asked, catalog, options, relation, SOURCE)
    read = replace(planned, source=("", SOURCE))
    shown = shows_rows(asked)
    plain = None if asked.query.nested else payload
    write = plan_write(asked, plain, relation, catalog, options, read if shown else None)
    nested: tuple[NestedInsert, ...] = ()
    root = 0
    if asked.query.nested:
        nested, root = _nested(asked, payload, relation, catalog, options, write)
        read = numbered(read, Scope(catalog, options, relation), relation)
    if asked.preferences.handling == "strict" and asked.preferences.invalid:
        raise BadPreferences(asked.preferences.invalid)
    return Plan(
        request=asked,
        read=read,
        write=write,
        relation=relation,
        output=negotiate(asked, catalog, options, relation, None),
        read_only=False,
        counts_exactly=asked.preferences.count in ("exact", "estimated"),
        warnings=warnings,
        returns_rows=shown,
        nested=nested,
        root=root,
    )


def _nested(
    asked: ApiRequest,
    payload: Payload | None,
    relation: Relation,
    catalog: Catalog,
    options: Options,
    write: Write,
) -> tuple[tuple[NestedInsert, ...], int]:
    """Plan the inserts of a nested one. Rows that are shown are found again by their primary key."""
    key = relation.primary_key if write.returning else ()
    if write.returning and not key:
        raise BadQuery(
            f"{relation.name} has no primary key by which its new rows could be shown",
            "Ask for Prefer: return=minimal",
        )
    return plan_nested(asked, payload.data if payload else b"", relation, catalog, options, key)


def _call(asked: ApiRequest, payload: Payload | None, catalog: Catalog, options: Options) -> Plan:
    call = plan_call(asked, payload, catalog, options)
    function = call.function
    relation = catalog.relations.get(function.returned_relation) if function.returned_relation else None
    if function.returns is Returns.COMPOSITE:
        planned, warnings = plan_read(asked, catalog, options, relation, SOURCE)
        read = replace(planned, source=("", SOURCE))
    else:
        read, warnings = Read(("", SOURCE), SOURCE, (), range=asked.range), ()
        if options.max_rows is not None:
            limit = read.range.limit
            read = replace(
                read,
                range=replace(
                    read.range,
                    limit=min(limit, options.max_rows) if isinstance(limit, int) else options.max_rows,
                ),
            )
    output = negotiate(asked, catalog, options, relation, function)
    if asked.preferences.handling == "strict" and asked.preferences.invalid:
        raise BadPreferences(asked.preferences.invalid)
    count = asked.preferences.count
    return Plan(
        request=asked,
        read=read,
        call=call,
        relation=relation,
        output=output,
        read_only=asked.method != "POST" or function.volatility != "v",
        isolation=function.isolation,
        settings=tuple(pair for pair in function.settings if pair[0] in options.hoisted),
        counts_exactly=count in ("exact", "estimated"),
        warnings=warnings,
        returns_rows=shows_rows(asked),
    )


def _with_preferences(plan: Plan, options: Options) -> Plan:
    """Apply the preferences that hold for every action: the end of the transaction and `max-affected`."""
    wants = plan.request.preferences
    max_affected = _max_affected(plan, wants)
    end, applied = end_of(options.tx_end, wants.tx)
    decides = (
        bool(plan.nested) or (plan.output.is_singular and not plan.read_only) or max_affected is not None
    )
    if plan.output.explain is not None or (plan.write is not None and plan.write.key_check):
        decides = True
    if decides and end is End.COMMIT:
        end = End.DECIDE
    return replace(plan, end=end, tx_applied=applied, max_affected=max_affected)


def _max_affected(plan: Plan, wants: Preferences) -> int | None:
    if wants.max_affected is None or wants.handling != "strict" or plan.request.action is Action.READ:
        return None
    if plan.call is not None and not plan.call.function.returns_set:
        raise MaxAffectedNeedsSet
    if plan.request.action in (Action.CREATE, Action.UPSERT):
        return None
    return wants.max_affected


def end_of(tx_end: str, wanted: str | None) -> tuple[End, bool]:
    """Give how a transaction ends, and whether the preference decided it."""
    default = End.ROLLBACK if tx_end.startswith("rollback") else End.COMMIT
    if wanted is None or not tx_end.endswith("-allow-override"):
        return default, False
    return (End.COMMIT if wanted == "commit" else End.ROLLBACK), True
