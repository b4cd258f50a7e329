"""Step two: ApiRequest + catalog -> ReadPlan | WritePlan | CallPlan. Pure.

The order of checks is the order in which refusals win: relation or function, relationships, columns, media type,
preferences. Source: docs/reference/rest.md, section 1 (precedence), 4, 12, 13, 14.
"""

from msgspec.structs import replace

from workers.database.schema_cache.catalog import Catalog, CatalogRelation, Returns
from workers.database.transactions.model import TransactionEnd
from workers.rest.errors.parse import BadQuery
from workers.rest.errors.plan import BadPreferences, MaxAffectedNeedsSet, RelationNotFound
from workers.rest.model import (
    ApiRequest,
    CallPlan,
    Payload,
    Preferences,
    ReadPlan,
    RelationInsert,
    RelationRead,
    RelationWrite,
    RequestAction,
    RestOptions,
    RestPlan,
    WritePlan,
)
from workers.rest.plan.call import plan_call
from workers.rest.plan.fields import FieldScope
from workers.rest.plan.nested import numbered, plan_nested
from workers.rest.plan.output import negotiate, shows_rows
from workers.rest.plan.paging import paged, wants_pages
from workers.rest.plan.read import plan_read
from workers.rest.plan.write import plan_write

SOURCE = "hw_source"
"""Name of the rows that a write or a function gave, in the statement."""

_NAME_SCORE = 0.75
_MANY_RELATIONS = 500


def make_plan(
    request: ApiRequest, payload: Payload | None, catalog: Catalog, options: RestOptions
) -> RestPlan:
    """Plan a read, write or call. Raises: the refusals of `errors.py`, mostly 2xx."""
    match request.action:
        case RequestAction.READ:
            plan: RestPlan = _read(request, catalog, options)
        case RequestAction.CALL:
            plan = _call(request, payload, catalog, options)
        case _:
            plan = _write(request, payload, catalog, options)
    return _with_preferences(plan, options)


def find_relation(request: ApiRequest, catalog: Catalog, options: RestOptions) -> CatalogRelation:
    """Find the relation a path names. Raises: RelationNotFound."""
    relation = catalog.relations.get((request.schema, request.target))
    if relation is not None:
        return relation
    names = sorted(name for schema, name in catalog.relations if schema == request.schema)
    near = options.similar(request.target, names, _NAME_SCORE) if len(names) < _MANY_RELATIONS else None
    raise RelationNotFound(request.schema, request.target, near)


_COUNTED = 10_000
"""Rows that a planned count counts where the planner's figure would tell of hidden rows."""


def _read(request: ApiRequest, catalog: Catalog, options: RestOptions) -> ReadPlan:
    relation = find_relation(request, catalog, options)
    if request.query.key is not None or request.query.nested:
        raise BadQuery(
            "The parameters key and nested go with writes",
            "key names the columns by which PATCH finds rows; nested lets POST insert related rows",
        )
    read, warnings = plan_read(request, catalog, options, relation, relation.name)
    output = negotiate(request, catalog, options, relation, None)
    if request.preferences.handling == "strict" and request.preferences.invalid:
        raise BadPreferences(request.preferences.invalid)
    if wants_pages(request):
        read = paged(request, read, relation, FieldScope(catalog, options, relation), output)
    count = request.preferences.count
    return ReadPlan(
        request=request,
        read=read,
        relation=relation,
        output=output,
        counts_exactly=count == "exact" or count == "estimated",
        counts_by_plan=count in ("planned", "estimated"),
        count_limit=options.max_rows if count == "estimated" else None,
        guarded_limit=options.max_rows if count == "estimated" else _COUNTED,
        warnings=warnings,
        returns_rows=shows_rows(request),
    )


def _write(request: ApiRequest, payload: Payload | None, catalog: Catalog, options: RestOptions) -> WritePlan:
    relation = find_relation(request, catalog, options)
    if request.query.nested and request.action is not RequestAction.CREATE:
        raise BadQuery("nested goes with POST only", "It inserts rows together with the rows related to them")
    if request.query.distinct or request.query.having:
        raise BadQuery("distinct and having go with reads only", "Read the rows after they were written")
    planned, warnings = plan_read(request, catalog, options, relation, relation.name)
    read = replace(planned, source=("", SOURCE))
    has_rows = shows_rows(request)
    plain = None if request.query.nested else payload
    write = plan_write(request, plain, relation, catalog, options, read if has_rows else None)
    nested: tuple[RelationInsert, ...] = ()
    root = 0
    if request.query.nested:
        nested, root = _nested(request, payload, relation, catalog, options, write)
        read = numbered(read, FieldScope(catalog, options, relation), relation)
    if request.preferences.handling == "strict" and request.preferences.invalid:
        raise BadPreferences(request.preferences.invalid)
    return WritePlan(
        request=request,
        read=read,
        write=write,
        relation=relation,
        output=negotiate(request, catalog, options, relation, None),
        counts_exactly=request.preferences.count in ("exact", "estimated"),
        warnings=warnings,
        returns_rows=has_rows,
        nested=nested,
        root=root,
    )


