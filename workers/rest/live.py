"""Which tables a live read follows: the answer to `SUBSCRIBE` on the path of a read (`schemas/subscriptions.py`).

The edge runs the read itself as a GET, as often as its tables change. Source: docs/live-reads.md.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import msgspec
from msgspec import Struct

from schemas.http import Request, Response
from schemas.subscriptions import MEDIA_TYPE
from workers.database.followed_tables import NotFollowed, followed_tables
from workers.database.schema_cache.catalog import (
    CatalogFunction,
    CatalogRelation,
    ComputedRelationship,
    Name,
    Relationship,
)
from workers.database.transactions.model import TransactionRunner
from workers.rest.errors.plan import NotLive, NotLiveMedia
from workers.rest.model import BodyShape, PlannedField, RelationRead, RequestAction, RestPlan
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path
from workers.rest.prepare import parse, plan_and_query
from workers.rest.state import RestState

_SHAPES = frozenset({BodyShape.ARRAY, BodyShape.SINGLE})


async def live_plan(state: RestState, request: Request, sessions: TransactionRunner) -> Response:
    """Return the tables to follow for a read, packed. Raises: the errors of parse and plan, NotLive, NotLiveMedia, DatabaseError."""
    shape, _ = shape_of(request.query, is_call=is_call_path(request.path))
    key, parsed = parse(state, "GET", request.path, shape, request.headers)
    if parsed.action not in (RequestAction.READ, RequestAction.CALL):
        raise NotLive("Only reads of relations and function calls can be live")
    plan = plan_and_query(state, key, parsed, None).plan
    if plan.output.explain is not None or plan.output.shape not in _SHAPES:
        raise NotLiveMedia
    relations, functions = names_in_plan(plan)
    try:
        live = await followed_tables(relations, functions, sessions)
    except NotFollowed as error:
        raise NotLive(str(error)) from None
    return Response(200, [("content-type", MEDIA_TYPE)], msgspec.msgpack.encode(live))


def names_in_plan(plan: RestPlan) -> tuple[list[Name], list[Name]]:
    """Return the relations that a plan reads, those whose rows its functions return, and its functions; without duplicates. Pure."""
    relations: dict[Name, None] = {}
    functions: dict[Name, None] = {}
    for node in _nodes(plan):
        match node:
            case RelationRead(source=("", _)):
                pass
            case RelationRead(source=source):
                relations[source] = None
            case CatalogRelation(schema=schema, name=name):
                relations[schema, name] = None
            case Relationship(target=target, junction=junction):
                relations[target] = None
                if junction is not None:
                    relations[junction.relation] = None
            case ComputedRelationship(function=function, target=target):
                relations[target] = None
                functions[function] = None
            case PlannedField(function=(schema, name)):
                functions[schema, name] = None
            case CatalogFunction(schema=schema, name=name, returned_relation=returned):
                functions[schema, name] = None
                if returned is not None:
                    relations[returned] = None
    return list(relations), list(functions)


def _nodes(plan: object) -> Iterator[object]:
    """Yield every node of a plan; objects of the catalog without what is in them."""
    pending = [plan]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple | list):
            pending.extend(item)
        elif isinstance(item, Struct):
            yield item
            pending.extend(getattr(item, name) for name in item.__struct_fields__)
        elif is_dataclass(item):
            yield item
            if not isinstance(item, CatalogRelation | CatalogFunction | Relationship):
                pending.extend(getattr(item, member.name) for member in fields(item))