def _nested(
    request: ApiRequest,
    payload: Payload | None,
    relation: CatalogRelation,
    catalog: Catalog,
    options: RestOptions,
    write: RelationWrite,
) -> tuple[tuple[RelationInsert, ...], int]:
    """Plan the inserts of a nested one. Rows that are shown are found again by their primary key."""
    key = relation.primary_key if write.returning else ()
    if write.returning and not key:
        raise BadQuery(
            f"{relation.name} has no primary key by which its new rows could be shown",
            "Ask for Prefer: return=minimal",
        )
    return plan_nested(request, payload.data if payload else b"", relation, catalog, options, key)


def _call(request: ApiRequest, payload: Payload | None, catalog: Catalog, options: RestOptions) -> CallPlan:
    call = plan_call(request, payload, catalog, options)
    function = call.function
    relation = catalog.relations.get(function.returned_relation) if function.returned_relation else None
    if function.returns is Returns.COMPOSITE:
        planned, warnings = plan_read(
            request, catalog, options, relation, relation.name if relation else function.name
        )
        read = replace(planned, source=("", SOURCE))
    else:
        read, warnings = RelationRead(("", SOURCE), function.name, (), range=request.range), ()
        if options.max_rows is not None:
            limit = read.range.limit
            read = replace(
                read,
                range=replace(
                    read.range,
                    limit=min(limit, options.max_rows) if isinstance(limit, int) else options.max_rows,
                ),
            )
    output = negotiate(request, catalog, options, relation, function)
    if request.preferences.handling == "strict" and request.preferences.invalid:
        raise BadPreferences(request.preferences.invalid)
    count = request.preferences.count
    return CallPlan(
        request=request,
        read=read,
        call=call,
        relation=relation,
        output=output,
        read_only=request.method != "POST" or function.volatility != "v",
        isolation=function.isolation,
        settings=tuple(pair for pair in function.settings if pair[0] in options.hoisted),
        counts_exactly=count in ("exact", "estimated"),
        warnings=warnings,
        returns_rows=shows_rows(request),
    )


def _with_preferences(plan: RestPlan, options: RestOptions) -> RestPlan:
    """Apply the preferences that hold for every action: the end of the transaction and `max-affected`."""
    preferences = plan.request.preferences
    max_affected = _max_affected(plan, preferences)
    end, applied = end_of(options.tx_end, preferences.tx)
    if end is TransactionEnd.COMMIT and _is_checked_after(plan, max_affected):
        end = TransactionEnd.DECIDE
    if (plan.end, plan.tx_applied, plan.max_affected) == (end, applied, max_affected):
        return plan
    return replace(plan, end=end, tx_applied=applied, max_affected=max_affected)


def _is_checked_after(plan: RestPlan, max_affected: int | None) -> bool:
    """Return whether the results decide about commit or rollback."""
    if plan.output.explain is not None or max_affected is not None:
        return True
    if plan.output.is_singular and not plan.read_only:
        return True
    return isinstance(plan, WritePlan) and bool(
        plan.nested or plan.write.key_check or plan.write.may_repeat_keys
    )


def _max_affected(plan: RestPlan, preferences: Preferences) -> int | None:
    if (
        preferences.max_affected is None
        or preferences.handling != "strict"
        or plan.request.action is RequestAction.READ
    ):
        return None
    if isinstance(plan, CallPlan) and not plan.call.function.returns_set:
        raise MaxAffectedNeedsSet
    if plan.request.action in (RequestAction.CREATE, RequestAction.UPSERT):
        return None
    return preferences.max_affected


def end_of(tx_end: str, wanted: str | None) -> tuple[TransactionEnd, bool]:
    """Return how a transaction ends, and whether the preference decided it."""
    default = TransactionEnd.ROLLBACK if tx_end.startswith("rollback") else TransactionEnd.COMMIT
    if wanted is None or not tx_end.endswith("-allow-override"):
        return default, False
    return (TransactionEnd.COMMIT if wanted == "commit" else TransactionEnd.ROLLBACK), True
